//! Expressions as text: for people, for programs, for spreadsheets.

use super::{Expression, Function};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// What an expression is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// For people: few digits, `|x|`, `x^2`, and `x1 + … + x9` for long sums.
    Text,
    /// For people, with every digit, and for [`Expression`]'s `FromStr`, which reads it back. Names that are no words stand in backquotes.
    Plain,
    /// Rust, without any crate.
    Rust,
    /// C with `math.h`, and functions `sign`, `at_least` and `at_most` where they occur ([`crate::formula::source`] defines them).
    C,
    /// Python with the names of its module `math`, and a function `sign` where it occurs. Of `math` it needs `sqrt`, `exp`, `log`, `sin`, `cos` and `pi`, and
    /// `tan`, `asin`, `acos` and `atan` where they occur. Its functions raise an error where those of other languages become infinite.
    Python,
    /// SymPy, for `sympify` or `eval`. Variables are `Symbol("name")`, because many names mean something to it.
    SymPy,
    /// LaTeX, in mathematical mode.
    Latex,
    /// Excel, LibreOffice and others of their kind. Variables are the cells of the second line, the first one below the names.
    Spreadsheet,
}

impl Expression {
    /// The expression in a language, with variables as they are called.
    pub fn write(&self, language: Language) -> String {
        let mut out = String::new();
        self.put(&mut out, language, Binding::Sum);
        out
    }

    /// The expression in a language, with these columns for variables under the names that [`Language::names`] gives them.
    ///
    /// ```
    /// use nalm::expression::{Expression, Language};
    ///
    /// let tax: Expression = "`net price` * rate / 100".parse()?;
    /// let columns = ["net price", "rate"];
    /// assert_eq!(tax.write_for(Language::Python, &columns), "net_price * rate / 100");
    /// assert_eq!(tax.write_for(Language::Spreadsheet, &columns), "A2 * B2 / 100");
    /// assert_eq!(tax.write_for(Language::Plain, &columns), "`net price` * rate / 100");
    /// # Ok::<(), nalm::Error>(())
    /// ```
    pub fn write_for<S: AsRef<str>>(&self, language: Language, columns: &[S]) -> String {
        let names: HashMap<&str, String> = columns.iter().map(AsRef::as_ref).zip(language.names(columns)).collect();
        self.renamed(&|name| names.get(name).cloned().unwrap_or_else(|| name.into())).write(language)
    }

    /// Writes the expression, in parentheses where what is around it binds more tightly than it does.
    fn put(&self, out: &mut String, language: Language, around: Binding) {
        let own = match self {
            Expression::Sum(_) => Binding::Sum,
            Expression::Number(x) if *x < 0.0 => Binding::Sum,
            Expression::Number(x) if language == Language::Latex && latex_number(*x).contains('^') => Binding::Product,
            Expression::Product(_) => Binding::Product,
            Expression::Power(_, exponent) if *exponent < 0.0 => Binding::Product,
            Expression::Power(..) => Binding::Power,
            _ => Binding::Atom,
        };
        let parentheses = if own < around { language.parentheses() } else { ("", "") };
        out.push_str(parentheses.0);
        match self {
            Expression::Number(x) => out.push_str(&language.number(*x)),
            Expression::Pi => out.push_str(language.pi()),
            Expression::Variable(name) => out.push_str(name),
            Expression::Sum(all) if language != Language::Text && all.len() > GROUP => {
                put_sum(&grouped(all, Expression::Sum), out, language);
            }
            Expression::Product(all) if language != Language::Text && all.len() > GROUP => {
                put_product(&grouped(all, Expression::Product), out, language);
            }
            Expression::Sum(terms) => put_sum(terms, out, language),
            Expression::Product(factors) => put_product(factors, out, language),
            Expression::Power(_, exponent) if *exponent < 0.0 => put_product(std::slice::from_ref(self), out, language),
            Expression::Power(base, exponent) => language.put_power(base, *exponent, out),
            Expression::Call(function, inner) => language.put_call(*function, inner, out),
            Expression::AtLeast(inner, bound) => language.put_bound("max", inner, *bound, out),
            Expression::AtMost(inner, bound) => language.put_bound("min", inner, *bound, out),
        }
        out.push_str(parentheses.1);
    }
}

