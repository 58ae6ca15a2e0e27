//! An answer held against the truth: by values on rows that nobody has seen, from ranges three times as wide.

use super::case::{Case, Drawn, TARGET};
use super::refit::Free;
use crate::Error;
use crate::{Observer, Precision, Problem, Verdict, fit};
use nalm::expression::{Expression, Language};

/// Two formulas are the same if they differ by no more than this.
const SAME: f64 = 1e-6;
/// The same for a formula that is called exact to double precision.
const SAME_F64: f64 = 1e-10;
/// The class of tables that hold no formula of the kinds that are looked for.
const NO_FORMULA: &str = "no formula";
/// Rows to compare on.
const ROWS: usize = 400;

/// How a case is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Rows of the table.
    pub rows: usize,
    /// Noise as a share of the target's standard deviation.
    pub noise: f64,
    /// Which rows.
    pub seed: u64,
}

/// What came of a case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The case.
    pub id: String,
    /// Its class.
    pub class: String,
    /// The verdict.
    pub verdict: Verdict,
    /// How closely it claims to meet the target.
    pub precision: Option<Precision>,
    /// The first candidate with every digit.
    pub formula: Option<String>,
    /// The engine that found it.
    pub engine: Option<&'static str>,
    /// The largest difference from the truth on ranges three times as wide, as a share of the truth.
    pub difference: f64,
    /// Whether the first candidate is the truth, constants included.
    pub constants: bool,
    /// Whether it is the truth after its constants are fitted anew, and has no term too many.
    pub structure: bool,
    /// Whether the answer is right: the truth where there is one, and called exact unless there is noise; nothing claimed where there is none.
    pub right: bool,
    /// Whether it is called exact.
    pub exact: bool,
    /// Whether it is called exact and is something else.
    pub false_exact: bool,
    /// What the search took.
    pub seconds: f64,
}

/// The rows that answers are judged on, from ranges three times as wide.
pub fn fresh(case: &Case, seed: u64) -> Drawn {
    case.draw(ROWS, seed.wrapping_add(1_000), true)
}

/// Draws the case, lets the search explain it, and judges the answer. `clock` says what time it is, in seconds.
pub fn run(
    case: &Case,
    settings: Settings,
    clock: &mut dyn FnMut() -> f64,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    let table = case.table(settings.rows, settings.noise, settings.seed)?;
    let mut problem = Problem::new(&table, TARGET)?;
    if let Some(digits) = case.digits {
        problem = problem.printed(vec![libm::pow(10.0, -(digits as f64)); settings.rows]);
    }
    let start = clock();
    let report = fit(&problem, observer)?;
    let seconds = clock() - start;
    let best = report.candidates.first().filter(|_| report.verdict != Verdict::None);
    let expression = best.map(|best| &best.expression);
    let fresh = fresh(case, settings.seed);
    let difference = expression.map_or(f64::INFINITY, |found| difference(&fresh, found));
    let constants = difference <= SAME;
    let structure = constants || expression.is_some_and(|found| same_structure(case, settings.seed, &fresh, found));
    let exact = report.verdict == Verdict::Exact;
    let noisy = settings.noise.max(case.noise) > 0.0;
    // Double precision leaves less room than printed digits.
    let false_exact = exact && difference > if report.precision == Some(Precision::F64) { SAME_F64 } else { SAME };
    let right = match (case.hidden, noisy) {
        (true, _) => matches!(report.verdict, Verdict::None | Verdict::Approximate),
        (false, true) => structure,
        // The truth is nothing that could be found, or hardly: then it is right to claim nothing.
        (false, false) if case.class == NO_FORMULA && !exact => true,
        (false, false) => exact && constants && !false_exact,
    };
    Ok(Outcome {
        id: case.id.clone(),
        class: case.class.clone(),
        verdict: report.verdict,
        precision: report.precision,
        formula: expression.map(|found| found.write_for(Language::Plain, table.names())),
        engine: best.map(|best| best.engine),
        difference,
        constants,
        structure,
        right,
        exact,
        false_exact,
        seconds,
    })
}

/// The number of a column in a row.
fn cell(drawn: &Drawn, name: &str, row: usize) -> f64 {
    drawn.columns.iter().find(|(known, _)| known == name).map_or(f64::NAN, |(_, numbers)| numbers[row])
}

/// The largest difference on rows where the truth is a number, as a share of the truth; near its zeros, of a thousandth of its usual size.
fn difference(drawn: &Drawn, found: &Expression) -> f64 {
    compare(drawn, &|row| found.evaluate(&|name| cell(drawn, name, row)))
}

