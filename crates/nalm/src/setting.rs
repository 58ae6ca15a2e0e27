//! What may be chosen of a module or a task: declared once, beside it. Parsing, checking, listings and records read the declaration.

use crate::Error;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::str::FromStr;

/// A setting that can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in experiment files, on command lines and in records.
    pub name: &'static str,
    /// What its values are.
    pub kind: Kind,
    /// The value where none is given; empty where there is none.
    pub default: &'static str,
    /// One line about it.
    pub meaning: &'static str,
    /// Whether it changes the numbers that a run computes, and not only what is kept of them.
    pub numerics: bool,
}

/// What the values of a setting are.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// true or false.
    Flag,
    /// A whole number from 0 on.
    Whole,
    /// A number.
    Number,
    /// Two numbers.
    Pair,
    /// Two whole numbers.
    WholePair,
    /// Any number of numbers.
    Numbers,
    /// Text that something can be read from.
    Text {
        /// What is read, such as noise.
        what: &'static str,
        /// The text as it is usually written, or what is wrong with it.
        normal: fn(&str) -> Result<String, Error>,
    },
}

impl Kind {
    /// Text from which a `T` can be read.
    pub const fn text<T: FromStr<Err = Error> + Display>(what: &'static str) -> Self {
        Kind::Text { what, normal: |text| Ok(text.parse::<T>()?.to_string()) }
    }

    /// What the values are, in words.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Flag => "true or false",
            Kind::Whole => "a whole number",
            Kind::Number => "a number",
            Kind::Pair => "two numbers in brackets, such as [0.25, 0.75]",
            Kind::WholePair => "two whole numbers in brackets, such as [20, 25]",
            Kind::Numbers => "a list of numbers",
            Kind::Text { what, .. } => what,
        }
    }
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// true or false.
    Flag(bool),
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// Whole numbers.
    Wholes(Vec<u64>),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Text.
    Text(String),
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
            let items: Vec<String> = items.iter().map(T::to_string).collect();
            write!(f, "[{}]", items.join(", "))
        }
        match self {
            Value::Flag(value) => value.fmt(f),
            Value::Whole(value) => value.fmt(f),
            Value::Number(value) => value.fmt(f),
            Value::Wholes(values) => list(f, values),
            Value::Numbers(values) => list(f, values),
            Value::Text(text) => f.write_str(text),
        }
    }
}

macro_rules! value_from {
    ($($type:ty, $name:ident => $value:expr;)*) => {
        $(impl From<$type> for Value {
            fn from($name: $type) -> Self {
                $value
            }
        })*
    };
}

value_from! {
    bool, flag => Value::Flag(flag);
    u64, whole => Value::Whole(whole);
    usize, whole => Value::Whole(whole as u64);
    f64, number => Value::Number(number);
    (f64, f64), pair => Value::Numbers(vec![pair.0, pair.1]);
    &str, text => Value::Text(text.into());
    String, text => Value::Text(text);
    crate::Noise, noise => Value::Text(noise.to_string());
    crate::Denoiser, denoiser => Value::Text(denoiser.to_string());
    crate::Operation, operation => Value::Text(operation.to_string());
}

/// The largest whole number that every number type holds exactly.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