/// How tightly an operation binds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Sum,
    Product,
    Power,
    Atom,
}

/// More terms or factors than this in a row are more than some compilers can take.
const GROUP: usize = 64;

/// The same in groups, so that no row of operators is long and none is nested deeply.
fn grouped(all: &[Expression], kind: fn(Vec<Expression>) -> Expression) -> Vec<Expression> {
    let mut groups = all.to_vec();
    while groups.len() > GROUP {
        groups = groups.chunks(GROUP).map(|group| kind(group.to_vec())).collect();
    }
    groups
}

fn put_sum(terms: &[Expression], out: &mut String, language: Language) {
    let mut terms = terms.to_vec();
    if matches!(language, Language::Plain | Language::Latex) && signed(&terms[0]).0 {
        // 1 - x rather than -x + 1.
        let first = terms.iter().position(|term| !signed(term).0).unwrap_or(0);
        terms[..=first].rotate_right(1);
    }
    let mut k = 0;
    while k < terms.len() {
        let (negative, term) = signed(&terms[k]);
        let run = if language == Language::Text { run_of_variables(&terms[k..]) } else { 1 };
        match (k, negative) {
            (0, false) => {}
            (0, true) => out.push_str(language.minus()),
            (_, false) => out.push_str(" + "),
            (_, true) => out.push_str(" - "),
        }
        if run > 3 {
            let last = signed(&terms[k + run - 1]).1;
            out.push('(');
            term.put(out, language, Binding::Product);
            out.push_str(" + … + ");
            last.put(out, language, Binding::Product);
            out.push(')');
            k += run;
        } else {
            term.put(out, language, Binding::Product);
            k += 1;
        }
    }
}

/// A term without its sign, and whether that is negative.
fn signed(term: &Expression) -> (bool, Expression) {
    match term {
        Expression::Number(x) if *x < 0.0 => (true, Expression::Number(-x)),
        Expression::Product(factors) => match factors.first() {
            Some(Expression::Number(x)) if *x < 0.0 => (true, term.clone().times(-1.0)),
            _ => (false, term.clone()),
        },
        _ => (false, term.clone()),
    }
}

/// How many of the first terms are variables with the same sign and neighbouring numbers: x1, x2, x3.
fn run_of_variables(terms: &[Expression]) -> usize {
    let parts = |term: &Expression| {
        let (negative, Expression::Variable(name)) = signed(term) else { return None };
        let word = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        Some((negative, name[..word].to_owned(), name[word..].to_owned()))
    };
    let Some((sign, word, first)) = parts(&terms[0]) else { return 1 };
    let Ok(first) = first.parse::<u64>() else { return 1 };
    let follows = |(k, term): &(usize, &Expression)| {
        let number = first.checked_add(*k as u64);
        number.is_some_and(|number| parts(term) == Some((sign, word.clone(), number.to_string())))
    };
    terms.iter().enumerate().take_while(follows).count().max(1)
}

fn put_product(factors: &[Expression], out: &mut String, language: Language) {
    let below = |factor: &&Expression| matches!(factor, Expression::Power(_, exponent) if *exponent < 0.0);
    let (under, mut over): (Vec<_>, Vec<_>) = factors.iter().partition(below);
    if let Some(Expression::Number(-1.0)) = over.first() {
        out.push_str(language.minus());
        over.remove(0);
    }
    let under: Vec<Expression> = under
        .into_iter()
        .filter_map(|factor| match factor {
            // As it stands: a number to a power is not computed.
            Expression::Power(base, -1.0) => Some(base.as_ref().clone()),
            Expression::Power(base, exponent) => Some(Expression::Power(base.clone(), -exponent)),
            _ => None,
        })
        .collect();
    let fraction = language == Language::Latex && !under.is_empty();
    if fraction {
        out.push_str(r"\frac{");
    }
    put_factors(&over, out, language, fraction);
    if fraction {
        out.push_str("}{");
        put_factors(&under.iter().collect::<Vec<_>>(), out, language, true);
        return out.push('}');
    }
    // Programs divide one by one, so that a product below the line cannot become infinite where the quotient is not.
    let one_by_one = under.len() == 1 || matches!(language, Language::Rust | Language::C | Language::Python);
    if one_by_one {
        for factor in &under {
            out.push_str(" / ");
            factor.put(out, language, Binding::Power);
        }
    } else if !under.is_empty() {
        out.push_str(" / (");
        put_factors(&under.iter().collect::<Vec<_>>(), out, language, false);
        out.push(')');
    }
}

