//! Laws over all engines: each finds its own kind, none claims too much, and what does not matter changes nothing.

use nalm::expression::Language;
use nalm::rng::Purpose;
use nalm::{Rng, Table};
use nalm_fit::{Error, Flag, Forms, Holdout, Line, Noise, Observer, Precision, Problem, Report, Unit, Verdict, fit};
use std::ops::ControlFlow;

type Function = fn(&[f64]) -> f64;
type Law = (&'static str, usize, (f64, f64), Function, &'static str);

/// Formulas by the engine that is made for them.
const LAWS: &[Law] = &[
    ("powers", 3, (1.0, 5.0), |x| 0.5 * x[0] * x[1] * x[1] / x[2], "0.5 * x1 * x2^2 / x3"),
    ("powers", 2, (-5.0, -1.0), |x| -3.0 * x[0] * x[1] * x[1], "-3 * x1 * x2^2"),
    ("polynomial", 3, (-4.0, 5.0), |x| x[0] * x[1] + 2.0 * x[2] * x[2] - 7.0, ""),
    ("logarithms", 3, (1.0, 5.0), |x| x[0] / (1.0 + x[1]).sqrt() * x[2], ""),
    ("implicit", 3, (1.0, 5.0), |x| (x[0] + x[1]) / (1.0 + x[0] * x[1] * x[2]), ""),
    ("divide", 6, (1.0, 5.0), |x| x[0] * x[1] / (x[2] * ((x[3] - 6.0 * x[4]).powi(2) + x[5] * x[5])), ""),
    ("nested roots", 2, (1.0, 5.0), |x| x[0] + (x[0] * x[0] + 3.0 * x[1]).sqrt(), ""),
    ("roots of columns", 2, (1.0, 5.0), |x| x[0].sqrt() + x[1], ""),
];

fn rows(columns: usize, count: usize, (low, high): (f64, f64), key: &str) -> Vec<Vec<f64>> {
    let mut rng = Rng::fast(key, Purpose::Data);
    (0..columns).map(|_| (0..count).map(|_| rng.uniform(low, high)).collect()).collect()
}

fn table(x: &[Vec<f64>], y: Vec<f64>) -> Table {
    let named = x.iter().enumerate().map(|(i, x)| (format!("x{}", i + 1), x.clone()));
    Table::new(named.chain([("y".to_string(), y)])).unwrap()
}

fn target(x: &[Vec<f64>], law: fn(&[f64]) -> f64) -> Vec<f64> {
    (0..x[0].len()).map(|k| law(&x.iter().map(|x| x[k]).collect::<Vec<_>>())).collect()
}

fn explained(table: &Table) -> Report {
    fit(&Problem::new(table, "y").unwrap().forms(Forms::Arithmetic), &mut ()).unwrap()
}