impl Setting {
    /// A setting that changes the numbers that a run computes.
    pub const fn new(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Self {
        Self { name, kind, default, meaning, numerics: true }
    }

    /// The same setting, which changes only what is kept of a run.
    pub const fn for_the_record(mut self) -> Self {
        self.numerics = false;
        self
    }

    /// The value as records keep it, or what is wrong with it.
    pub fn check(&self, value: &Value) -> Result<Value, Error> {
        let wrong = || Error::Value { what: self.name, got: value.to_string(), want: self.kind.name() };
        let whole = |x: f64| {
            let fits = (0.0..=MOST_WHOLE).contains(&x) && x.fract() == 0.0;
            if fits { Ok(x as u64) } else { Err(wrong()) }
        };
        let numbers = || match value {
            Value::Number(x) => Ok(vec![*x]),
            Value::Whole(n) => Ok(vec![*n as f64]),
            Value::Wholes(all) => Ok(all.iter().map(|n| *n as f64).collect()),
            Value::Numbers(all) => Ok(all.clone()),
            Value::Flag(_) | Value::Text(_) => Err(wrong()),
        };
        let pair = || numbers().and_then(|all| if all.len() == 2 { Ok(all) } else { Err(wrong()) });
        Ok(match (&self.kind, value) {
            (Kind::Flag, Value::Flag(_)) => value.clone(),
            (Kind::Whole, Value::Whole(n)) => Value::Whole(*n),
            (Kind::Whole, Value::Number(x)) => Value::Whole(whole(*x)?),
            (Kind::Number, Value::Number(_)) => value.clone(),
            (Kind::Number, Value::Whole(n)) => Value::Number(*n as f64),
            (Kind::Pair, _) => Value::Numbers(pair()?),
            (Kind::WholePair, _) => Value::Wholes(pair()?.into_iter().map(whole).collect::<Result<_, _>>()?),
            (Kind::Numbers, _) => Value::Numbers(numbers()?),
            (Kind::Text { normal, .. }, Value::Text(text)) => Value::Text(normal(text)?),
            // Numbers are no text, but whoever reads the text may know what was meant.
            (Kind::Text { normal, .. }, _) => {
                return Err(normal(&value.to_string()).err().unwrap_or_else(wrong));
            }
            _ => return Err(wrong()),
        })
    }

    /// Reads a value as command lines write it.
    pub fn parse(&self, text: &str) -> Result<Value, Error> {
        let wrong = || Error::Value { what: self.name, got: format!("'{text}'"), want: self.kind.name() };
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        let value = match self.kind {
            Kind::Flag => Value::Flag(text.parse().map_err(|_| wrong())?),
            Kind::Whole => text.parse().map_or_else(|_| number(text).map(Value::Number), |n| Ok(Value::Whole(n)))?,
            Kind::Number => Value::Number(number(text)?),
            Kind::Pair | Kind::WholePair | Kind::Numbers => {
                let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
                Value::Numbers(inner.split(',').map(number).collect::<Result<_, _>>()?)
            }
            Kind::Text { .. } => Value::Text(text.into()),
        };
        self.check(&value)
    }
}

/// The setting with this name, or an error that names those there are.
pub fn find<'a>(owner: &str, declared: &'a [Setting], name: &str) -> Result<&'a Setting, Error> {
    declared.iter().find(|setting| setting.name == name).ok_or_else(|| {
        let names: Vec<&str> = declared.iter().map(|setting| setting.name).collect();
        let known = if names.is_empty() { "none".into() } else { names.join(", ") };
        Error::NoSetting { owner: owner.into(), name: name.into(), known }
    })
}

/// Values of settings, by name; what is absent has its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options(BTreeMap<String, Value>);

impl Options {
    /// All defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// These, with one more.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Gives a setting a value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    /// The value that was given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// All that were given, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same with every value as records keep it; what `owner` does not declare is refused.
    pub fn check(&self, owner: &str, declared: &[Setting]) -> Result<Self, Error> {
        let checked = self.iter().map(|(name, value)| Ok((name.into(), find(owner, declared, name)?.check(value)?)));
        Ok(Self(checked.collect::<Result<_, Error>>()?))
    }

    /// The value of a setting, which may be its default.
    fn value(&self, setting: &Setting) -> Result<Value, Error> {
        match self.get(setting.name) {
            Some(value) => setting.check(value),
            None => setting.parse(setting.default),
        }
    }

    fn wrong<T>(setting: &Setting) -> Result<T, Error> {
        Err(Error::Value { what: setting.name, got: "declared otherwise".into(), want: setting.kind.name() })
    }

    /// The value of a [`Kind::Flag`].
    pub fn flag(&self, setting: &Setting) -> Result<bool, Error> {
        if let Value::Flag(flag) = self.value(setting)? { Ok(flag) } else { Self::wrong(setting) }
    }

