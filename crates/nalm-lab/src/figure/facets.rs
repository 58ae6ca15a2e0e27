//! The figure of the papers: success rate, solved-at and sparsity error over the training ranges, with interval bars.

use super::slots::{LEFT, Slots, WIDTH, bar};
use super::svg::{Anchor, Svg, colour, text_width};
use super::{Figure, columns, estimates, record};
use crate::experiment::Section;
use crate::summary::{Cell, Metric, Results, of_section};

/// One figure for each section that has cells; success rates are bars or points.
pub(super) fn draw(results: &Results<'_>, bars: bool) -> Vec<Figure> {
    let of = |k: usize| results.cells.iter().filter(|cell| cell.section == k).collect::<Vec<_>>();
    let sections = results.experiment.sections.iter().enumerate().map(|(k, section)| (section, of(k)));
    let drawn = sections.filter(|(_, cells)| !cells.is_empty());
    drawn.map(|(section, cells)| section_figure(results, section, &cells, bars)).collect()
}

fn data(metrics: &[Metric], cells: &[&Cell]) -> Vec<Vec<String>> {
    let names = || metrics.iter().filter(|metric| metric.csv).map(|metric| metric.name);
    let row = |c: &&Cell| estimates(record(&[&c.label, &c.place, &c.n, &c.solved]), names().map(|name| c.get(name)));
    let head = columns(record(&[&"model", &"range", &"n", &"solved"]), names());
    [head].into_iter().chain(cells.iter().map(row)).collect()
}

fn section_figure(results: &Results<'_>, section: &Section, cells: &[&Cell], bars: bool) -> Figure {
    let (experiment, ranges) = (results.experiment, &section.places);
    let words = section.name.to_lowercase();
    let words: Vec<&str> = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let suffix = if words.is_empty() { "-facets".into() } else { format!("-{}", words.join("-")) };
    let svg = Svg::new(&format!("{}{}", experiment.title, of_section(section)), WIDTH);
    let mut models: Vec<usize> = cells.iter().map(|cell| cell.model).collect();
    models.dedup();
    let mut slots = Slots { svg, count: ranges.len(), marks: models.len(), margin: 0.08, high: 160.0, gap: 38.0 };
    let panels: Vec<_> = results.metrics.iter().filter_map(|metric| Some((metric.name, metric.panel?))).collect();
    for (k, &(metric, (title, logarithmic))) in panels.iter().enumerate() {
        let y = slots.axis(k, logarithmic, cells.iter().map(|cell| cell.get(metric)));
        slots.head(title, 10.0, &y);
        for range in 1..ranges.len() {
            let x = LEFT + range as f64 * slots.slot();
            slots.svg.stroke(&format!("M{x:.1} {}v{}", y.end, slots.high), "#eeeeee", 1.0);
        }
        for cell in cells {
            let range = ranges.iter().position(|range| *range == cell.place);
            let place = models.iter().position(|model| *model == cell.model);
            let (Some(range), Some(place), Some(mean)) = (range, place, cell.get(metric).mean) else { continue };
            let x = slots.x(range, place);
            if bars && k == 0 {
                let half = 0.42 * slots.wide();
                slots.svg.fill_lightly(&bar(x - half, 2.0 * half, y.at(0.0), y.at(mean)), colour(cell.model), 0.45);
            }
            let hint = format!("{}, {}: {mean:.4} (n = {})", cell.label, cell.place, cell.n);
            slots.estimate(cell.model, x, &y, cell.get(metric), 1.5, &hint);
        }
        slots.edges(&y);
    }
    // Long names that would touch their neighbours take turns on two lines.
    let crowded = ranges.iter().any(|range| text_width(range) + 6.0 > slots.slot());
    let down = if crowded { 14.0 } else { 0.0 };
    let below = slots.labels(panels.len(), ranges, down) + down;
    let axis = section.axis.as_deref().unwrap_or("Training range");
    slots.svg.text(454.0, below + 35.0, Anchor::Middle, axis);
    let names: Vec<_> = models.iter().map(|&m| (m, experiment.models[m].as_str())).collect();
    let end = slots.svg.legend(&names, (LEFT, below + 60.0));
    Figure::new(&suffix, slots.svg, end + 12.0, data(results.metrics, cells))
}