fn compare(drawn: &Drawn, found: &dyn Fn(usize) -> f64) -> f64 {
    let mut sizes: Vec<f64> = drawn.target.iter().filter(|y| y.is_finite()).map(|y| y.abs()).collect();
    if sizes.is_empty() {
        return f64::INFINITY;
    }
    sizes.sort_by(f64::total_cmp);
    let usual = sizes[sizes.len() / 2];
    let mut worst: f64 = 0.0;
    for (row, truth) in drawn.target.iter().enumerate().filter(|(_, y)| y.is_finite()) {
        let share = (found(row) - truth).abs() / truth.abs().max(1e-3 * usual);
        worst = if share.is_nan() { f64::INFINITY } else { worst.max(share) };
    }
    worst
}

/// Whether the formula becomes the truth when its constants are fitted to rows without noise.
fn same_structure(case: &Case, seed: u64, fresh: &Drawn, found: &Expression) -> bool {
    let rows = case.draw(300, seed.wrapping_add(2_000), false);
    let mut free = Free::new(found);
    if free.constants.len() > 60 {
        return false;
    }
    let all = free.fit(300, &|name, row| cell(&rows, name, row), &rows.target);
    all && compare(fresh, &|row| free.value(&free.constants, &|name| cell(fresh, name, row))) <= SAME
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(line: &str) -> Case {
        Case::read(&["id", "formula", "variables", "noise"], line).unwrap()
    }

    fn judged(case: &Case, found: &str) -> (bool, bool) {
        let fresh = case.draw(ROWS, 1_000, true);
        let found: Expression = found.parse().unwrap();
        let same = difference(&fresh, &found) <= SAME;
        (same, same || same_structure(case, 0, &fresh, &found))
    }

    #[test]
    fn values_decide_and_not_how_it_is_written() {
        let law = case("t,m*c^2/sqrt(1-v^2/c^2),m:1:5;v:1:2;c:3:10,0");
        assert_eq!(judged(&law, "m*c^3*(c^2-v^2)^(-1/2)"), (true, true));
        assert_eq!(judged(&law, "1.01*m*c^3/sqrt(0.98*c^2-1.02*v^2)"), (false, true));
        assert_eq!(judged(&law, "m*c^2"), (false, false));
        // Close inside the range is not the same.
        assert_eq!(judged(&law, "m*c^2*(1+v^2/(2*c^2)+3*v^4/(8*c^4))"), (false, false));
        let sum = case("t,a+2*b,a:-5:5;b:-5:5;z:1:5,0");
        assert_eq!(judged(&sum, "0.99*a+2.01*b"), (false, true));
        // A term too many is another structure, even if it can be made to vanish.
        assert_eq!(judged(&sum, "0.99*a+2.01*b+0.001*z"), (false, false));
        assert_eq!(judged(&sum, "a+2*b+1e-9"), (true, true));
        // The scale of a sum may be anywhere.
        let product = case("t,3*(a+b)*(c+1),a:1:2;b:1:2;c:1:2,0");
        assert_eq!(judged(&product, "(2.9*a+3.1*b)*(1.01*c+1)"), (false, true));
        assert_eq!(judged(&product, "(2.9*a+3.1*b)*(1.01*c^2+1)"), (false, false));
        let wave = case("t,a*cos(2*b),a:1:5;b:1:3,0");
        assert_eq!(judged(&wave, "1.001*a*cos(1.999*b)"), (false, true));
    }

    #[test]
    fn a_formula_that_is_no_number_somewhere_is_not_the_truth() {
        let line = case("t,x,x:-1:1,0");
        assert!(!judged(&line, "sqrt(x)^2").0);
        assert!(judged(&line, "x").0);
    }

    #[test]
    fn the_whole_way_from_a_line_to_a_judgement() {
        let mut now = 0.0;
        let mut clock = || {
            now += 0.5;
            now
        };
        let settings = Settings { rows: 100, noise: 0.0, seed: 0 };
        let got = run(&case("t,3*a*b/c,a:1:5;b:1:5;c:1:5,0"), settings, &mut clock, &mut ()).unwrap();
        assert!(got.right && got.exact && got.constants && !got.false_exact, "{got:?}");
        assert_eq!(got.seconds, 0.5);
        let got = run(&case("t,h,a:1:5;!h:1:5,0"), settings, &mut clock, &mut ()).unwrap();
        assert!(got.right && !got.exact && !got.constants, "{got:?}");
    }
}
