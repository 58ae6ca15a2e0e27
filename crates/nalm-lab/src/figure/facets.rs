//! The figure of the papers: success rate, solved-at and sparsity error over the training ranges, with interval bars.

use super::{COLOURS, escape};
use crate::stats::Estimate;
use crate::summary::Cell;
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const PANEL: f64 = 170.0;
const GAP: f64 = 40.0;
const TOP: f64 = 28.0;

/// One of the three panels.
struct Facet {
    title: &'static str,
    value: fn(&Cell) -> Estimate,
    logarithmic: bool,
}

const FACETS: [Facet; 3] = [
    Facet { title: "Success rate", value: |cell| cell.success, logarithmic: false },
    Facet { title: "Solved at step", value: |cell| cell.solved_at, logarithmic: true },
    Facet { title: "Sparsity error", value: |cell| cell.sparsity, logarithmic: true },
];

/// Draws the cells of an experiment.
pub(crate) fn draw(title: &str, models: &[String], ranges: &[String], cells: &[Cell]) -> String {
    let rows_of_legend = models.len().div_ceil(4) as f64;
    let bottom = TOP + 3.0 * PANEL + 2.0 * GAP + 64.0;
    let height = bottom + 20.0 * rows_of_legend + 12.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{}</title>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n",
        escape(title)
    );
    for (k, facet) in FACETS.iter().enumerate() {
        panel(&mut svg, facet, TOP + k as f64 * (PANEL + GAP), models, ranges, cells);
    }
    let slot = (WIDTH - LEFT - RIGHT) / ranges.len() as f64;
    for (k, range) in ranges.iter().enumerate() {
        let (x, y) = (LEFT + (k as f64 + 0.5) * slot, TOP + 3.0 * PANEL + 2.0 * GAP + 18.0);
        put(&mut svg, &format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", escape(range)));
    }
    let y = TOP + 3.0 * PANEL + 2.0 * GAP + 38.0;
    put(
        &mut svg,
        &format!(
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"middle\">Training range</text>",
            LEFT + (WIDTH - LEFT - RIGHT) / 2.0
        ),
    );
    for (k, model) in models.iter().enumerate() {
        let (x, y) = (LEFT + (k % 4) as f64 * 205.0, bottom + 20.0 * (k / 4) as f64);
        put(
            &mut svg,
            &format!("<circle cx=\"{x}\" cy=\"{}\" r=\"4\" fill=\"{}\"/>", y - 4.0, COLOURS[k % COLOURS.len()]),
        );
        put(&mut svg, &format!("<text x=\"{}\" y=\"{y}\">{}</text>", x + 10.0, escape(model)));
    }
    svg.push_str("</svg>\n");
    svg
}

fn put(svg: &mut String, line: &str) {
    writeln!(svg, "{line}").expect("a string takes everything");
}

fn panel(svg: &mut String, facet: &Facet, top: f64, models: &[String], ranges: &[String], cells: &[Cell]) {
    let values: Vec<f64> = cells
        .iter()
        .flat_map(|cell| {
            let e = (facet.value)(cell);
            [e.mean, e.lower, e.upper]
        })
        .flatten()
        .filter(|v| !facet.logarithmic || *v > 0.0)
        .collect();
    let (low, high) = bounds(facet, &values);
    let scale = |v: f64| {
        let (v, low, high) =
            if facet.logarithmic { (v.max(1e-300).log10(), low.log10(), high.log10()) } else { (v, low, high) };
        top + PANEL - ((v - low) / (high - low)).clamp(0.0, 1.0) * PANEL
    };
    put(svg, &format!("<text x=\"{LEFT}\" y=\"{}\" font-weight=\"bold\">{}</text>", top - 10.0, facet.title));
    for tick in ticks(facet, low, high) {
        let y = scale(tick);
        let text = if facet.logarithmic { format!("{tick:.0e}") } else { format!("{tick:.2}") };
        put(svg, &format!("<path d=\"M{LEFT} {y:.1}H{}\" stroke=\"#dddddd\"/>", WIDTH - RIGHT));
        put(svg, &format!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", LEFT - 6.0, y + 4.0));
    }
    let slot = (WIDTH - LEFT - RIGHT) / ranges.len() as f64;
    for cell in cells {
        let Some(range) = ranges.iter().position(|r| *r == cell.range) else { continue };
        let estimate = (facet.value)(cell);
        let Some(mean) = estimate.mean else { continue };
        let x = LEFT + slot * (range as f64 + 0.1 + 0.8 * (cell.model as f64 + 0.5) / models.len() as f64);
        let colour = COLOURS[cell.model % COLOURS.len()];
        if let (Some(lower), Some(upper)) = (estimate.lower, estimate.upper) {
            let (a, b) = (scale(lower), scale(upper));
            put(svg, &format!("<path d=\"M{x:.1} {a:.1}V{b:.1}\" stroke=\"{colour}\" stroke-width=\"1.5\"/>"));
        }
        let hint = format!("{}, {}: {mean:.4} (n = {})", cell.label, cell.range, cell.n);
        put(
            svg,
            &format!(
                "<circle cx=\"{x:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"><title>{}</title></circle>",
                scale(mean),
                escape(&hint)
            ),
        );
    }
    put(
        svg,
        &format!("<path d=\"M{LEFT} {top}V{}H{}\" fill=\"none\" stroke=\"#333333\"/>", top + PANEL, WIDTH - RIGHT),
    );
}

fn bounds(facet: &Facet, values: &[f64]) -> (f64, f64) {
    if !facet.logarithmic {
        return (0.0, 1.0);
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    if !low.is_finite() || high <= 0.0 {
        return (1.0, 10.0);
    }
    let (low, high) = (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil()));
    (low, if high > low { high } else { low * 10.0 })
}

fn ticks(facet: &Facet, low: f64, high: f64) -> Vec<f64> {
    if !facet.logarithmic {
        return vec![0.0, 0.25, 0.5, 0.75, 1.0];
    }
    let (a, b) = (low.log10().round() as i32, high.log10().round() as i32);
    let every = ((b - a) / 5).max(1) as usize;
    (a..=b).step_by(every).map(|e| 10f64.powi(e)).collect()
}