/// Factors with signs between them; 1 where there is none. One that stands `alone` needs no parentheses.
fn put_factors(factors: &[&Expression], out: &mut String, language: Language, alone: bool) {
    if factors.is_empty() {
        out.push_str(&language.number(1.0));
    }
    for (k, factor) in factors.iter().enumerate() {
        out.push_str(if k > 0 { language.times() } else { "" });
        match factor {
            // A leading negative number needs no parentheses.
            Expression::Number(x) if k == 0 => out.push_str(&language.number(*x)),
            _ if alone && factors.len() == 1 => factor.put(out, language, Binding::Sum),
            _ => factor.put(out, language, Binding::Power),
        }
    }
}

/// The inside of a text in Python.
fn python_text(text: &str) -> String {
    let sign = |c: char| match c {
        '\\' | '"' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(sign).collect()
}

impl Language {
    /// The names of these columns in expressions: words where the language needs words, `Symbol("name")` for SymPy, and cells for spreadsheets, where the
    /// first column is A. Different columns have different names.
    pub fn names<S: AsRef<str>>(self, columns: &[S]) -> Vec<String> {
        let columns = columns.iter().map(AsRef::as_ref);
        match self {
            Language::Text => columns.map(Into::into).collect(),
            Language::Plain => columns.map(quoted).collect(),
            Language::SymPy => columns.map(|name| format!("Symbol(\"{}\")", python_text(name))).collect(),
            Language::Latex => columns.map(latex_name).collect(),
            Language::Spreadsheet => columns.enumerate().map(|(k, _)| format!("{}2", letters(k))).collect(),
            Language::Rust | Language::C | Language::Python => {
                // Columns that are words already keep their names, wherever they stand.
                let plain = |name: &str| is_word(name) && !self.reserved().contains(&name);
                let names: Vec<&str> = columns.collect();
                let mut used: HashSet<String> =
                    names.iter().filter(|name| plain(name)).map(ToString::to_string).collect();
                let mut word = |name: &&str| {
                    if plain(name) {
                        return name.to_string();
                    }
                    // One `_` for all that cannot stand in a word, and none at its ends.
                    let parts = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
                    let mut word = parts.collect::<Vec<_>>().join("_");
                    if !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
                        word.insert_str(0, "c_");
                    }
                    if self.reserved().contains(&word.as_str()) {
                        word.push('_');
                    }
                    let stem = word.clone();
                    let mut k = 2;
                    while !used.insert(word.clone()) {
                        word = format!("{stem}_{k}");
                        k += 1;
                    }
                    word
                };
                names.iter().map(&mut word).collect()
            }
        }
    }

    /// Words that the language, or an expression in it, uses itself.
    pub(crate) fn reserved(self) -> &'static [&'static str] {
        match self {
            Language::Python => &[
                "False", "None", "True", "abs", "acos", "and", "as", "asin", "assert", "async", "atan", "await",
                "break", "class", "continue", "cos", "cosh", "def", "del", "elif", "else", "except", "exp", "finally",
                "float", "for", "from", "global", "if", "import", "in", "is", "lambda", "log", "max", "min",
                "nonlocal", "not", "or", "pass", "pi", "raise", "return", "sign", "sin", "sinh", "sqrt", "tan", "tanh",
                "try", "while", "with", "yield",
            ],
            Language::Rust => &[
                "Self", "_", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
                "crate", "do", "dyn", "else", "enum", "extern", "f64", "false", "final", "fn", "for", "gen", "if",
                "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
                "return", "self", "static", "std", "struct", "super", "trait", "true", "try", "type", "typeof",
                "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
            ],
            Language::C => &[
                "INFINITY", "NAN", "acos", "asin", "at_least", "at_most", "atan", "auto", "break", "case", "ceil",
                "char", "const", "continue", "cos", "cosh", "default", "do", "double", "else", "enum", "erf", "exp",
                "exp2", "extern", "fabs", "float", "floor", "fmax", "fmin", "fmod", "for", "gamma", "goto", "hypot",
                "if", "inline", "int", "j0", "j1", "jn", "lgamma", "log", "log10", "log2", "long", "main", "pow",
                "register", "restrict", "return", "round", "short", "sign", "signed", "sin", "sinh", "sizeof", "sqrt",
                "static", "struct", "switch", "tan", "tanh", "tgamma", "trunc", "typedef", "union", "unsigned", "void",
                "volatile", "while", "y0", "y1", "yn",
            ],
            _ => &[],
        }
    }

    /// A number: with few digits for people, with all of them for programs.
    fn number(self, x: f64) -> String {
        match self {
            Language::Text => few_digits(x),
            Language::Rust if x.is_nan() => "f64::NAN".into(),
            Language::Rust if x.is_infinite() => if x > 0.0 { "f64::INFINITY" } else { "f64::NEG_INFINITY" }.into(),
            Language::C if x.is_nan() => "NAN".into(),
            Language::C if x.is_infinite() => if x > 0.0 { "INFINITY" } else { "-INFINITY" }.into(),
            Language::Python if !x.is_finite() => format!("float(\"{x}\")").to_lowercase(),
            Language::SymPy if x.is_nan() => "nan".into(),
            Language::SymPy if x.is_infinite() => if x > 0.0 { "oo" } else { "-oo" }.into(),
            Language::Latex => latex_number(x),
            Language::Rust | Language::C => format!("{x:?}"),
            Language::Spreadsheet => every_digit(x).to_uppercase(),
            _ => every_digit(x),
        }
    }

    fn pi(self) -> &'static str {
        match self {
            Language::Rust => "std::f64::consts::PI",
            // Not every C has M_PI.
            Language::C => "3.141592653589793",
            Language::Latex => r"\pi",
            Language::Spreadsheet => "PI()",
            _ => "pi",
        }
    }

    /// A minus before all. In spreadsheets it binds more tightly than a power.
    fn minus(self) -> &'static str {
        if self == Language::Spreadsheet { "-1 * " } else { "-" }
    }

    fn times(self) -> &'static str {
        if self == Language::Latex { r" \, " } else { " * " }
    }

    fn parentheses(self) -> (&'static str, &'static str) {
        if self == Language::Latex { (r"\left(", r"\right)") } else { ("(", ")") }
    }

    fn put_power(self, base: &Expression, exponent: f64, out: &mut String) {
        let fraction = match simple_fraction(exponent) {
            Some((over, 1)) => over.to_string(),
            Some((over, under)) if self == Language::Latex => format!("{over}/{under}"),
            Some((over, under)) => format!("({over}/{under})"),
            None => self.number(exponent),
        };
        let _ = match (self, exponent) {
            (Language::Rust, 0.5) => write!(out, "f64::sqrt({})", base.write(self)),
            (Language::Latex, 0.5) => write!(out, r"\sqrt{{{}}}", base.write(self)),
            (Language::Spreadsheet, 0.5) => write!(out, "SQRT({})", base.write(self)),
            (_, 0.5) => write!(out, "sqrt({})", base.write(self)),
            (Language::Rust, _) => write!(out, "f64::powf({}, {exponent:?})", base.write(self)),
            (Language::C, _) => write!(out, "pow({}, {exponent:?})", base.write(self)),
            (Language::Text, _) => {
                base.put(out, self, Binding::Atom);
                write!(out, "^{}", few_digits(exponent))
            }
            (Language::Latex, _) => {
                base.put(out, self, Binding::Atom);
                write!(out, "^{{{fraction}}}")
            }
            (Language::Python | Language::SymPy, _) => {
                base.put(out, self, Binding::Atom);
                write!(out, "**{fraction}")
            }
            (Language::Plain | Language::Spreadsheet, _) => {
                base.put(out, self, Binding::Atom);
                write!(out, "^{fraction}")
            }
        };
    }

    fn put_call(self, function: Function, inner: &Expression, out: &mut String) {
        let (z, name) = (inner.write(self), function.name());
        let _ = match (self, function) {
            (Language::Text, Function::Abs) => write!(out, "|{z}|"),
            (Language::Text, Function::IsNegative) => write!(out, "[{z} < 0]"),
            (Language::Text | Language::Plain, _) => write!(out, "{name}({z})"),
            (Language::Rust, Function::Sign) => write!(out, "(|z: f64| f64::from(z > 0.0) - f64::from(z < 0.0))({z})"),
            (Language::Rust, Function::IsNegative) => write!(out, "f64::from({z} < 0.0)"),
            (Language::Rust, Function::Sigmoid) => write!(out, "(1.0 / (1.0 + f64::exp(-({z}))))"),
            (Language::Rust, _) => write!(out, "f64::{name}({z})"),
            (Language::C, Function::IsNegative) => write!(out, "(double)({z} < 0.0)"),
            (Language::C, Function::Sigmoid) => write!(out, "(1.0 / (1.0 + exp(-({z}))))"),
            (Language::C, Function::Abs) => write!(out, "fabs({z})"),
            (Language::Python, Function::IsNegative) => write!(out, "({z} < 0)"),
            // Its exponential raises an error where others become infinite.
            (Language::Python, Function::Sigmoid) => write!(out, "(1.0 / (1.0 + exp(min(-({z}), 709.0))))"),
            (Language::SymPy, Function::Abs) => write!(out, "Abs({z})"),
            (Language::SymPy, Function::IsNegative) => write!(out, "Piecewise((1, {z} < 0), (0, True))"),
            (Language::SymPy, Function::Sigmoid) => write!(out, "(1 / (1 + exp(-({z}))))"),
            (Language::Latex, Function::Abs) => write!(out, r"\left|{z}\right|"),
            (Language::Latex, Function::IsNegative) => write!(out, r"\left[{z} < 0\right]"),
            (Language::Latex, Function::Sign) => write!(out, r"\operatorname{{sign}}\left({z}\right)"),
            (Language::Latex, Function::Sigmoid) => write!(out, r"\sigma\left({z}\right)"),
            (Language::Latex, Function::Asin | Function::Acos | Function::Atan) => {
                write!(out, r"\arc{}\left({z}\right)", &name[1..])
            }
            (Language::Latex, _) => write!(out, r"\{name}\left({z}\right)"),
            (Language::Spreadsheet, Function::IsNegative) => write!(out, "IF({z} < 0, 1, 0)"),
            (Language::Spreadsheet, Function::Sigmoid) => write!(out, "(1 / (1 + EXP(-({z}))))"),
            (Language::Spreadsheet, _) => write!(out, "{}({z})", name.to_uppercase()),
            (_, Function::Ln) => write!(out, "log({z})"),
            (_, _) => write!(out, "{name}({z})"),
        };
    }

    fn put_bound(self, name: &str, inner: &Expression, bound: f64, out: &mut String) {
        let (z, number) = (inner.write(self), self.number(bound));
        let _ = match (self, name) {
            // The usual functions lose a NaN, except in Python.
            (Language::Rust, "max") => write!(out, "f64::clamp({z}, {number}, f64::INFINITY)"),
            (Language::Rust, _) => write!(out, "f64::clamp({z}, f64::NEG_INFINITY, {number})"),
            (Language::C, "max") => write!(out, "at_least({z}, {number})"),
            (Language::C, _) => write!(out, "at_most({z}, {number})"),
            (Language::SymPy, "max") => write!(out, "Max({z}, {number})"),
            (Language::SymPy, _) => write!(out, "Min({z}, {number})"),
            (Language::Latex, _) => write!(out, r"\{name}\left({z}, {number}\right)"),
            (Language::Spreadsheet, _) => write!(out, "{}({z}, {number})", name.to_uppercase()),
            (Language::Text | Language::Plain | Language::Python, _) => write!(out, "{name}({z}, {number})"),
        };
    }

    /// Functions that expressions in this language may call and the language lacks, each by the name under which it is called.
    pub(crate) fn helpers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Language::C => &[
                ("sign(", "static double sign(double z) { return (double)((z > 0.0) - (z < 0.0)); }\n"),
                ("at_least(", "static double at_least(double z, double bound) { return z < bound ? bound : z; }\n"),
                ("at_most(", "static double at_most(double z, double bound) { return z > bound ? bound : z; }\n"),
            ],
            Language::Python => &[("sign(", "def sign(z):\n    return (z > 0) - (z < 0)\n\n\n")],
            _ => &[],
        }
    }
}

