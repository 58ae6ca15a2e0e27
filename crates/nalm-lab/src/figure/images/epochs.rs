//! Learning over the epochs: accuracy of both digits in the static tasks, the validation error in the sequential one.

use crate::figure::grid::Grid;
use crate::figure::svg::{Axis, Svg, colour, polyline};
use crate::figure::{Figure, estimates, number, record};
use crate::stats::{Estimate, student};
use crate::summary::Results;
use crate::summary::histories::{Model, models, rules};
use nalm_vision::score::Score;
use nalm_vision::sequential::Measurement;

const GRID: Grid = Grid { columns: 2, corner: (68.0, 30.0), size: (330.0, 190.0), step: (404.0, 268.0) };
const WIDTH: f64 = 24.0 + 2.0 * GRID.step.0;

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let models = models(results, 0);
    digits(results, &models).or_else(|| errors(&models))
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

fn digits(results: &Results<'_>, models: &[Model<'_>]) -> Option<Figure> {
    let products = models.iter().flat_map(|model| model.products());
    let last = products.filter_map(|(_, all)| Some(all.last()?.epoch)).max()?.max(1);
    let caption = "Test accuracy of the two digits over the epochs, mean over folds; ribbons are 95 % intervals";
    let mut svg = Svg::new(caption, WIDTH);
    let mut data = vec![record(&[&"panel", &"model", &"epoch", &"mean", &"lower", &"upper"])];
    let panels = rules(results).iter().flat_map(|rule| [("first", 1, *rule), ("second", 2, *rule)]);
    for (k, (name, digit, rule)) in panels.clone().enumerate() {
        let title = format!("{name} digit, {rule}");
        let (x, y) = GRID.axes(k, (0.0, last as f64), (0.0, 1.0));
        for model in models {
            let means = means(model, |score| {
                let accuracy = &score.accuracy[digit];
                if rule == "strict" { accuracy.strict } else { accuracy.rounded }
            });
            let edge = |of: fn(&Estimate) -> Option<f64>| -> Vec<(f64, f64)> {
                // Shares that no accuracy can have may leave no number for a bound.
                let at = |(epoch, e): &(f64, Estimate)| {
                    let share = of(e).filter(|share| !share.is_nan())?;
                    Some((x.at(*epoch), y.at(share)))
                };
                means.iter().filter_map(at).collect()
            };
            let ribbon: Vec<_> = edge(|e| e.upper).into_iter().chain(edge(|e| e.lower).into_iter().rev()).collect();
            if ribbon.len() > 3 {
                svg.fill_lightly(&format!("{}Z", polyline(&ribbon)), colour(model.index), 0.15);
            }
            svg.polyline(&edge(|e| e.mean), colour(model.index), 1.5);
            data.extend(means.iter().map(|(epoch, e)| estimates(record(&[&title, &model.label, epoch]), [*e])));
        }
        svg.panel(&title, &x, &y, "epochs", "share right");
    }
    Some(finish(svg, models, panels.count(), data))
}

/// The error on sequences of ten; a row that somebody made may lack it.
fn of_ten(row: &Measurement) -> Option<f64> {
    row.test.get(9)?.error
}

/// A title, and what is drawn of a measurement.
type Panel = (&'static str, fn(&Measurement) -> Option<f64>);

fn errors(models: &[Model<'_>]) -> Option<Figure> {
    let runs = || models.iter().flat_map(|m| m.sequences().into_iter().map(move |(seed, rows)| (m, seed, rows)));
    let last = runs().filter_map(|(.., rows)| Some(rows.last()?.step)).max()?.max(1);
    let caption = "Errors over the updates, one line a seed: validation pairs, and test sequences of ten";
    let mut svg = Svg::new(caption, WIDTH);
    let mut data = vec![record(&[&"model", &"seed", &"step", &"validation", &"test_10", &"sparsity"])];
    for (model, seed, rows) in runs() {
        for row in rows {
            let [valid, test] = [row.valid.error, of_ten(row)].map(number);
            data.push(record(&[&model.label, &seed, &row.step, &valid, &test, &row.sparsity]));
        }
    }
    let panels: [Panel; 2] =
        [("validation error, two digits", |row| row.valid.error), ("test error, ten digits", of_ten)];
    for (k, (title, value)) in panels.into_iter().enumerate() {
        let (x, y) = GRID.axes(k, (0.0, last as f64), (0.0, 1.0));
        let y = Axis::logarithmic(runs().flat_map(|(.., rows)| rows.iter().filter_map(value)), y.start, y.end);
        for (model, _, rows) in runs() {
            let at = |row: &Measurement| Some((x.at(row.step as f64), y.at(value(row)?)));
            svg.polyline(&rows.iter().filter_map(at).collect::<Vec<_>>(), colour(model.index), 1.2);
        }
        svg.panel(title, &x, &y, "updates", "error");
    }
    Some(finish(svg, models, panels.len(), data))
}

/// The legend below the panels, and the figure.
fn finish(mut svg: Svg, models: &[Model<'_>], panels: usize, data: Vec<Vec<String>>) -> Figure {
    let names: Vec<_> = models.iter().map(|model| (model.index, model.label.as_str())).collect();
    let end = svg.legend(&names, (68.0, GRID.height(panels) - 10.0));
    Figure::new("-epochs", svg, end + 12.0, data)
}