    /// The value of a [`Kind::Whole`].
    pub fn whole(&self, setting: &Setting) -> Result<usize, Error> {
        let Value::Whole(n) = self.value(setting)? else { return Self::wrong(setting) };
        usize::try_from(n).map_err(|_| Error::Value {
            what: setting.name,
            got: n.to_string(),
            want: "a number that this machine can count to",
        })
    }

    /// The value of a [`Kind::Number`].
    pub fn number(&self, setting: &Setting) -> Result<f64, Error> {
        if let Value::Number(x) = self.value(setting)? { Ok(x) } else { Self::wrong(setting) }
    }

    /// The value of a [`Kind::Pair`].
    pub fn pair(&self, setting: &Setting) -> Result<(f64, f64), Error> {
        match self.value(setting)? {
            Value::Numbers(all) if all.len() == 2 => Ok((all[0], all[1])),
            _ => Self::wrong(setting),
        }
    }

    /// The value of a [`Kind::WholePair`].
    pub fn whole_pair(&self, setting: &Setting) -> Result<(u64, u64), Error> {
        match self.value(setting)? {
            Value::Wholes(all) if all.len() == 2 => Ok((all[0], all[1])),
            _ => Self::wrong(setting),
        }
    }

    /// The value of a [`Kind::Text`], read.
    pub fn read<T: FromStr<Err = Error>>(&self, setting: &Setting) -> Result<T, Error> {
        if let Value::Text(text) = self.value(setting)? { text.parse() } else { Self::wrong(setting) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Noise;

    const RATE: Setting = Setting::new("rate", Kind::Number, "0.5", "");
    const NOISE: Setting = Setting::new("noise", Kind::text::<Noise>("noise"), "U[1,5]", "");
    const RAMP: Setting = Setting::new("ramp", Kind::WholePair, "1, 2", "");
    const HIDDEN: Setting = Setting::new("hidden", Kind::Whole, "7", "");

    #[test]
    fn values_are_kept_in_one_form_however_they_are_written() {
        assert_eq!(RATE.check(&Value::Whole(2)).unwrap(), Value::Number(2.0));
        assert_eq!(HIDDEN.check(&Value::Number(3.0)).unwrap(), Value::Whole(3));
        assert_eq!(RAMP.parse("[10, 20]").unwrap(), Value::Wholes(vec![10, 20]));
        assert_eq!(RAMP.check(&Value::Numbers(vec![1.0, 2.0])).unwrap(), Value::Wholes(vec![1, 2]));
        assert_eq!(NOISE.parse("U[1, 3]").unwrap(), Value::Text("U[1,3]".into()));
        assert_eq!(HIDDEN.parse("1e3").unwrap(), Value::Whole(1_000));
    }

    #[test]
    fn what_is_absent_has_its_default() {
        let options = Options::new().with("rate", 0.25);
        assert_eq!((options.number(&RATE).unwrap(), options.whole(&HIDDEN).unwrap()), (0.25, 7));
        assert_eq!(
            (options.whole_pair(&RAMP).unwrap(), options.read::<Noise>(&NOISE).unwrap()),
            ((1, 2), Noise::default())
        );
    }

    #[test]
    fn wrong_values_are_named_with_what_would_be_right() {
        let text = |result: Result<Value, Error>| result.unwrap_err().to_string();
        assert_eq!(text(HIDDEN.check(&Value::Number(2.5))), "hidden is 2.5; it must be a whole number");
        assert_eq!(text(RAMP.parse("5")), "ramp is [5]; it must be two whole numbers in brackets, such as [20, 25]");
        assert_eq!(text(RATE.parse("fast")), "rate is 'fast'; it must be a number");
        let numbers = text(NOISE.check(&Value::Numbers(vec![1.0, 2.0])));
        assert_eq!(numbers, "'[1, 2]' is not available as a noise; did you mean U[1,2]?");
        let error = Options::new().with("noise", "batch").check("nmu", &[RATE]).unwrap_err();
        assert_eq!(error.to_string(), "nmu has no option noise; it has: rate");
    }
}