/// A letter or `_`, then letters, digits and `_`, all of ASCII.
pub(crate) fn is_word(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit())
}

/// A name as formulas have it: in backquotes, unless it is a word that means nothing else. A backquote in it is doubled.
fn quoted(name: &str) -> String {
    let taken = ["pi", "sqrt", "log", "max", "min"].contains(&name) || Function::ALL.iter().any(|f| f.name() == name);
    if super::parse::is_name(name) && !taken { name.into() } else { format!("`{}`", name.replace('`', "``")) }
}

/// The letters of a spreadsheet's column, counted from 0: A to Z, AA, AB.
fn letters(mut column: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'A' + (column % 26) as u8));
        match (column / 26).checked_sub(1) {
            Some(next) => column = next,
            None => return letters.iter().rev().collect(),
        }
    }
}

/// Without pi, which is a number where it stands alone.
const GREEK: [&str; 23] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega", "varphi",
];

/// A name in LaTeX: one letter or a Greek one, with what follows as its index; otherwise upright.
fn latex_name(name: &str) -> String {
    let symbol = |word: &str| match word.chars().count() {
        1 if word.chars().all(char::is_alphabetic) => Some(word.to_string()),
        _ => GREEK.contains(&word).then(|| format!(r"\{word}")),
    };
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let (stem, index) = match name.split_once('_') {
        Some((stem, index)) => (stem, index),
        None => (stem, &name[stem.len()..]),
    };
    match symbol(stem) {
        Some(symbol) if index.is_empty() && !name.contains('_') => symbol,
        Some(symbol) if !index.is_empty() => format!(r"{symbol}_{{{}}}", latex_upright(index)),
        _ => latex_upright(name),
    }
}