/// The largest relative difference from the law outside of the range of the data.
fn off(report: &Report, law: fn(&[f64]) -> f64, columns: usize, (low, high): (f64, f64)) -> f64 {
    let far = rows(columns, 50, (low * 1.4, high * 1.4), "far");
    let at = |k: usize| far.iter().map(|x| x[k]).collect::<Vec<_>>();
    let place = |name: &str| name[1..].parse::<usize>().unwrap() - 1;
    let best = &report.candidates[0].expression;
    (0..50).map(|k| (best.evaluate(&|name| far[place(name)][k]) / law(&at(k)) - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn every_engine_finds_its_own_kind() {
    for &(name, columns, range, law, text) in LAWS {
        let x = rows(columns, 200, range, name);
        let report = explained(&table(&x, target(&x, law)));
        assert_eq!((report.verdict, report.precision), (Verdict::Exact, Some(Precision::F64)), "{name}: {report:?}");
        assert!(off(&report, law, columns, range) < 1e-9, "{name}: {}", report.candidates[0].expression);
        assert!(text.is_empty() || report.candidates[0].expression.to_string() == text, "{name}: {report:?}");
        assert!(report.rows_outside >= 30 && report.candidates[0].error_outside < 1e-12, "{name}");
    }
}

#[test]
fn order_and_scale_do_not_matter() {
    let (.., range, law, _) = LAWS[4];
    let x = rows(3, 150, range, "properties");
    let y = target(&x, law);
    let mut order: Vec<usize> = (0..150).collect();
    order.reverse();
    order.swap(3, 70);
    let turned = table(&x, y.clone()).pick(&order).unwrap();
    let swapped = table(&x, y.clone()).select(&["x3", "y", "x1", "x2"]).unwrap();
    for other in [turned, swapped] {
        let report = explained(&other);
        assert_eq!(report.verdict, Verdict::Exact);
        assert!(off(&report, law, 3, range) < 1e-9);
    }
    // Units of measurement change constants and nothing else.
    let scaled: Vec<Vec<f64>> =
        vec![x[0].iter().map(|x| x * 1e20).collect(), x[1].clone(), x[2].iter().map(|x| x / 1e20).collect()];
    let report = explained(&table(&scaled, target(&x, |x| x[0] * x[1] / (x[2] + 2.0 * x[1] * x[2]))));
    assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
}

#[test]
fn noise_is_never_exact() {
    for (k, &(name, columns, range, law, _)) in LAWS.iter().enumerate().skip(1).take(4) {
        for noise in [1e-12, 1e-6] {
            let x = rows(columns, 150, range, name);
            let mut rng = Rng::fast(&format!("noise {k}"), Purpose::Noise);
            let y = target(&x, law);
            let deviation = (y.iter().map(|y| y * y).sum::<f64>() / 150.0).sqrt();
            let y = y.iter().map(|y| y + noise * deviation * rng.normal::<f64>()).collect();
            let report = explained(&table(&x, y));
            assert_ne!(report.verdict, Verdict::Exact, "{name} {noise}: {report:?}");
        }
    }
}

#[test]
fn smooth_functions_that_are_no_formula_are_not_claimed() {
    for law in
        [(|x: &[f64]| libm::erf(x[0]) * x[1]) as fn(&[f64]) -> f64, |x| libm::lgamma(x[0]) + x[1], |x| libm::j0(x[0])]
    {
        let x = rows(2, 120, (1.0, 3.0), "smooth");
        let report = fit(&Problem::new(&table(&x, target(&x, law)), "y").unwrap(), &mut ()).unwrap();
        assert_ne!(report.verdict, Verdict::Exact, "{report:?}");
    }
}

#[test]
fn noise_of_a_thousandth_leaves_structure_and_intervals() {
    let x = rows(3, 400, (1.0, 5.0), "noisy");
    let mut rng = Rng::fast("noisy", Purpose::Noise);
    let y = target(&x, |x| 3.0 * x[0] * x[1] / x[2]).iter().map(|y| y + 0.01 * rng.normal::<f64>()).collect();
    let report = explained(&table(&x, y));
    assert_eq!(report.verdict, Verdict::Consistent, "{report:?}");
    assert_eq!(report.candidates[0].expression.to_string(), "3 * x1 * x2 / x3");
    let coefficient = report.candidates[0].coefficients[0];
    assert!(coefficient.low < 3.0 && coefficient.high > 3.0 && coefficient.high - coefficient.low < 0.01);
    let (_, size) = report.noise.unwrap();
    assert!((0.008..0.012).contains(&size), "{size}");
}

/// 95 of 100 in the long run; with thirty tables, fewer than 24 would be a rare chance.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let (slope, offset) = (2.7345, 2.2345);
    let mut held = [0, 0];
    for key in 0..30 {
        let x = rows(2, 120, (1.0, 5.0), &format!("interval {key}"));
        let mut rng = Rng::fast(&format!("noise {key}"), Purpose::Data);
        let y = (0..120).map(|k| slope * x[0][k] / x[1][k] + offset + 0.05 * rng.normal::<f64>()).collect();
        let report = explained(&table(&x, y));
        // (slope * x1 + offset * x2) / x2, or with one of both in front.
        let coefficients = &report.candidates[0].coefficients;
        assert_eq!(coefficients.len(), 2, "{report:?}");
        let truths = [slope, offset, offset / slope, slope / offset];
        for (k, c) in coefficients.iter().enumerate() {
            let nearest = truths.iter().min_by(|a, b| (c.value - **a).abs().total_cmp(&(c.value - **b).abs())).unwrap();
            held[k] += usize::from((c.low..=c.high).contains(nearest));
        }
    }
    assert!(held.iter().all(|held| (24..=30).contains(held)), "{held:?}");
}

#[test]
fn a_constant_that_is_merely_near_is_not_exact_to_the_printed_digits() {
    let x = rows(2, 70, (1.0, 9.0), "printed");
    let y = (0..70).map(|k| (100.0 * (2.37 * x[0][k] * x[1][k] + 12.5)).round() / 100.0).collect();
    let table = table(&x, y);
    let report = fit(&Problem::new(&table, "y").unwrap().printed(vec![0.01; 70]), &mut ()).unwrap();
    let meant = |c: f64| [2.37, 12.5, 12.5 / 2.37].iter().any(|m| (c / m - 1.0).abs() < 1e-9);
    let all = report.candidates[0].coefficients.iter().all(|c| meant(c.value));
    assert!(report.verdict != Verdict::Exact || all, "{report:?}");
}

#[test]
fn printed_digits_are_met_or_outweighed() {
    let x: Vec<Vec<f64>> =
        rows(2, 120, (1.0, 300.0), "printed").iter().map(|x| x.iter().map(|x| x.round()).collect()).collect();
    let cents: Vec<f64> = target(&x, |x| x[0] * x[1] * 1.1937).iter().map(|y| (y * 100.0).round() / 100.0).collect();
    let table = table(&x, cents);
    let report = fit(&Problem::new(&table, "y").unwrap().printed(vec![0.01; 120]), &mut ()).unwrap();
    assert_eq!((report.verdict, report.precision), (Verdict::Exact, Some(Precision::Printed)), "{report:?}");
    assert!(off(&report, |x| x[0] * x[1] * 1.1937, 2, (1.0, 300.0)) < 1e-9, "{report:?}");
}

#[test]
fn sums_multiply_among_many_columns() {
    let x = rows(24, 400, (1.1, 1.2), "stack");
    let law = |x: &[f64]| (x[0] + x[1] + x[2]) * (x[3] + x[4]);
    let report = explained(&table(&x, target(&x, law)));
    assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
    assert!(off(&report, law, 24, (1.1, 1.2)) < 1e-9, "{report:?}");
}

#[test]
fn a_price_with_a_fee_is_written_as_one() {
    let x = rows(1, 40, (1.0, 100.0), "fee");
    let x = vec![x[0].iter().map(|x| (100.0 * x).round() / 100.0).collect::<Vec<f64>>()];
    let exact = explained(&table(&x, target(&x, |x| 1.19 * x[0] + 4.9)));
    assert_eq!(
        (exact.verdict, exact.candidates[0].expression.to_string().as_str()),
        (Verdict::Exact, "1.19 * x1 + 4.9")
    );
    let cents = target(&x, |x| 1.19 * x[0] + 4.9).iter().map(|y| (100.0 * y).round() / 100.0).collect();
    let table = table(&x, cents);
    let report = fit(&Problem::new(&table, "y").unwrap().printed(vec![0.01; 40]), &mut ()).unwrap();
    assert_eq!(report.candidates[0].expression.to_string(), "1.19 * x1 + 4.9", "{report:?}");
    assert_eq!((report.verdict, report.precision), (Verdict::Exact, Some(Precision::Printed)), "{report:?}");
}

#[test]
fn small_tables_with_exp_are_explained() {
    let cases: [(usize, Function, &str); 3] = [
        (1, |x| 5.0 * libm::exp(-0.3 * x[0]), "5 * exp(-0.3 * x1)"),
        (2, |x| x[0] * libm::exp(-x[1] / 4.0), "x1 * exp(-0.25 * x2)"),
        (3, |x| 2.0 * x[0] * libm::exp(-x[1] / x[2]), ""),
    ];
    for (columns, law, text) in cases {
        for count in [24, 40] {
            let x = rows(columns, count, (1.0, 5.0), "small");
            let report = fit(&Problem::new(&table(&x, target(&x, law)), "y").unwrap(), &mut ()).unwrap();
            assert_eq!(report.verdict, Verdict::Exact, "{text} {count}: {report:?}");
            assert!(off(&report, law, columns, (1.0, 5.0)) < 1e-9, "{text}: {report:?}");
            assert!(text.is_empty() || report.candidates[0].expression.to_string() == text, "{text}: {report:?}");
        }
    }
}

#[test]
fn functions_multiply() {
    let x = rows(3, 200, (1.0, 3.0), "functions");
    let law = |x: &[f64]| x[0] * (libm::sin(x[1] * x[2] / 2.0) / libm::sin(x[2] / 2.0)).powi(2);
    let report = fit(&Problem::new(&table(&x, target(&x, law)), "y").unwrap(), &mut ()).unwrap();
    assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
    assert!(off(&report, law, 3, (1.0, 3.0)) < 1e-6, "{report:?}");
}

/// A root of squares of differences and a ratio of sums under noise: found as they are, with constants that are meant.
#[test]
fn noise_of_a_hundredth_leaves_sums_and_their_constants() {
    let laws: [(usize, Function); 2] =
        [(4, |x| ((x[0] - x[1]).powi(2) + (x[2] - x[3]).powi(2)).sqrt()), (3, |x| x[0] * (x[1] + x[2]) / (1.0 + x[1]))];
    for (columns, law) in &laws {
        let x = rows(*columns, 500, (1.0, 5.0), "hundredth");
        let mut rng = Rng::fast("hundredth", Purpose::Noise);
        let y: Vec<f64> = target(&x, *law).iter().map(|y| y + 0.01 * rng.normal::<f64>()).collect();
        let report = explained(&table(&x, y));
        assert_eq!(report.verdict, Verdict::Consistent, "{report:?}");
        assert!(off(&report, *law, *columns, (1.0, 5.0)) < 1e-9, "{report:?}");
    }
}

#[test]
fn constant_and_repeated_columns_are_named() {
    let x = rows(1, 60, (1.0, 5.0), "flags");
    let twice = x[0].iter().map(|x| 2.0 * x).collect();
    let named = [("a", x[0].clone()), ("b", twice), ("c", vec![7.0; 60]), ("y", x[0].iter().map(|x| x * x).collect())];
    let report = explained(&Table::new(named).unwrap());
    assert_eq!(report.candidates[0].expression.to_string(), "a^2");
    assert!(report.flags.contains(&Flag::Constant("c".into())));
    assert!(report.flags.contains(&Flag::Dependent { column: "b".into(), on: vec!["a".into()] }), "{:?}", report.flags);
}

#[test]
fn units_are_checked() {
    let x = rows(2, 60, (1.0, 5.0), "units");
    let table = table(&x, target(&x, |x| x[0] / x[1]));
    let unit = |text: &str| text.parse::<Unit>().unwrap();
    let flags = |target: &str| {
        let problem = Problem::new(&table, "y").unwrap().units(vec![unit("m"), unit("s")], unit(target));
        fit(&problem, &mut ()).unwrap().flags
    };
    assert_eq!(flags("m/s"), []);
    // The same unit in another size is said with the factor.
    assert!(matches!(flags("km/h").as_slice(), [Flag::Units(text)] if text.contains("1 m/s is 3.6 km/h")));
    assert!(matches!(flags("kg").as_slice(), [Flag::Units(text)] if text.contains("m/s")));
}

#[test]
fn a_search_can_be_stopped_and_requests_can_be_wrong() {
    struct Stop;
    impl Observer for Stop {
        fn engine(&mut self, _: &'static str, done: usize, _: usize) -> ControlFlow<()> {
            if done == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let x = rows(2, 60, (1.0, 5.0), "stop");
    let table = table(&x, target(&x, |x| x[0] + libm::exp(x[1])));
    let report = fit(&Problem::new(&table, "y").unwrap(), &mut Stop).unwrap();
    assert!(report.flags.contains(&Flag::Stopped));
    let problem = || Problem::new(&table, "y").unwrap();
    let wrong = |problem: Problem<'_>| fit(&problem, &mut ()).unwrap_err();
    assert!(matches!(wrong(problem().inputs(["x1", "x1"])), Error::InputTwice(_)));
    assert!(matches!(wrong(problem().inputs(["y"])), Error::TargetIsInput(_)));
    assert!(matches!(wrong(problem().inputs([""; 0])), Error::NoInputs(_)));
    assert!(matches!(wrong(problem().holdout(Holdout::Rows(vec![60]))), Error::Holdout(_)));
    assert!(matches!(wrong(problem().holdout(Holdout::Rows((0..59).collect()))), Error::Holdout(_)));
    assert!(matches!(wrong(problem().printed(vec![0.1])), Error::Length { .. }));
    assert!(matches!(wrong(problem().units(Vec::new(), Unit::default())), Error::Length { .. }));
}

#[test]
fn zeros_in_columns_hide_no_formula() {
    let mut rng = Rng::fast("whole", Purpose::Data);
    let mut whole = |count: usize| (0..count).map(|_| rng.uniform(-5.5, 5.5f64).round()).collect::<Vec<f64>>();
    let line = vec![whole(120)];
    let report = explained(&table(&line, target(&line, |x| 2.0 * x[0] + 3.0)));
    assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
    assert_eq!(report.candidates[0].expression.to_string(), "2 * x1 + 3");
    let product: Function = |x| (x[0] + x[1]) * (x[2] + 3.0 * x[3]);
    let x: Vec<Vec<f64>> = (0..4).map(|_| whole(200)).collect();
    let report = explained(&table(&x, target(&x, product)));
    assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
    // With noise, too, and with rows in which a sum is nothing at all.
    let mut noise = Rng::fast("noise", Purpose::Noise);
    let x: Vec<Vec<f64>> = (0..2).map(|_| (0..200).map(|_| noise.uniform(-0.5, 6.5f64).round()).collect()).collect();
    let y = target(&x, |x| 12.5 * x[0] + 7.0 * x[1]).iter().map(|y| y + 0.05 * noise.normal::<f64>()).collect();
    let report = explained(&table(&x, y));
    assert_eq!(report.verdict, Verdict::Consistent, "{report:?}");
    assert_eq!(report.candidates[0].expression.to_string(), "12.5 * x1 + 7 * x2");
    assert!(report.candidates[0].coefficients.iter().all(|c| c.low.is_finite() && c.high.is_finite()));
}

#[test]
fn fifths_are_exponents_that_people_mean() {
    let x = rows(1, 100, (1.0, 9.0), "fifths");
    let report = explained(&table(&x, target(&x, |x| 3.0 * libm::pow(x[0], 1.4))));
    assert_eq!((report.verdict, report.precision), (Verdict::Exact, Some(Precision::F64)), "{report:?}");
}

/// An expansion may meet every row to rounding. It is not the formula.
#[test]
fn what_looks_like_a_formula_is_not_called_exact() {
    let x = [rows(1, 300, (0.01, 0.05), "small").remove(0), rows(1, 300, (1.0, 3.0), "factor").remove(0)];
    let report = explained(&table(&x, target(&x, |x| libm::cos(x[0]) * x[1])));
    assert_ne!(report.verdict, Verdict::Exact, "{report:?}");
}

#[test]
fn wrong_lines_are_named_and_do_not_bend_the_formula() {
    let x = rows(2, 150, (1.0, 90.0), "ledger");
    let exact = target(&x, |x| 1.19 * x[0] * x[1]);
    for digits in [None, Some(0.01)] {
        let mut y = exact.clone();
        if let Some(unit) = digits {
            y.iter_mut().for_each(|y| *y = (*y / unit).round() * unit);
        }
        (y[70], y[120]) = (1.3 * y[70], y[120] + 500.0);
        let table = table(&x, y);
        let mut problem = Problem::new(&table, "y").unwrap().lines(2u64..152);
        if let Some(unit) = digits {
            problem = problem.printed(vec![unit; 150]);
        }
        let report = fit(&problem, &mut ()).unwrap();
        assert_eq!(report.verdict, Verdict::Approximate, "{report:?}");
        assert_eq!(report.candidates[0].expression.to_string(), "1.19 * x1 * x2");
        assert_eq!(report.flags, [Flag::Odd { rows: vec![70, 120], lines: vec![72.into(), 122.into()] }]);
        assert!(report.flags[0].to_string().contains("lines 72, 122"), "{}", report.flags[0]);
        assert!(report.sentence.contains("148 of 150 rows"), "{}", report.sentence);
    }
    // Errors with long tails are no wrong lines.
    let mut rng = Rng::fast("tails", Purpose::Noise);
    let y = exact.iter().map(|y| y + libm::exp(2.0 * rng.normal::<f64>())).collect();
    let report = explained(&table(&x, y));
    assert!(!report.flags.iter().any(|flag| matches!(flag, Flag::Odd { .. })), "{report:?}");
}

/// Three rows in a hundred, whatever became of them; a formula with a pole at the wrong row is no exact one.
#[test]
fn some_wrong_rows_in_a_hundred_are_told_from_noise() {
    let x = rows(2, 200, (1.0, 9.0), "some wrong rows");
    let exact = target(&x, |x| x[0] * x[0] / x[1]);
    let mistakes: [fn(f64) -> f64; 4] = [|y| 10.0 * y, |y| 0.5 * y, |_| 0.0, |_| -999.0];
    for (wrong, mistake) in [1, 6].into_iter().flat_map(|wrong| mistakes.map(|mistake| (wrong, mistake))) {
        let mut y = exact.clone();
        let places: Vec<usize> = (0..wrong).map(|k| 7 + 31 * k).collect();
        places.iter().for_each(|&k| y[k] = mistake(y[k]));
        let report = explained(&table(&x, y));
        assert_eq!(report.verdict, Verdict::Approximate, "{report:?}");
        assert_eq!(report.candidates[0].expression.to_string(), "x1^2 / x2");
        assert_eq!(report.flags, [Flag::Odd { rows: places, lines: vec![] }]);
    }
}

/// A law with as many constants as a part holds rows back, in one input.
#[test]
fn a_wrong_row_beside_a_line_is_named() {
    let x = rows(1, 120, (1.0, 9.0), "a line");
    let mut y = target(&x, |x| 2.0 * x[0] + 3.0);
    y[50] += 4.0;
    let report = explained(&table(&x, y));
    assert_eq!(report.candidates[0].expression.to_string(), "2 * x1 + 3", "{report:?}");
    assert_eq!(report.flags, [Flag::Odd { rows: vec![50], lines: vec![] }]);
}

/// A column with few values can be threaded by a polynomial, whatever stands behind it.
#[test]
fn what_is_drawn_through_few_values_is_not_called_exact() {
    let mut rng = Rng::fast("few values", Purpose::Data);
    let steps: Vec<f64> = (0..300).map(|_| rng.uniform(-0.5, 3.5f64).round().abs()).collect();
    let factor = rows(1, 300, (1.0, 9.0), "few values").remove(0);
    let x = [factor, steps];
    let report = explained(&table(&x, target(&x, |x| x[0] * [0.19, 0.07, 0.31, 0.11][x[1] as usize])));
    assert_ne!(report.verdict, Verdict::Exact, "{report:?}");
    let report = explained(&table(&x, target(&x, |x| x[0] * libm::exp(-0.3 * x[1]))));
    assert_ne!(report.verdict, Verdict::Exact, "{report:?}");
    // Nor if a factor meets the value 0: a price each, and 0 where there are no pieces.
    let pieces: Vec<f64> = x[1].iter().map(|k| k + 2.0 * (k / 3.0).floor()).collect();
    let each = [x[0].clone(), pieces];
    let report = explained(&table(&each, target(&each, |x| if x[1] == 0.0 { 0.0 } else { x[0] / x[1] })));
    assert_ne!(report.verdict, Verdict::Exact, "{report:?}");
    // A switch has two values, and a line through both is all that there can be.
    let x = [x[0].clone(), x[1].iter().map(|k| k % 2.0).collect()];
    let report = explained(&table(&x, target(&x, |x| x[0] * (1.0 - 0.25 * x[1]))));
    assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
}

#[test]
fn noise_in_proportion_is_told_from_noise_of_one_size() {
    let mut rng = Rng::fast("proportion", Purpose::Noise);
    let x = rows(2, 300, (1.0, 50.0), "proportion");
    let exact = target(&x, |x| 2.5 * x[0] * x[1]);
    let y = exact.iter().map(|y| ((y * (1.0 + 0.05 * rng.normal::<f64>())) * 1e4).round() / 1e4).collect();
    let table = table(&x, y);
    let report = fit(&Problem::new(&table, "y").unwrap().printed(vec![1e-4; 300]), &mut ()).unwrap();
    assert_eq!(report.verdict, Verdict::Consistent, "{report:?}");
    let Some((nalm_fit::Noise::Relative, size)) = report.noise else { panic!("{:?}", report.noise) };
    assert!((0.04..0.06).contains(&size), "{size}");
    let factor = report.candidates[0].coefficients[0];
    assert!(factor.low <= 2.5 && 2.5 <= factor.high, "{factor:?}");
}

/// The unit of the last digit of a number that is printed with as many digits as it needs.
fn last_digit(y: f64) -> f64 {
    let text = format!("{y}");
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    libm::pow(10.0, -(decimals as f64))
}

/// The same table printed by a program that rounds nothing, and with eight significant digits.
fn printed(x: &[Vec<f64>], y: &[f64]) -> [Report; 2] {
    let report = |y: Vec<f64>| {
        let units = y.iter().map(|y| last_digit(*y)).collect();
        let table = table(x, y);
        let problem = Problem::new(&table, "y").unwrap().forms(Forms::Arithmetic).printed(units);
        fit(&problem, &mut ()).unwrap()
    };
    let rounded = y.iter().map(|y| format!("{y:.7e}").parse().unwrap()).collect();
    [report(y.to_vec()), report(rounded)]
}

#[test]
fn how_numbers_are_printed_says_nothing_about_their_noise() {
    let laws: [(Function, (f64, f64)); 3] = [
        (|x| x[0] * x[1], (-5.0, 5.0)),
        (|x| x[0] * x[1], (0.0, 10.0)),
        // Without small values, so that errors of its constants are small everywhere.
        (|x| 3.0 * x[1] + 2.0 * x[0] + 1.0, (2.0, 10.0)),
    ];
    for seed in 0..4 {
        let mut rng = Rng::fast(&format!("all digits {seed}"), Purpose::Noise);
        for (law, range) in laws {
            let x = rows(2, 200, range, &format!("all digits {seed}"));
            let y: Vec<f64> = target(&x, law).iter().map(|y| y + 0.3 * rng.normal::<f64>()).collect();
            for report in printed(&x, &y) {
                assert_eq!(report.verdict, Verdict::Consistent, "{seed}: {report:?}");
                assert!(off(&report, law, 2, range) < 0.02, "{seed}: {report:?}");
                let Some((Noise::Additive, size)) = report.noise else { panic!("{seed}: {report:?}") };
                assert!((0.25..0.35).contains(&size), "{seed}: {size}");
            }
        }
        let x = rows(2, 200, (1.0, 30.0), &format!("all digits {seed}"));
        let y: Vec<f64> = target(&x, laws[0].0).iter().map(|y| y * (1.0 + 0.05 * rng.normal::<f64>())).collect();
        for report in printed(&x, &y) {
            assert_eq!(report.verdict, Verdict::Consistent, "{seed}: {report:?}");
            assert_eq!(report.candidates[0].expression.to_string(), "x1 * x2", "{seed}: {report:?}");
            let Some((Noise::Relative, size)) = report.noise else { panic!("{seed}: {report:?}") };
            assert!((0.04..0.06).contains(&size), "{seed}: {size}");
        }
    }
}

#[test]
fn every_constant_that_is_written_has_its_interval() {
    let x = rows(2, 200, (0.0, 10.0), "intervals");
    let mut rng = Rng::fast("intervals", Purpose::Noise);
    let y = target(&x, |x| 3.0 * x[1] + x[0] + 1.0).iter().map(|y| y + 0.1 * rng.normal::<f64>()).collect();
    let report = explained(&table(&x, y));
    assert_eq!(report.candidates[0].expression.to_string(), "3 * x2 + x1 + 1", "{report:?}");
    let coefficients = &report.candidates[0].coefficients;
    assert_eq!(coefficients.iter().map(|c| c.value).collect::<Vec<_>>(), [3.0, 1.0], "{report:?}");
    assert!(coefficients.iter().all(|c| c.low < c.value && c.value < c.high), "{report:?}");
}

/// Squares of such numbers are 0 or infinite.
#[test]
fn formulas_are_found_and_shown_for_numbers_of_any_size() {
    for (a, b) in [(1e-100, 1e-119), (1e200, 1.0), (1e-160, 1.0), (1e150, 1e140)] {
        let x = rows(2, 100, (1.0, 9.0), "sizes");
        let x = [x[0].iter().map(|x| a * x).collect(), x[1].iter().map(|x| b * x).collect::<Vec<f64>>()];
        let report = explained(&table(&x, target(&x, |x| x[0] * x[1])));
        assert_eq!(report.verdict, Verdict::Exact, "{a} {b}: {report:?}");
        assert_eq!(report.candidates[0].expression.to_string(), "x1 * x2", "{a} {b}: {report:?}");
        assert!(report.candidates[0].error_outside < 1e-14 && report.flags.is_empty(), "{a} {b}: {report:?}");
    }
}

#[test]
fn a_column_that_hardly_varies_is_said_to_follow_from_nothing() {
    let x = rows(2, 60, (1.0, 9.0), "hardly");
    let x = [x[0].clone(), x[1].iter().map(|x| 1e9 + 1e-3 * x).collect()];
    let report = explained(&table(&x, x[0].iter().map(|x| x * x).collect()));
    let texts: Vec<String> = report.flags.iter().map(Flag::to_string).collect();
    assert_eq!(texts, ["the column 'x2' is nearly constant; a number may stand for it"]);
}

/// What is exactly nothing in most rows is no noise.
#[test]
fn two_laws_in_one_table_are_no_noise() {
    let x = rows(2, 80, (1.0, 9.0), "two laws");
    let mut y = target(&x, |x| x[0] * x[1]);
    let others: Vec<usize> = (0..12).map(|k| 5 * k + 3).collect();
    others.iter().for_each(|&k| y[k] = x[0][k] + x[1][k]);
    let table = table(&x, y);
    let report = fit(&Problem::new(&table, "y").unwrap().lines(2u64..82), &mut ()).unwrap();
    assert_eq!(report.verdict, Verdict::Approximate, "{report:?}");
    assert_eq!(report.candidates[0].expression.to_string(), "x1 * x2", "{report:?}");
    let lines = others.iter().map(|&k| Line::from(k as u64 + 2)).collect();
    assert!(report.flags.contains(&Flag::Apart { rows: others, lines }), "{report:?}");
    assert!(report.sentence.contains("68 of 80 rows"), "{}", report.sentence);
}

/// Most quotients of whole numbers by 2 or 3 need no rounding or little; that makes the others no rows of another law.
#[test]
fn whole_numbers_that_were_rounded_are_no_mixture() {
    let x: Vec<Vec<f64>> =
        rows(2, 200, (1.0, 60.0), "whole").iter().map(|x| x.iter().map(|x| x.round()).collect()).collect();
    let product = target(&x, |x| x[0] * x[1]);
    let found = |y: Vec<f64>| {
        let table = table(&x, y);
        fit(&Problem::new(&table, "y").unwrap().printed(vec![1.0; 200]), &mut ()).unwrap()
    };
    for divisor in [2.0, 3.0, 7.0] {
        let report = found(product.iter().map(|y| (y / divisor).round()).collect());
        let all = (report.verdict, report.precision);
        assert_eq!(all, (Verdict::Exact, Some(Precision::Printed)), "{divisor}: {report:?}");
    }
    let mut rng = Rng::fast("whole noise", Purpose::Noise);
    let report = found(product.iter().map(|y| y + rng.uniform::<f64>(-2.49, 2.49).round()).collect());
    assert!(!report.flags.iter().any(|flag| matches!(flag, Flag::Apart { .. })), "{report:?}");
}

/// Where target and formula are 0, any formula is right.
#[test]
fn rows_of_zeros_say_nothing_about_noise() {
    for (share, key) in [(0.45, "some zeros"), (0.6, "most are zeros")] {
        let mut x = rows(2, 300, (1.0, 9.0), key);
        let mut rng = Rng::fast(key, Purpose::Noise);
        x[0].iter_mut().for_each(|x| *x = if rng.uniform(0.0, 1.0) < share { 0.0 } else { *x });
        let y = target(&x, |x| x[0] * x[1]).iter().map(|y| y * (1.0 + 0.02 * rng.normal::<f64>())).collect();
        let report = explained(&table(&x, y));
        assert!(!report.flags.iter().any(|flag| matches!(flag, Flag::Apart { .. })), "{share}: {report:?}");
        assert_ne!(report.precision, Some(Precision::F64), "{share}: {report:?}");
    }
}

/// Noise is that of the rows that do not stand apart.
#[test]
fn rows_that_stand_apart_are_no_part_of_the_noise() {
    let x = rows(2, 300, (1.0, 9.0), "apart");
    let mut rng = Rng::fast("apart", Purpose::Noise);
    let noisy = |(k, y): (usize, &f64)| {
        let off = if k % 11 == 3 { if k % 2 == 0 { 0.1 } else { -0.1 } } else { 2e-4 * rng.normal::<f64>() };
        y * (1.0 + off)
    };
    let y = target(&x, |x| x[0] * x[1]).iter().enumerate().map(noisy).collect();
    let report = explained(&table(&x, y));
    assert!(report.flags.iter().any(|flag| matches!(flag, Flag::Apart { .. })), "{report:?}");
    let (_, size) = report.noise.expect("noise");
    assert!(size < 0.02, "{report:?}");
}

#[test]
fn wrong_rows_are_named_beside_noise() {
    let x = rows(2, 200, (1.0, 9.0), "noise and wrong rows");
    let mut rng = Rng::fast("noise and wrong rows", Purpose::Noise);
    let mut y: Vec<f64> =
        target(&x, |x| x[0] * x[0] / x[1]).iter().map(|y| y * (1.0 + 0.01 * rng.normal::<f64>())).collect();
    let wrong: Vec<usize> = (0..5).map(|k| 11 + 37 * k).collect();
    wrong.iter().for_each(|&k| y[k] *= 10.0);
    let report = explained(&table(&x, y));
    assert_eq!(report.verdict, Verdict::Approximate, "{report:?}");
    assert_eq!(report.candidates[0].expression.to_string(), "x1^2 / x2", "{report:?}");
    assert_eq!(report.flags[0], Flag::Apart { rows: wrong, lines: vec![] }, "{report:?}");
}

/// Progress goes one way, and whoever stops the search is told so wherever that was.
#[test]
fn progress_does_not_turn_back_and_a_late_stop_is_said() {
    struct Watch {
        seen: Vec<(usize, usize)>,
        stop_at: &'static str,
        stopped: bool,
    }
    impl Observer for Watch {
        fn engine(&mut self, name: &'static str, done: usize, all: usize) -> ControlFlow<()> {
            self.seen.push((done, all));
            self.stopped |= name == self.stop_at;
            self.working()
        }

        fn working(&mut self) -> ControlFlow<()> {
            if self.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let x = rows(3, 80, (1.0, 5.0), "progress");
    let table = table(&x[..2], x[2].clone());
    for stop_at in ["", "noise", "wrong rows"] {
        let mut watch = Watch { seen: Vec::new(), stop_at, stopped: false };
        let report = fit(&Problem::new(&table, "y").unwrap(), &mut watch).unwrap();
        assert_eq!(report.flags.contains(&Flag::Stopped), !stop_at.is_empty(), "{stop_at}: {report:?}");
        assert!(watch.seen.iter().all(|(done, all)| done < all && *all == watch.seen[0].1), "{:?}", watch.seen);
        assert!(watch.seen.windows(2).all(|w| w[0].0 < w[1].0), "{:?}", watch.seen);
    }
}

/// The report on a table whose target is rounded to so many decimals.
fn rounded(x: &[Vec<f64>], y: &[f64], decimals: i32, forms: Forms) -> Report {
    let unit = libm::pow(10.0, -f64::from(decimals));
    let table = table(x, y.iter().map(|y| format!("{y:.*}", decimals as usize).parse().unwrap()).collect());
    fit(&Problem::new(&table, "y").unwrap().forms(forms).printed(vec![unit; y.len()]), &mut ()).unwrap()
}

/// Whether the first candidate is within half a unit of every row that was rounded.
fn is_within(report: &Report, x: &[Vec<f64>], y: &[f64], unit: f64) -> bool {
    let place = |name: &str| name[1..].parse::<usize>().unwrap() - 1;
    let of = |k: usize| report.candidates[0].expression.evaluate(&|name| x[place(name)][k]);
    (0..y.len()).all(|k| (of(k) - (y[k] / unit).round() * unit).abs() <= 0.5 * unit * (1.0 + 1e-9) + 1e-12)
}

/// Quotients with a constant that is no number in particular: rounded, they are never exact, and always met.
#[test]
fn a_rounded_quotient_is_met_and_not_called_exact() {
    let mut rng = Rng::fast("factors", Purpose::Data);
    for (k, law) in [1, 2, 3, 4, 5, 6].into_iter().flat_map(|k| [(k, 1), (k, 2)]) {
        let c = rng.uniform(50.0, 900.0f64);
        let count = [30, 60, 100][k % 3];
        let x: Vec<Vec<f64>> = rows(law, count, (1.0, 60.0), &format!("quotient {k}"));
        let x: Vec<Vec<f64>> = x.iter().map(|x| x.iter().map(|x| (10.0 * x).round() / 10.0).collect()).collect();
        let y: Vec<f64> = (0..count).map(|k| c / x.iter().map(|x| x[k]).product::<f64>()).collect();
        let report = rounded(&x, &y, 1, Forms::Arithmetic);
        assert_eq!(report.verdict, Verdict::Consistent, "{c}: {report:?}");
        assert!(is_within(&report, &x, &y, 0.1), "{c}: {report:?}");
        let own = report.candidates[0].coefficients[0];
        assert!(own.low <= c && c <= own.high, "{c}: {own:?}");
        assert!(report.sentence.contains("within half a unit"), "{}", report.sentence);
    }
}

/// What people multiply by, rounded to cents.
#[test]
fn everyday_factors_are_exact_when_rounded() {
    let x = rows(1, 80, (1.0, 500.0), "everyday");
    let x = [x[0].iter().map(|x| (100.0 * x).round() / 100.0).collect::<Vec<f64>>()];
    for (factor, text) in [
        (1.0 / 1.19, "x1 / 1.19"),
        (0.19 / 1.19, "0.19 * x1 / 1.19"),
        (3.785_411_784, "3.785411784 * x1"),
        (1.0 / 0.453_592_37, "x1 / 0.45359237"),
        (1.19, "1.19 * x1"),
    ] {
        let y: Vec<f64> = x[0].iter().map(|x| factor * x).collect();
        let report = rounded(&x, &y, 2, Forms::All);
        assert_eq!((report.verdict, report.precision), (Verdict::Exact, Some(Precision::Printed)), "{report:?}");
        assert_eq!(report.candidates[0].expression.write(Language::Plain), text);
    }
    let celsius: Vec<f64> = (-20..=60).map(|k| 2.0 * f64::from(k)).collect();
    let y: Vec<f64> = celsius.iter().map(|f| (f - 32.0) * 5.0 / 9.0).collect();
    let report = rounded(&[celsius], &y, 1, Forms::All);
    assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
}

/// The root of a square is the size of what is squared: exact where its terms are alike, too.
#[test]
fn the_size_of_a_difference_does_not_cancel() {
    let x = rows(2, 120, (1.0, 99.0), "differences");
    let laws: [Function; 3] = [|x| (x[0] - x[1]).abs(), |x| x[0].min(x[1]), |x| x[0].max(x[1])];
    for law in laws {
        let report = explained(&table(&x, target(&x, law)));
        assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
        let found = &report.candidates[0].expression;
        for (a, b) in [(123_456.789, 123_456.788), (5.0, 5.0), (-3.0, 4.0), (1e-9, 7.0)] {
            let value = found.evaluate(&|name| if name == "x1" { a } else { b });
            assert!((value - law(&[a, b])).abs() <= 1e-10, "{found} at {a}, {b}: {value}");
        }
    }
    let years: Vec<f64> = (0..41).map(f64::from).collect();
    let y = years.iter().map(|t| 1000.0 * libm::pow(1.05, *t)).collect();
    let report = fit(&Problem::new(&table(&[years], y), "y").unwrap(), &mut ()).unwrap();
    assert_eq!(report.verdict, Verdict::Exact, "{report:?}");
    assert!(
        report.candidates[0].expression.write(Language::Plain).starts_with("1000 * exp(0.0487901641"),
        "{report:?}"
    );
}

/// Prices of which a third are reduced: one law in most rows, and no noise.
#[test]
fn two_laws_in_one_table_are_told_from_noise() {
    let mut rng = Rng::fast("reduced", Purpose::Noise);
    for share in [0.2, 0.3, 0.4] {
        let x = rows(2, 300, (1.0, 100.0), "reduced");
        let x: Vec<Vec<f64>> = x.iter().map(|x| x.iter().map(|x| x.round()).collect()).collect();
        let full = target(&x, |x| 1.2 * x[0] * x[1]);
        let reduced: Vec<bool> = full.iter().map(|_| rng.uniform(0.0, 1.0f64) < share).collect();
        let y: Vec<f64> = full.iter().zip(&reduced).map(|(y, off)| if *off { 0.95 * y } else { *y }).collect();
        let report = rounded(&x, &y, 2, Forms::Arithmetic);
        assert_eq!(report.candidates[0].expression.to_string(), "1.2 * x1 * x2", "{report:?}");
        assert_eq!(report.verdict, Verdict::Approximate, "{report:?}");
        // Above a limit that is no column: exact below it.
        let y: Vec<f64> = target(&x, |x| x[0] * x[1] * if x[0] > 70.0 { 0.95 } else { 1.0 });
        for report in [rounded(&x, &y, 2, Forms::Arithmetic), explained(&table(&x, y.clone()))] {
            assert_eq!(report.candidates[0].expression.to_string(), "x1 * x2", "{report:?}");
            let rows = report.flags.iter().find_map(|flag| match flag {
                Flag::Apart { rows, .. } => Some(rows.clone()),
                _ => None,
            });
            let above: Vec<usize> = (0..300).filter(|&k| x[0][k] > 70.0).collect();
            assert_eq!(rows.expect("a note names the rows"), above);
        }
    }
}

#[test]
fn a_wrong_row_in_a_constant_column_is_named() {
    let x = rows(2, 100, (1.0, 9.0), "constant");
    let mut y = vec![5.0; 100];
    y[51] = 7.0;
    let report = explained(&table(&x, y));
    assert_eq!(report.candidates[0].expression.to_string(), "5", "{report:?}");
    assert_eq!(report.flags, [Flag::Odd { rows: vec![51], lines: vec![] }]);
    assert_eq!(report.verdict, Verdict::Approximate);
    // One digit away is no wrong row.
    y = vec![5.0; 100];
    y[51] = 5.1;
    let report = rounded(&x, &y, 1, Forms::Arithmetic);
    assert!(!report.flags.iter().any(|flag| matches!(flag, Flag::Odd { .. })), "{report:?}");
}

/// What is said to be as good is, on the rows held back as well; and where a formula is not exact in the rest, it does not blame a large part
/// of the rows.
#[test]
fn notes_say_no_more_than_the_rows_do() {
    for (k, law) in [
        (0, (|x| 1.733_219 * x[0]) as Function),
        (1, |x| 17.331 * x[0] / (1.0 + x[1])),
        (2, |x| x[0] * libm::exp(0.02 * x[1])),
        (3, |x| if x[0] > 30.0 { x[0] * x[1] } else { 30.0 * x[1] + libm::sqrt(x[0]) }),
    ] {
        let x = rows(2, 60, (1.0, 60.0), &format!("notes {k}"));
        let report = rounded(&x, &target(&x, law), 3, Forms::Arithmetic);
        for flag in &report.flags {
            match flag {
                Flag::Ambiguous { candidate } => {
                    let (best, other) = (&report.candidates[0], &report.candidates[*candidate]);
                    let worst = |c: &nalm_fit::Candidate| c.error_inside.max(c.error_outside);
                    assert!(worst(other) < 3.0 * worst(best), "{k}: {report:?}");
                }
                Flag::Apart { rows, .. } => assert!(report.precision.is_some() || rows.len() <= 6, "{k}: {report:?}"),
                _ => {}
            }
        }
        for c in report.candidates.iter().flat_map(|c| &c.coefficients) {
            assert!(c.low.is_finite() && c.high.is_finite(), "{k}: {report:?}");
        }
    }
}

#[test]
fn it_is_said_where_functions_were_not_looked_for() {
    let x = rows(2, 120, (0.0, 3.0), "functions");
    let y = target(&x, |x| 3.0 * x[0] * libm::sin(4.0 * x[1]));
    let report = rounded(&x, &y, 2, Forms::All);
    assert!(report.flags.contains(&Flag::WithoutFunctions), "{report:?}");
    assert!(!rounded(&x, &y, 2, Forms::Arithmetic).flags.contains(&Flag::WithoutFunctions));
    let report = rounded(&x, &target(&x, |x| 3.0 * x[0] + x[1]), 2, Forms::All);
    assert!(report.flags.is_empty(), "{report:?}");
}
