//! Accuracy of the product and of both digits by model, on training and test pairs, with intervals over folds.

use super::svg::{Anchor, Axis, Svg, colour};
use super::{Figure, number, record};
use crate::stats;
use crate::summary::Results;
use crate::summary::histories::models;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 60.0;
const PANEL: f64 = 190.0;

/// The six numbers of a model, and their metrics without the rule.
const SERIES: [(&str, &str); 6] = [
    ("product, train", "train_product"),
    ("product, test", "product"),
    ("first digit, train", "train_first_digit"),
    ("first digit, test", "first_digit"),
    ("second digit, train", "train_second_digit"),
    ("second digit, test", "second_digit"),
];

pub(super) fn draw(results: &Results<'_>) -> Option<Figure> {
    let (experiment, models) = (results.experiment, models(results));
    if models.iter().all(|model| model.products().is_empty()) {
        return None;
    }
    // Strict equality was published for isolated digits; alone it misleads.
    let rules: &[&str] =
        if experiment.sections[0].task == "mnist-isolated" { &["strict", "rounded"] } else { &["rounded"] };
    let caption = format!("{}: accuracy at the end, mean over folds with 95 % intervals", experiment.title);
    let mut svg = Svg::new(&caption, WIDTH);
    let mut data = vec![record(&[&"rule", &"model", &"of", &"runs", &"mean", &"lower", &"upper", &"standard_error"])];
    let slot = (WIDTH - LEFT - 12.0) / models.len() as f64;
    for (panel, name) in rules.iter().enumerate() {
        let top = 30.0 + panel as f64 * (PANEL + 40.0);
        let y = Axis::linear(0.0, 100.0, top + PANEL, top);
        svg.bold(LEFT, top - 10.0, &format!("Accuracy, {name}, %"));
        for (tick, text) in y.ticks() {
            svg.stroke(&format!("M{LEFT} {:.1}H{}", y.at(tick), WIDTH - 12.0), "#dddddd", 1.0);
            svg.text(LEFT - 6.0, y.at(tick) + 4.0, Anchor::End, &text);
        }
        for (place, model) in models.iter().enumerate() {
            for (k, (of, metric)) in SERIES.iter().enumerate() {
                let metric = format!("{metric}_{name}");
                let share = model.share(&metric);
                let estimate = [share.mean, share.lower, share.upper].map(|v| v.map(|v| 100.0 * v));
                let error = stats::standard_error(&model.values(&metric).iter().map(|v| 100.0 * v).collect::<Vec<_>>());
                let runs = model.products().len();
                let [mean, lower, upper] = estimate;
                data.push(record(&[
                    name,
                    &model.label,
                    of,
                    &runs,
                    &number(mean),
                    &number(lower),
                    &number(upper),
                    &number(error),
                ]));
                let Some(mean) = mean else { continue };
                let x = LEFT + slot * (place as f64 + 0.14 + 0.72 * (k as f64 + 0.5) / 6.0);
                if let (Some(lower), Some(upper)) = (lower, upper) {
                    svg.stroke(&format!("M{x:.1} {:.1}V{:.1}", y.at(lower), y.at(upper)), colour(k), 1.5);
                }
                svg.mark(k, x, y.at(mean), &format!("{}, {of}: {mean:.2} % (n = {runs})", model.label));
            }
        }
        svg.stroke(&format!("M{LEFT} {top}v{PANEL}H{}", WIDTH - 12.0), "#333333", 1.0);
    }
    let floor = 30.0 + rules.len() as f64 * (PANEL + 40.0) - 40.0;
    for (place, model) in models.iter().enumerate() {
        let down = if place % 2 == 1 && slot < 150.0 { 15.0 } else { 0.0 };
        svg.text(LEFT + slot * (place as f64 + 0.5), floor + 17.0 + down, Anchor::Middle, model.label);
    }
    let names: Vec<(usize, &str)> = SERIES.iter().enumerate().map(|(k, (name, _))| (k, *name)).collect();
    let end = svg.legend(&names, LEFT, floor + 58.0);
    Some(Figure { suffix: "-accuracy".into(), caption, svg: svg.finish(end + 12.0), data })
}