fn latex_upright(name: &str) -> String {
    if name.chars().all(|c| c.is_ascii_digit()) && !name.is_empty() {
        return name.into();
    }
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '\\' => text.push_str(r"\textbackslash{}"),
            '~' => text.push_str(r"\textasciitilde{}"),
            '^' => text.push_str(r"\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                text.push('\\');
                text.push(c);
            }
            c => text.push(c),
        }
    }
    format!(r"\text{{{text}}}")
}

fn latex_number(x: f64) -> String {
    let digits = every_digit(x);
    match digits.split_once('e') {
        Some(("1", exponent)) => format!("10^{{{exponent}}}"),
        Some((digits, exponent)) => format!(r"{digits} \cdot 10^{{{exponent}}}"),
        None => digits,
    }
}

/// A quotient of small whole numbers with this value, if it is one: 1.5 is 3/2.
fn simple_fraction(x: f64) -> Option<(i64, i64)> {
    (1..=12i64).find_map(|under| {
        let over = (x * under as f64).round();
        (over.abs() < 1e6 && over / under as f64 == x).then_some((over as i64, under))
    })
}

/// All digits that tell a number from others, and no more.
fn every_digit(x: f64) -> String {
    let digits = format!("{x:?}");
    digits.strip_suffix(".0").map_or(digits.clone(), ToString::to_string)
}

