//! The table of metrics: name, estimator and interval, over all runs or over solved ones. Tables, CSV files, figures and comparisons read it.

use super::survival;
use crate::run::Row;
use crate::stats::kaplan_meier::{self, Run};
use crate::stats::shown::two;
use crate::stats::{Estimate, beta, gamma, student, wilson};

/// How many values become a number with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// The share of runs of which something holds: Wilson's interval.
    Rate,
    /// Steps: the interval of a gamma distribution.
    Gamma,
    /// Sparsity errors: the interval of a beta distribution.
    Beta,
    /// A mean: Student's interval.
    Mean,
    /// A mean of what is not negative.
    Error,
    /// A mean of shares.
    Share,
    /// Steps until a run is solved, or all of its steps: the restricted mean of Kaplan and Meier.
    Restricted,
}

/// Which runs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// All that were carried out.
    All,
    /// Those that are solved.
    Solved,
}

/// A metric: how it is read from a row, estimated and shown.
#[derive(Clone, Copy)]
pub struct Metric {
    /// The name in experiment files and CSV files.
    pub name: &'static str,
    /// The head of its column.
    pub label: &'static str,
    /// Its value in a row; 1 or 0 for what holds or not.
    pub of: fn(&Row) -> Option<f64>,
    /// How many values become one.
    pub estimator: Estimator,
    /// Which runs count.
    pub over: Over,
    /// A number as text.
    pub show: fn(f64) -> String,
    /// Words before and after a published value.
    pub words: (&'static str, &'static str),
    /// Whether it has columns in the CSV files of figures.
    pub csv: bool,
    /// Whether it has a column in tables of results.
    pub table: bool,
    /// The title of its panel in the facets, and whether its axis is logarithmic.
    pub panel: Option<(&'static str, bool)>,
}

impl Metric {
    /// A metric that is neither in CSV files nor in tables nor in figures.
    pub fn new(name: &'static str, label: &'static str, estimator: Estimator, of: fn(&Row) -> Option<f64>) -> Self {
        let over = Over::All;
        Self { name, label, of, estimator, over, show: plain, words: ("", ""), csv: false, table: false, panel: None }
    }

    /// The same with columns in CSV files.
    pub fn in_csv(mut self) -> Self {
        self.csv = true;
        self
    }

    /// The same with a column in tables.
    pub fn in_tables(mut self) -> Self {
        self.table = true;
        self
    }

    /// Whether it lies between 0 and 1.
    pub fn is_rate(&self) -> bool {
        matches!(self.estimator, Estimator::Rate | Estimator::Share)
    }

    /// The estimate over rows.
    pub fn estimate<'a>(&self, rows: impl IntoIterator<Item = &'a Row>) -> Estimate {
        let counts = |row: &&Row| self.over == Over::All || row.is_solved();
        let rows: Vec<&Row> = rows.into_iter().filter(counts).collect();
        let values: Vec<f64> = rows.iter().filter_map(|row| (self.of)(row)).collect();
        match self.estimator {
            // A run that says nothing is one of which it does not hold, unless none of them says anything.
            Estimator::Rate if values.is_empty() && !rows.is_empty() => Estimate::NONE,
            Estimator::Rate => wilson::interval(values.iter().filter(|v| **v > 0.0).count(), rows.len()),
            Estimator::Restricted => {
                // All are watched for equally long; where they are not, as long as all are.
                let steps = rows.iter().filter_map(|row| row.spec.whole("steps")).min();
                restricted(&values, steps.map_or(f64::NAN, |steps| steps as f64))
            }
            _ => self.of_values(&values),
        }
    }

    /// The estimate of values; a restricted mean goes up to the largest of them.
    pub fn of_values(&self, values: &[f64]) -> Estimate {
        match self.estimator {
            Estimator::Rate => wilson::interval(values.iter().filter(|v| **v > 0.0).count(), values.len()),
            Estimator::Gamma => gamma::interval(values),
            Estimator::Beta => beta::corrected(values),
            Estimator::Mean => student::interval(values, f64::NEG_INFINITY, f64::INFINITY),
            Estimator::Error => student::interval(values, 0.0, f64::INFINITY),
            Estimator::Share => student::share(values),
            Estimator::Restricted => restricted(values, f64::NAN),
        }
    }
}

/// The mean of unsolved steps up to a horizon, or the largest value where there is none.
fn restricted(values: &[f64], horizon: f64) -> Estimate {
    let runs: Vec<Run> = values.iter().map(|&at| Run { at, solved: true }).collect();
    let horizon = if horizon.is_nan() { values.iter().copied().fold(0.0, f64::max) } else { horizon };
    kaplan_meier::restricted_mean(&runs, horizon)
}

/// Two digits after the point.
pub fn plain(v: f64) -> String {
    format!("{v:.2}")
}

/// Sparsity errors. A beta distribution cannot hold 0, for which its smallest number stands.
pub fn sparsity(v: f64) -> String {
    if v <= beta::MARGIN { "0".into() } else { two(v) }
}

