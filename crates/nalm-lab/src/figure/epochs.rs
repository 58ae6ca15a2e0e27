//! Learning over the epochs: accuracy of both digits in the static tasks, the validation error in the sequential one.

use super::svg::{Axis, Svg, colour, polyline};
use super::{Figure, number, record};
use crate::stats::{Estimate, student};
use crate::summary::Results;
use crate::summary::histories::{Model, models};
use nalm_vision::score::{Accuracy, Score};

const WIDE: f64 = 330.0;
const HIGH: f64 = 190.0;

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let models = models(results);
    if results.experiment.sections[0].task == "mnist-sequential" { errors(&models) } else { digits(results, &models) }
}

/// The mean over runs at every epoch that all of them have reached.
fn means(model: &Model<'_>, value: impl Fn(&Score) -> f64) -> Vec<(f64, Estimate)> {
    let runs = model.products();
    let common = runs.iter().map(|(_, rows)| rows.len()).min().unwrap_or(0);
    let at = |k: usize| {
        let values: Vec<f64> = runs.iter().map(|(_, rows)| value(&rows[k].test)).collect();
        (runs[0].1[k].epoch as f64, student::share(&values))
    };
    (0..common).map(at).collect()
}

type Panel = (&'static str, fn(&Score) -> f64);

fn digits(results: &Results<'_>, models: &[Model<'_>]) -> Option<Figure> {
    let last = models
        .iter()
        .filter_map(|m| m.products().iter().filter_map(|(_, all)| Some(all.last()?.epoch)).max())
        .max()?
        .max(1);
    fn rule(accuracy: &Accuracy, strict: bool) -> f64 {
        if strict { accuracy.strict } else { accuracy.rounded }
    }
    let rounded: [Panel; 2] = [
        ("first digit, rounded", |s| rule(&s.accuracy[1], false)),
        ("second digit, rounded", |s| rule(&s.accuracy[2], false)),
    ];
    let strict: [Panel; 2] = [
        ("first digit, strict", |s| rule(&s.accuracy[1], true)),
        ("second digit, strict", |s| rule(&s.accuracy[2], true)),
    ];
    let panels: Vec<Panel> = if results.experiment.sections[0].task == "mnist-isolated" {
        [strict, rounded].concat()
    } else {
        rounded.to_vec()
    };
    let caption = "Test accuracy of the two digits over the epochs, mean over folds; ribbons are 95 % intervals";
    let mut svg = Svg::new(caption, 24.0 + 2.0 * (WIDE + 74.0));
    let mut data = vec![record(&[&"panel", &"model", &"epoch", &"mean", &"lower", &"upper"])];
    for (k, (title, value)) in panels.iter().enumerate() {
        let (left, top) = (68.0 + (k % 2) as f64 * (WIDE + 74.0), 30.0 + (k / 2) as f64 * (HIGH + 78.0));
        let x = Axis::linear(0.0, last as f64, left, left + WIDE);
        let y = Axis::linear(0.0, 1.0, top + HIGH, top);
        for model in models {
            let means = means(model, value);
            let edge = |of: fn(&Estimate) -> Option<f64>| {
                means.iter().filter_map(move |(epoch, e)| Some((x.at(*epoch), y.at(of(e)?))))
            };
            let ribbon: Vec<(f64, f64)> =
                edge(|e| e.upper).chain(edge(|e| e.lower).collect::<Vec<_>>().into_iter().rev()).collect();
            if ribbon.len() > 3 {
                let d = format!("{}Z", polyline(&ribbon));
                svg.put(format!("<path d=\"{d}\" fill=\"{}\" fill-opacity=\"0.15\"/>", colour(model.index)));
            }
            let line: Vec<(f64, f64)> = edge(|e| e.mean).collect();
            svg.polyline(&line, colour(model.index), 1.5);
            for (epoch, e) in &means {
                let [mean, lower, upper] = [e.mean, e.lower, e.upper].map(number);
                data.push(record(&[title, &model.label, epoch, &mean, &lower, &upper]));
            }
        }
        svg.bold(left, top - 8.0, title);
        svg.frame(&x, &y, "epochs", "share right");
    }
    let names: Vec<(usize, &str)> = models.iter().map(|model| (model.index, model.label)).collect();
    let below = 30.0 + panels.len().div_ceil(2) as f64 * (HIGH + 78.0);
    let end = svg.legend(&names, 68.0, below - 10.0);
    Some(Figure { suffix: "-epochs".into(), caption: caption.into(), svg: svg.finish(end + 12.0), data })
}

fn errors(models: &[Model<'_>]) -> Option<Figure> {
    let runs =
        || models.iter().flat_map(|m| m.sequences().into_iter().map(|(seed, rows)| (m.index, m.label, seed, rows)));
    let last = runs().filter_map(|(.., rows)| Some(rows.last()?.step)).max()?.max(1);
    let caption = "Errors over the updates, one line a seed: validation pairs, and test sequences of ten";
    let mut svg = Svg::new(caption, 24.0 + 2.0 * (WIDE + 74.0));
    let mut data = vec![record(&[&"model", &"seed", &"step", &"validation", &"test_10", &"sparsity"])];
    for (_, label, seed, rows) in runs() {
        for row in rows {
            let [valid, test] = [row.valid.error, row.test[9].error].map(number);
            data.push(record(&[&label, &seed, &row.step, &valid, &test, &row.sparsity]));
        }
    }
    for (k, title) in ["validation error, two digits", "test error, ten digits"].into_iter().enumerate() {
        let (left, top) = (68.0 + k as f64 * (WIDE + 74.0), 30.0);
        let value =
            |row: &nalm_vision::sequential::Measurement| if k == 0 { row.valid.error } else { row.test[9].error };
        let x = Axis::linear(0.0, last as f64, left, left + WIDE);
        let y = Axis::logarithmic(runs().flat_map(|(.., rows)| rows.iter().filter_map(value)), top + HIGH, top);
        for (index, _, _, rows) in runs() {
            let line: Vec<(f64, f64)> =
                rows.iter().filter_map(|row| Some((x.at(row.step as f64), y.at(value(row)?)))).collect();
            svg.polyline(&line, colour(index), 1.2);
        }
        svg.bold(left, top - 8.0, title);
        svg.frame(&x, &y, "updates", "error");
    }
    let names: Vec<(usize, &str)> = models.iter().map(|model| (model.index, model.label)).collect();
    let end = svg.legend(&names, 68.0, 30.0 + HIGH + 68.0);
    Some(Figure { suffix: "-epochs".into(), caption: caption.into(), svg: svg.finish(end + 12.0), data })
}