/// Four digits that count, without zeros at the end; all digits of whole numbers.
fn few_digits(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    if x.fract() == 0.0 && x.abs() < 1e15 {
        return format!("{x}");
    }
    let rounded: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    let (plain, scientific) = (format!("{rounded}"), format!("{rounded:e}"));
    if plain.len() <= scientific.len().max(6) { plain } else { scientific }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_suit_every_language() {
        let columns = ["net price", "lambda", "2020", "a-b", "a_b", "exp", "m_0", "theta1"];
        let python = ["net_price", "lambda_", "c_2020", "a_b_2", "a_b", "exp_", "m_0", "theta1"];
        assert_eq!(Language::Python.names(&columns), python);
        assert_eq!(Language::C.names(&["lambda", "double", "1/x"]), ["lambda", "double_", "c_1_x"]);
        assert_eq!(Language::Plain.names(&columns)[..2], ["`net price`", "lambda"]);
        assert_eq!(Language::Plain.names(&["exp", "a`b"]), ["`exp`", "`a``b`"]);
        assert_eq!(Language::SymPy.names(&["I", "a\"b"]), [r#"Symbol("I")"#, r#"Symbol("a\"b")"#]);
        let latex = [r"\text{net price}", r"\lambda", "2020", r"\text{50\%}", "m_{0}", r"\theta_{1}", r"k_{\text{G}}"];
        assert_eq!(Language::Latex.names(&["net price", "lambda", "2020", "50%", "m_0", "theta1", "k_G"]), latex);
        let cells = Language::Spreadsheet.names(&["x"; 703]);
        assert_eq!([0, 25, 26, 701, 702].map(|k| cells[k].as_str()), ["A2", "Z2", "AA2", "ZZ2", "AAA2"]);
        for language in [Language::Python, Language::Rust, Language::C] {
            assert!(language.reserved().is_sorted(), "{language:?}");
        }
    }

    #[test]
    fn a_column_called_pi_is_no_number() {
        let formula = Expression::product([Expression::Pi, Expression::variable("pi"), Expression::variable("pi_2")]);
        let text = formula.write_for(Language::Latex, &["pi", "pi_2"]);
        assert_eq!(text, r"\pi \, \text{pi} \, \text{pi\_2}");
    }

    #[test]
    fn functions_of_functions_are_no_longer_in_python_than_elsewhere() {
        let deep = (0..30).fold(Expression::variable("x"), |of, _| of.call(Function::Sinh).call(Function::Cosh));
        assert!(deep.write_for(Language::Python, &["x"]).len() < 60 * 7 + 10);
    }

    #[test]
    fn one_formula_in_every_language() {
        let formula: Expression = "-q^2 * sqrt(r) / (4 * pi * epsilon * x^(3/2)) + 1e-7 * tanh(x)".parse().unwrap();
        let text = |language| formula.write_for(language, &["q", "r", "epsilon", "x"]);
        assert_eq!(text(Language::Plain), "1e-7 * tanh(x) - q^2 * sqrt(r) / (4 * pi * epsilon * x^(3/2))");
        assert_eq!(text(Language::Python), "-q**2 * sqrt(r) / 4 / pi / epsilon / x**(3/2) + 1e-7 * tanh(x)");
        assert_eq!(text(Language::Spreadsheet), "-1 * A2^2 * SQRT(B2) / (4 * PI() * C2 * D2^(3/2)) + 1E-7 * TANH(D2)");
        assert_eq!(
            text(Language::Latex),
            r"10^{-7} \, \tanh\left(x\right) - \frac{q^{2} \, \sqrt{r}}{4 \, \pi \, \epsilon \, x^{3/2}}"
        );
        assert_eq!(
            text(Language::C),
            "-pow(q, 2.0) * sqrt(r) / 4.0 / 3.141592653589793 / epsilon / pow(x, 1.5) + 1e-7 * tanh(x)"
        );
    }
}
