//! One table of a suite: its truth, where its columns come from, and rows drawn from them.

use crate::Error;
use nalm::expression::Expression;
use nalm::rng::Purpose;
use nalm::{Rng, Table};
use std::collections::HashMap;

/// The name of the target in every table.
pub const TARGET: &str = "target";

/// One table: a formula over columns that are drawn at random.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Case {
    /// Its name.
    pub id: String,
    /// What kind of table it is.
    pub class: String,
    /// What makes the target.
    pub formula: Expression,
    /// Whether the formula depends on columns that are not shown, so that it cannot be found.
    pub hidden: bool,
    /// What others reach on it, by the column of the file: shares of 1, or percents, as they were published.
    pub published: Vec<(String, f64)>,
    /// Noise of its own, as a share of the target's standard deviation.
    pub noise: f64,
    /// Decimals that the target is rounded to.
    pub digits: Option<usize>,
    columns: Vec<Column>,
    distractors: usize,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    shown: bool,
    source: Source,
}

/// Where a column's numbers come from.
#[derive(Clone, Debug)]
enum Source {
    /// Evenly between two numbers.
    Uniform(f64, f64),
    /// Evenly between two numbers, and then either sign.
    Sign(f64, f64),
    /// Whole numbers between two, both included.
    Whole(f64, f64),
    /// An expression over columns before it.
    Of(Expression),
    /// A function that is no formula, of a column before it.
    Special(fn(f64) -> f64, String),
    /// A column before it, times 1 plus so much noise.
    Near(String, f64),
}

/// Rows of a case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Drawn {
    /// The columns that are shown, and their numbers.
    pub columns: Vec<(String, Vec<f64>)>,
    /// The target without noise or rounding.
    pub target: Vec<f64>,
}

fn special(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "erf" => libm::erf,
        "j0" => libm::j0,
        "j1" => libm::j1,
        "gamma" => libm::tgamma,
        "lgamma" => libm::lgamma,
        _ => return None,
    })
}

impl Case {
    /// Reads one line of a suite's file.
    pub(super) fn read(head: &[&str], line: &str) -> Result<Self, Error> {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| head.iter().position(|h| *h == name).and_then(|k| cells.get(k).copied()).unwrap_or("");
        let number = |name: &str| cell(name).parse::<f64>().ok();
        let columns = cell("variables").split(';').map(Column::read).collect::<Result<Vec<_>, _>>()?;
        let formula: Expression = cell("formula").parse()?;
        let shown = |name: &str| columns.iter().any(|column| column.name == name && column.shown);
        let mut hidden = false;
        formula.variables(&mut |name| hidden |= !shown(name));
        let known = ["id", "suite", "class", "formula", "variables", "distractors", "noise", "digits"];
        let published = head.iter().filter(|name| !known.contains(name));
        Ok(Self {
            id: cell("id").into(),
            class: cell("class").into(),
            formula,
            hidden,
            published: published.filter_map(|name| Some((name.to_string(), number(name)?))).collect(),
            noise: number("noise").unwrap_or(0.0),
            digits: number("digits").map(|digits| digits as usize),
            columns,
            distractors: number("distractors").map_or(0, |n| n as usize),
        })
    }

