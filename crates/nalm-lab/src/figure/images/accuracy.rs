//! Accuracy of the product and of both digits by model, on training and test pairs, with intervals over folds.

use super::{not_run, scale};
use crate::figure::slots::{LEFT, Slots};
use crate::figure::svg::{Axis, Paper};
use crate::figure::{Figure, estimates, number, parts, record, style};
use crate::stats::{Estimate, standard_error};
use crate::summary::Results;
use crate::summary::histories::{models, rules};

/// The six numbers of a model, and their metrics without the rule.
const SERIES: [(&str, &str, &str); 6] = [
    ("product", "train", "train_product"),
    ("product", "test", "product"),
    ("first digit", "train", "train_first_digit"),
    ("first digit", "test", "first_digit"),
    ("second digit", "train", "train_second_digit"),
    ("second digit", "test", "second_digit"),
];

pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let (models, rules) = (models(results, 0), rules(results));
    if models.iter().all(|model| model.products().is_empty()) {
        return None;
    }
    let intervals = if models.iter().any(|model| model.rows.len() > 1) { ", with 95 % intervals" } else { "" };
    let caption = format!("{}: accuracy at the end{intervals}; {}", results.experiment.title, scale(&models));
    let mut data = vec![record(&[&"rule", &"model", &"of", &"runs", &"mean", &"lower", &"upper", &"standard_error"])];
    let labels = SERIES.iter().map(|(of, on, _)| [of.to_string(), on.to_string()]).collect();
    let mut slots = Slots::new(paper, &caption, labels, models.len(), 0.14);
    slots.high = 190.0;
    let styles = style::of(&results.experiment.models);
    for rule in rules {
        for line in slots.lines() {
            slots.begin(&line);
            let (bottom, top) = slots.ends();
            let y = Axis::linear(0.0, 100.0, bottom, top);
            slots.head(&format!("Accuracy, {rule}, %"), &y);
            for k in line {
                let (of, on, metric) = SERIES[k];
                for (place, model) in models.iter().enumerate() {
                    let (label, runs) = (&model.label, model.products().len());
                    let metric = format!("{metric}_{rule}");
                    let [mean, lower, upper] = parts(model.share(&metric)).map(|v| v.map(|v| 100.0 * v));
                    let e = Estimate { mean, lower, upper };
                    let values: Vec<f64> = model.values(&metric).iter().map(|v| 100.0 * v).collect();
                    let mut row = estimates(record(&[rule, &label, &format!("{of}, {on}"), &runs]), [e]);
                    row.push(number(standard_error(&values)));
                    data.push(row);
                    let hint = format!("{label}, {of}, {on}: {:.2} % (n = {runs})", mean.unwrap_or_default());
                    slots.estimate(styles[model.index], slots.x(k, place), &y, e, 1.5, &hint);
                }
            }
            slots.end(&y);
            slots.labels("");
        }
    }
    let names: Vec<_> = models.iter().map(|model| (styles[model.index], model.label.as_str())).collect();
    let mut end = slots.svg.legend(&names, (LEFT, slots.below()));
    if let Some(note) = not_run(results) {
        end = slots.svg.paragraph((LEFT, end + 22.0), &note) - 16.0;
    }
    Some(Figure::new("-accuracy", slots.svg, end + 12.0, data))
}
