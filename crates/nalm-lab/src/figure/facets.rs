//! The figure of the papers: success rate, solved-at and sparsity error over the training ranges, with interval bars.

use super::svg::{Anchor, Axis, Svg, colour, text_width};
use super::{Figure, number};
use crate::experiment::Section;
use crate::summary::{Cell, Metric, Results};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 12.0;
const PANEL: f64 = 160.0;
const GAP: f64 = 38.0;
const TOP: f64 = 30.0;

/// How success rates are drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Points,
    Bars,
}

/// Success rates as points.
pub(super) fn points(results: &Results<'_>) -> Vec<Figure> {
    draw(results, Style::Points)
}

/// Success rates as bars.
pub(super) fn bars(results: &Results<'_>) -> Vec<Figure> {
    draw(results, Style::Bars)
}

/// One figure for each section that has cells.
fn draw(results: &Results<'_>, style: Style) -> Vec<Figure> {
    let experiment = results.experiment;
    let mut figures = Vec::new();
    for (k, section) in experiment.sections.iter().enumerate() {
        let cells: Vec<&Cell> = results.cells.iter().filter(|cell| cell.section == k).collect();
        if cells.is_empty() {
            continue;
        }
        let title = match section.name.as_str() {
            "" => experiment.title.clone(),
            name => format!("{}: {name}", experiment.title),
        };
        let words = section.name.to_lowercase();
        let words: Vec<&str> = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let suffix = if words.is_empty() { "-facets".into() } else { format!("-{}", words.join("-")) };
        let svg = section_figure(&title, results, section, &cells, style);
        figures.push(Figure { suffix, caption: title, svg, data: data(results.metrics, &cells) });
    }
    figures
}

fn data(metrics: &[Metric], cells: &[&Cell]) -> Vec<Vec<String>> {
    let metrics = || metrics.iter().filter(|metric| metric.csv);
    let columns = metrics().flat_map(|metric| ["mean", "lower", "upper"].map(|part| format!("{}_{part}", metric.name)));
    let mut data = vec![["model", "range", "n", "solved"].map(String::from).into_iter().chain(columns).collect()];
    for c in cells {
        let numbers = metrics().map(|metric| c.get(metric.name)).flat_map(|e| [e.mean, e.lower, e.upper]).map(number);
        let head = [c.label.clone(), c.place.clone(), c.n.to_string(), c.solved.to_string()];
        data.push(head.into_iter().chain(numbers).collect());
    }
    data
}

fn section_figure(title: &str, results: &Results<'_>, section: &Section, cells: &[&Cell], style: Style) -> String {
    let (experiment, ranges) = (results.experiment, &section.places);
    let mut models: Vec<usize> = cells.iter().map(|cell| cell.model).collect();
    models.dedup();
    let mut svg = Svg::new(title, WIDTH);
    let slot = (WIDTH - LEFT - RIGHT) / ranges.len() as f64;
    let panels: Vec<&Metric> = results.metrics.iter().filter(|metric| metric.panel.is_some()).collect();
    for (k, metric) in panels.iter().enumerate() {
        let style = if k == 0 { style } else { Style::Points };
        panel(&mut svg, metric, TOP + k as f64 * (PANEL + GAP), slot, &models, ranges, cells, style);
    }
    let floor = TOP + panels.len() as f64 * (PANEL + GAP) - GAP;
    // Long names that would touch their neighbours take turns on two lines.
    let crowded = ranges.iter().any(|range| text_width(range) + 6.0 > slot);
    for (k, range) in ranges.iter().enumerate() {
        let down = if crowded && k % 2 == 1 { 14.0 } else { 0.0 };
        svg.text(LEFT + (k as f64 + 0.5) * slot, floor + 17.0 + down, Anchor::Middle, range);
    }
    let below = floor + if crowded { 14.0 } else { 0.0 };
    svg.text(
        LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
        below + 35.0,
        Anchor::Middle,
        section.axis.as_deref().unwrap_or("Training range"),
    );
    let names: Vec<(usize, &str)> = models.iter().map(|&m| (m, experiment.models[m].as_str())).collect();
    let end = svg.legend(&names, LEFT, below + 60.0);
    svg.finish(end + 12.0)
}

fn panel(
    svg: &mut Svg,
    metric: &Metric,
    top: f64,
    slot: f64,
    models: &[usize],
    ranges: &[String],
    cells: &[&Cell],
    style: Style,
) {
    let values = cells.iter().flat_map(|cell| {
        let e = cell.get(metric.name);
        [e.mean, e.lower, e.upper].into_iter().flatten()
    });
    let (title, logarithmic) = metric.panel.unwrap_or_default();
    let y = match logarithmic {
        true => Axis::logarithmic(values, top + PANEL, top),
        false => Axis::linear(0.0, 1.0, top + PANEL, top),
    };
    svg.bold(LEFT, top - 10.0, title);
    for (tick, text) in y.ticks() {
        svg.stroke(&format!("M{LEFT} {:.1}H{}", y.at(tick), WIDTH - RIGHT), "#dddddd", 1.0);
        svg.text(LEFT - 6.0, y.at(tick) + 4.0, Anchor::End, &text);
    }
    for k in 1..ranges.len() {
        svg.stroke(&format!("M{:.1} {top}v{PANEL}", LEFT + k as f64 * slot), "#eeeeee", 1.0);
    }
    let width = 0.84 * slot / models.len() as f64;
    for cell in cells {
        let (Some(range), Some(place)) =
            (ranges.iter().position(|r| *r == cell.place), models.iter().position(|m| *m == cell.model))
        else {
            continue;
        };
        let estimate = cell.get(metric.name);
        let Some(mean) = estimate.mean else { continue };
        let x = LEFT + slot * (range as f64 + 0.08) + (place as f64 + 0.5) * width;
        let hint = format!("{}, {}: {mean:.4} (n = {})", cell.label, cell.place, cell.n);
        if style == Style::Bars {
            let (low, high, half) = (y.at(0.0), y.at(mean), 0.42 * width);
            let d = format!("M{:.1} {low:.1}V{high:.1}h{:.1}V{low:.1}Z", x - half, 2.0 * half);
            svg.fill_lightly(&d, colour(cell.model));
        }
        if let (Some(lower), Some(upper)) = (estimate.lower, estimate.upper) {
            svg.stroke(&format!("M{x:.1} {:.1}V{:.1}", y.at(lower), y.at(upper)), colour(cell.model), 1.5);
        }
        svg.mark(cell.model, x, y.at(mean), &hint);
    }
    svg.stroke(&format!("M{LEFT} {top}v{PANEL}H{}", WIDTH - RIGHT), "#333333", 1.0);
}
