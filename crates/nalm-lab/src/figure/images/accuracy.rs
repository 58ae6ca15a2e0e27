//! Accuracy of the product and of both digits by model, on training and test pairs, with intervals over folds.

use crate::figure::slots::{LEFT, Slots, WIDTH};
use crate::figure::svg::{Axis, Svg};
use crate::figure::{Figure, estimates, number, parts, record};
use crate::stats::{Estimate, standard_error};
use crate::summary::Results;
use crate::summary::histories::{models, rules};

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
    let (models, rules) = (models(results, 0), rules(results));
    if models.iter().all(|model| model.products().is_empty()) {
        return None;
    }
    let title = &results.experiment.title;
    let svg = Svg::new(&format!("{title}: accuracy at the end, mean over folds with 95 % intervals"), WIDTH);
    let mut data = vec![record(&[&"rule", &"model", &"of", &"runs", &"mean", &"lower", &"upper", &"standard_error"])];
    let mut slots = Slots { svg, count: models.len(), marks: SERIES.len(), margin: 0.14, high: 190.0, gap: 40.0 };
    for (panel, rule) in rules.iter().enumerate() {
        let (bottom, top) = slots.ends(panel);
        let y = Axis::linear(0.0, 100.0, bottom, top);
        slots.head(&format!("Accuracy, {rule}, %"), 10.0, &y);
        for (place, model) in models.iter().enumerate() {
            let (label, runs) = (&model.label, model.products().len());
            for (k, (of, metric)) in SERIES.iter().enumerate() {
                let metric = format!("{metric}_{rule}");
                let [mean, lower, upper] = parts(model.share(&metric)).map(|v| v.map(|v| 100.0 * v));
                let e = Estimate { mean, lower, upper };
                let values: Vec<f64> = model.values(&metric).iter().map(|v| 100.0 * v).collect();
                let mut row = estimates(record(&[rule, &label, of, &runs]), [e]);
                row.push(number(standard_error(&values)));
                data.push(row);
                let hint = format!("{label}, {of}: {:.2} % (n = {runs})", mean.unwrap_or_default());
                slots.estimate(k, slots.x(place, k), &y, e, 1.5, &hint);
            }
        }
        slots.edges(&y);
    }
    let labels: Vec<&str> = models.iter().map(|model| model.label.as_str()).collect();
    let floor = slots.labels(rules.len(), &labels, if slots.slot() < 150.0 { 15.0 } else { 0.0 });
    let names: Vec<_> = SERIES.iter().enumerate().map(|(k, (name, _))| (k, *name)).collect();
    let end = slots.svg.legend(&names, (LEFT, floor + 58.0));
    Some(Figure::new("-accuracy", slots.svg, end + 12.0, data))
}