/// Per cent, with the sign.
pub fn percent(v: f64) -> String {
    format!("{:.1} %", 100.0 * v)
}

/// The flat threshold, below which Table 1 counts validation errors, too.
const FLAT: f64 = 1e-5;

/// Steps until a run was solved, or all of its steps. Runs are watched for equally long, so the mean of it is the restricted mean of
/// Kaplan and Meier, which runs that never solve do not make shorter.
fn unsolved_steps(row: &Row) -> Option<f64> {
    survival::of_row(row).map(|run| run.at)
}

/// Where noise with a learned upper end has put it: 1 + softplus of the last parameter.
fn noise_end(row: &Row) -> Option<f64> {
    let noise = row.spec.get("options")?.get("noise")?.as_str()?;
    let last = f64::from((*row.weights().last()?)?);
    noise.starts_with("learnable").then(|| 1.0 + libm::log1p(libm::exp(last)))
}

fn flag(value: Option<bool>) -> Option<f64> {
    value.map(|holds| f64::from(u8::from(holds)))
}

/// Statements that are about no single row: the batch noise of a range, minima of the loss, and sequences by length.
pub const OTHERS: [&str; 3] = ["noise_bound", "minima", "success_at_length"];

/// The metrics of this project, in the order of their columns.
pub fn list() -> Vec<Metric> {
    use Estimator::{Beta, Error, Gamma, Mean, Rate, Restricted, Share};
    let whole = |v: f64| format!("{v:.0}");
    let success = |row: &Row| flag(Some(row.is_solved()));
    let inside = |row: &Row| flag(Some(row.number("validation_error").is_some_and(|error| error < FLAT)));
    let share = |name, label, of| Metric { show: percent, ..Metric::new(name, label, Share, of) };
    let listed = |name, label, estimator, of| Metric::new(name, label, estimator, of).in_csv().in_tables();
    vec![
        Metric { panel: Some(("Success rate", false)), ..listed("success", "success", Rate, success) },
        Metric {
            over: Over::Solved,
            show: whole,
            panel: Some(("Solved at step", true)),
            ..listed("solved_at", "solved at", Gamma, Row::solved_at)
        },
        Metric {
            show: whole,
            words: ("", " steps unsolved"),
            ..Metric::new("unsolved_steps", "restricted mean", Restricted, unsolved_steps).in_tables()
        },
        Metric {
            over: Over::Solved,
            show: sparsity,
            panel: Some(("Sparsity error (0 at the lower edge)", true)),
            ..listed("sparsity_error", "sparsity error", Beta, |row| row.number("sparsity_error"))
        },
        Metric {
            show: two,
            words: ("error inside ", ""),
            ..listed("validation_error", "error inside", Error, |row| row.number("validation_error"))
        },
        Metric {
            show: two,
            words: ("error outside ", ""),
            ..listed("test_error", "error outside", Error, |row| row.number("test_error"))
        },
        Metric {
            over: Over::Solved,
            show: whole,
            words: ("best step ", ""),
            ..Metric::new("best_step", "best step", Mean, |row| row.number("best_step")).in_csv()
        },
        listed("simulated_success", "success, simulated threshold", Rate, |row| flag(row.flag("solved_simulated"))),
        Metric { words: ("", " inside"), ..Metric::new("validation_success", "success inside", Rate, inside) },
        Metric {
            show: percent,
            words: ("strict ", ""),
            ..Metric::new("product_strict", "strict", Share, |row| row.number("product_strict"))
        },
        Metric {
            show: percent,
            words: ("rounded ", ""),
            ..Metric::new("product_rounded", "rounded", Share, |row| row.number("product_rounded"))
        },
        Metric {
            show: percent,
            words: ("weights (1, 1) in ", ""),
            ..Metric::new("at_one", "weights (1, 1)", Rate, |row| flag(row.flag("at_one")))
        },
        Metric {
            show: two,
            ..Metric::new("distance_from_selection", "distance of weights from 0 or 1", Error, |row| {
                row.number("sparsity_error")
            })
        },
        Metric { show: |v| format!("{v:.2}"), ..Metric::new("noise_end", "upper end of the noise", Mean, noise_end) },
        share("with_zero_strict", "strict, with a zero", |row| row.number("with_zero_strict")),
        share("without_zero_strict", "strict, without a zero", |row| row.number("without_zero_strict")),
        share("with_zero_rounded", "rounded, with a zero", |row| row.number("with_zero_rounded")),
        share("without_zero_rounded", "rounded, without a zero", |row| row.number("without_zero_rounded")),
        share("first_digit_rounded", "first digit", |row| row.number("first_digit_rounded")),
        share("second_digit_rounded", "second digit", |row| row.number("second_digit_rounded")),
        share("strict_snapped", "strict with rounded weights", |row| row.number("strict_snapped")),
        share("off_one", "updates away from (1, 1)", |row| row.number("off_one")),
        share("digit_rounded", "one digit", |row| row.number("digit_rounded")),
        share("two_digits_rounded", "two digits", |row| row.number("two_digits_rounded")),
    ]
}