    /// Draws rows: from the ranges of its columns, or from ranges three times as wide around the same middle, in which positive numbers stay positive and negative ones negative.
    pub fn draw(&self, rows: usize, seed: u64, widened: bool) -> Drawn {
        let key = format!("fit suite|{}|{seed}|{widened}", self.id);
        let mut all: Vec<(String, bool, Vec<f64>)> = Vec::new();
        for column in &self.columns {
            let mut rng = Rng::fast(&format!("{key}|{}", column.name), Purpose::Data);
            let before = |name: &str, row: usize| {
                all.iter().find(|(known, ..)| known == name).map_or(f64::NAN, |(_, _, numbers)| numbers[row])
            };
            let range = |low: f64, high: f64| if widened { wider(low, high) } else { (low, high) };
            let numbers = (0..rows).map(|row| match &column.source {
                Source::Uniform(low, high) => {
                    let (low, high) = range(*low, *high);
                    rng.uniform(low, high)
                }
                Source::Sign(low, high) => {
                    let (low, high) = range(*low, *high);
                    let size: f64 = rng.uniform(low, high);
                    if rng.uniform(0.0, 1.0) < 0.5 { -size } else { size }
                }
                Source::Whole(low, high) => {
                    let (low, high) = range(*low, *high);
                    rng.uniform(low.ceil(), high.floor() + 1.0).floor()
                }
                Source::Of(expression) => expression.evaluate(&|name| before(name, row)),
                Source::Special(function, of) => function(before(of, row)),
                Source::Near(of, noise) => before(of, row) * (1.0 + noise * rng.normal::<f64>()),
            });
            let numbers = numbers.collect();
            all.push((column.name.clone(), column.shown, numbers));
        }
        let places: HashMap<&str, &[f64]> =
            all.iter().map(|(name, _, numbers)| (name.as_str(), numbers.as_slice())).collect();
        let value = |row: usize| self.formula.evaluate(&|name| places.get(name).map_or(f64::NAN, |c| c[row]));
        let target = (0..rows).map(value).collect();
        let mut columns: Vec<(String, Vec<f64>)> =
            all.into_iter().filter(|(_, shown, _)| *shown).map(|(name, _, numbers)| (name, numbers)).collect();
        // Distractors come from the range of the first column, so that nothing gives them away.
        let (low, high) = self.columns.iter().find_map(Column::range).unwrap_or((1.0, 5.0));
        for k in 1..=self.distractors {
            let mut rng = Rng::fast(&format!("{key}|distractor {k}"), Purpose::Data);
            columns.push((format!("other{k}"), (0..rows).map(|_| rng.uniform(low, high)).collect()));
        }
        Drawn { columns, target }
    }

    /// A table to be explained: these rows, with the case's own noise or this one, whichever is larger, and rounded where the case says so.
    pub fn table(&self, rows: usize, noise: f64, seed: u64) -> Result<Table, Error> {
        let drawn = self.draw(rows, seed, false);
        let mut target = drawn.target;
        let noise = noise.max(self.noise);
        if noise > 0.0 {
            let mean = target.iter().sum::<f64>() / rows as f64;
            let deviation = (target.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / rows as f64).sqrt();
            let mut rng = Rng::fast(&format!("fit suite|{}|{seed}|noise", self.id), Purpose::Data);
            target.iter_mut().for_each(|y| *y += noise * deviation * rng.normal::<f64>());
        }
        if let Some(digits) = self.digits {
            for y in &mut target {
                *y = format!("{y:.digits$}").parse().unwrap_or(*y);
            }
        }
        Ok(Table::new(drawn.columns.into_iter().chain([(TARGET.to_string(), target)]))?)
    }
}

/// A range three times as wide around the same middle, but on the same side of zero.
fn wider(low: f64, high: f64) -> (f64, f64) {
    let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
    let (wide_low, wide_high) = (middle - 3.0 * half, middle + 3.0 * half);
    match (low >= 0.0, high <= 0.0) {
        (true, _) => (wide_low.max(low / 3.0), wide_high),
        (_, true) => (wide_low, wide_high.min(high / 3.0)),
        _ => (wide_low, wide_high),
    }
}

