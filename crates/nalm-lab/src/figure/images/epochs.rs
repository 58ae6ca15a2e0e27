//! Learning over the updates, because epochs of different sizes cannot be compared: accuracy of both digits in the static tasks, the validation error in the sequential one.

use super::scale;
use crate::figure::grid::Grid;
use crate::figure::style::{self, Style};
use crate::figure::svg::{Axis, Paper, Svg, polyline};
use crate::figure::{Figure, estimates, number, record};
use crate::stats::{Estimate, student};
use crate::summary::Results;
use crate::summary::histories::{Model, models, rules};
use crate::task::image_scale;
use nalm_vision::score::Score;
use nalm_vision::sequential::Measurement;
use std::collections::BTreeSet;

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let models = models(results, 0);
    let look = Look {
        grid: Grid::new(paper, 2, 68.0, (paper.choose(344.0, 304.0), 190.0), 70.0),
        styles: style::of(&results.experiment.models),
    };
    digits(results, &models, &look).or_else(|| errors(&models, &look))
}

/// Where panels are, and what models look like.
struct Look {
    grid: Grid,
    styles: Vec<Style>,
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

/// Updates in an epoch, where all runs have the same.
fn updates(models: &[Model<'_>]) -> Option<u64> {
    let all = models.iter().flat_map(|model| &model.rows).map(|row| image_scale(&row.spec)?.1);
    let all: BTreeSet<u64> = all.collect::<Option<_>>()?;
    all.first().copied().filter(|_| all.len() == 1)
}

fn digits(results: &Results<'_>, models: &[Model<'_>], look: &Look) -> Option<Figure> {
    let products = models.iter().flat_map(|model| model.products());
    let last = products.filter_map(|(_, all)| Some(all.last()?.epoch)).max()?.max(1);
    let each = updates(models);
    let (unit, each) = (if each.is_some() { "updates" } else { "epochs" }, each.unwrap_or(1) as f64);
    let folds = models.iter().any(|model| model.rows.len() > 1);
    let over = if folds { ", mean over folds; ribbons are 95 % intervals" } else { "" };
    let caption = format!("Test accuracy of the two digits over the {unit}{over}; {}", scale(models));
    let mut svg = Svg::new(&caption, look.grid.width);
    let mut data = vec![record(&[&"panel", &"model", &"epoch", &unit, &"mean", &"lower", &"upper"])];
    let panels = rules(results).iter().flat_map(|rule| [("first", 1, *rule), ("second", 2, *rule)]);
    for (k, (name, digit, rule)) in panels.clone().enumerate() {
        let title = format!("{name} digit, {rule}");
        let (x, y) = look.grid.axes(k, (0.0, last as f64 * each), (0.0, 1.0));
        for model in models {
            let style = look.styles[model.index];
            let means = means(model, |score| {
                let accuracy = &score.accuracy[digit];
                if rule == "strict" { accuracy.strict } else { accuracy.rounded }
            });
            let edge = |of: fn(&Estimate) -> Option<f64>| -> Vec<(f64, f64)> {
                // Shares that no accuracy can have may leave no number for a bound.
                let at = |(epoch, e): &(f64, Estimate)| {
                    let share = of(e).filter(|share| !share.is_nan())?;
                    Some((x.at(*epoch * each), y.at(share)))
                };
                means.iter().filter_map(at).collect()
            };
            let ribbon: Vec<_> = edge(|e| e.upper).into_iter().chain(edge(|e| e.lower).into_iter().rev()).collect();
            if ribbon.len() > 3 {
                svg.fill_lightly(&format!("{}Z", polyline(&ribbon)), &style.colour(), 0.15);
            }
            svg.marked_line(style, &edge(|e| e.mean), 1.5, 4, &model.label);
            data.extend(
                means.iter().map(|(epoch, e)| estimates(record(&[&title, &model.label, epoch, &(epoch * each)]), [*e])),
            );
        }
        svg.panel(&title, &x, &y, unit, "share right");
    }
    Some(finish(svg, models, look, panels.count(), data))
}

/// The error on sequences of ten; a row that somebody made may lack it.
fn of_ten(row: &Measurement) -> Option<f64> {
    row.test.get(9)?.error
}

/// A title, and what is drawn of a measurement.
type Panel = (&'static str, fn(&Measurement) -> Option<f64>);

fn errors(models: &[Model<'_>], look: &Look) -> Option<Figure> {
    let runs = || models.iter().flat_map(|m| m.sequences().into_iter().map(move |(seed, rows)| (m, seed, rows)));
    let last = runs().filter_map(|(.., rows)| Some(rows.last()?.step)).max()?.max(1);
    let caption = format!(
        "Errors over the updates, one line a seed: validation pairs, and test sequences of ten; {}",
        scale(models)
    );
    let mut svg = Svg::new(&caption, look.grid.width);
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
        let (x, y) = look.grid.axes(k, (0.0, last as f64), (0.0, 1.0));
        let y = Axis::logarithmic(runs().flat_map(|(.., rows)| rows.iter().filter_map(value)), y.start, y.end);
        for (model, _, rows) in runs() {
            let at = |row: &Measurement| Some((x.at(row.step as f64), y.at(value(row)?)));
            let points: Vec<_> = rows.iter().filter_map(at).collect();
            svg.marked_line(look.styles[model.index], &points, 1.2, 1, &model.label);
        }
        svg.panel(title, &x, &y, "updates", "error");
    }
    Some(finish(svg, models, look, panels.len(), data))
}

/// The legend below the panels, and the figure.
fn finish(mut svg: Svg, models: &[Model<'_>], look: &Look, panels: usize, data: Vec<Vec<String>>) -> Figure {
    let names: Vec<_> = models.iter().map(|model| (look.styles[model.index], model.label.as_str())).collect();
    let end = svg.legend_of_lines(&names, (40.0, look.grid.height(panels) - 10.0));
    Figure::new("-epochs", svg, end + 12.0, data)
}