impl Column {
    /// Reads `name:low:high`, `name:low:high:whole`, `name:low:high:sign`, `name=expression`, `name~other:noise`; with `!` before it, the column is not shown.
    fn read(text: &str) -> Result<Self, Error> {
        let (shown, text) = text.strip_prefix('!').map_or((true, text), |rest| (false, rest));
        let wrong = || nalm::Error::Syntax { what: "a column of a suite", got: text.into(), example: "mass:1:5" };
        let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
        if let Some((name, rule)) = text.split_once('=') {
            let call = rule.strip_suffix(')').and_then(|rule| rule.split_once('('));
            let source = match call.and_then(|(function, of)| Some((special(function)?, of))) {
                Some((function, of)) => Source::Special(function, of.into()),
                None => Source::Of(rule.parse()?),
            };
            return Ok(Self { name: name.into(), shown, source });
        }
        if let Some((name, rule)) = text.split_once('~') {
            let (of, noise) = rule.split_once(':').ok_or_else(wrong)?;
            return Ok(Self { name: name.into(), shown, source: Source::Near(of.into(), number(noise)?) });
        }
        let parts: Vec<&str> = text.split(':').collect();
        let [name, low, high, kind @ ..] = parts.as_slice() else { return Err(wrong().into()) };
        let (low, high) = (number(low)?, number(high)?);
        let source = match kind {
            [] => Source::Uniform(low, high),
            ["whole"] => Source::Whole(low, high),
            ["sign"] => Source::Sign(low, high),
            _ => return Err(wrong().into()),
        };
        Ok(Self { name: name.to_string(), shown, source })
    }

    fn range(&self) -> Option<(f64, f64)> {
        match self.source {
            Source::Uniform(low, high) | Source::Sign(low, high) | Source::Whole(low, high) => Some((low, high)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_ranges_stay_on_their_side() {
        assert_eq!(wider(1.0, 2.0), (1.0 / 3.0, 3.0));
        assert_eq!(wider(10.0, 10.5), (9.5, 11.0));
        assert_eq!(wider(-2.0, -1.0), (-3.0, -1.0 / 3.0));
        assert_eq!(wider(-1.0, 1.0), (-3.0, 3.0));
    }

    #[test]
    fn columns_of_every_kind_are_read_and_drawn() {
        let head = ["id", "formula", "variables", "distractors", "noise", "digits"];
        let case = Case::read(&head, "t,a*b,a:1:2;b=3*a;!c=erf(a);d~a:0.001;e:1:3:whole;f:1:2:sign,2,0,1").unwrap();
        let drawn = case.draw(50, 0, false);
        let names: Vec<&str> = drawn.columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "d", "e", "f", "other1", "other2"]);
        assert!(!case.hidden);
        for row in 0..50 {
            let at = |k: usize| drawn.columns[k].1[row];
            assert!((1.0..2.0).contains(&at(0)) && at(1) == 3.0 * at(0) && (at(2) / at(0) - 1.0).abs() < 0.01);
            assert!(
                [1.0, 2.0, 3.0].contains(&at(3)) && (1.0..2.0).contains(&at(4).abs()) && (1.0..2.0).contains(&at(5))
            );
            assert_eq!(drawn.target[row], at(0) * at(1));
        }
        assert!(drawn.columns[4].1.iter().any(|x| *x < 0.0));
        let rounded = case.table(20, 0.0, 0).unwrap();
        assert!(rounded.column(TARGET).unwrap().iter().all(|y| ((y * 10.0).round() - y * 10.0).abs() < 1e-9));
        assert!(Case::read(&head, "t,h,!h:1:2;a:1:2,0,0,").unwrap().hidden);
        assert!(Case::read(&head, "t,a,a:1:x,0,0,").is_err());
    }

    #[test]
    fn noise_has_the_size_that_was_asked_for() {
        let head = ["id", "formula", "variables"];
        let case = Case::read(&head, "t,a,a:0:1").unwrap();
        let (plain, noisy) = (case.table(4000, 0.0, 0).unwrap(), case.table(4000, 0.01, 0).unwrap());
        let squares = plain.column(TARGET).unwrap().iter().zip(noisy.column(TARGET).unwrap());
        let rms = (squares.map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / 4000.0).sqrt();
        let want = 0.01 / 12f64.sqrt();
        assert!((rms / want - 1.0).abs() < 0.06, "{rms} {want}");
    }
}
