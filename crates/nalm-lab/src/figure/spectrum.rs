//! Eigenvalues of the Gauss-Newton matrix of the arithmetic task at its solution, range by range.

use super::style::Style;
use super::svg::{Axis, Paper, Svg};
use super::{Figure, record};
use crate::summary::spectrum::{Direction, spectrum};
use nalm::task::PAPER_RANGES;

/// What rounding leaves of a zero.
const FLOOR: f64 = 1e-16;

pub(super) fn draw(paper: Paper) -> Option<Figure> {
    let spectra = PAPER_RANGES.iter().map(|(train, test)| Some((*train, spectrum(train, test).ok()?)));
    let spectra: Vec<(&str, Vec<Direction>)> = spectra.collect::<Option<_>>()?;
    let caption = "Eigenvalues of the Gauss-Newton matrix at the solution (first panel, over the largest), and each direction's \
                   share in moving weight from one sum to the other (second panel)";
    let mut svg = Svg::new(caption, paper.width());
    let most = spectra.iter().map(|(_, all)| all.len()).max().unwrap_or(1) as f64;
    // Side by side, or one below the other.
    let (right, left2, right2, down) = paper.choose((450.0, 520.0, 840.0, 0.0), (385.0, 68.0, 385.0, 370.0));
    let x = Axis::linear(1.0, most, 68.0, right);
    let y = Axis::logarithmic([FLOOR, 1.0].into_iter(), 330.0, 30.0);
    let (x2, y2) = (Axis::linear(1.0, most, left2, right2), Axis::linear(0.0, 1.0, 330.0 + down, 30.0 + down));
    let mut data = vec![record(&[&"range", &"direction", &"eigenvalue", &"exchange"])];
    for (k, (range, all)) in spectra.iter().enumerate() {
        let style = Style::series(k);
        let place = |i: usize| (i + 1) as f64;
        let values: Vec<(f64, f64)> =
            all.iter().enumerate().map(|(i, d)| (x.at(place(i)), y.at(d.value.max(FLOOR)))).collect();
        svg.polyline(&values, &style.colour(), 1.5);
        // Averaged over a few neighbours: single directions mix by chance.
        let mean = |few: &[Direction]| few.iter().map(|d| d.exchange).sum::<f64>() / few.len() as f64;
        let shares = all.windows(9).enumerate().map(|(i, few)| (x2.at(place(i + 4)), y2.at(mean(few))));
        svg.marked_line(style, &shares.collect::<Vec<_>>(), 1.5, 3, range);
        for at in [0, all.len() / 4, all.len() / 2, 3 * all.len() / 4] {
            svg.mark(style, values[at].0, values[at].1, range);
        }
        data.extend(all.iter().enumerate().map(|(i, d)| record(&[range, &(i + 1), &d.value, &d.exchange])));
    }
    svg.frame(&x, &y, "direction, largest first", "eigenvalue over the largest");
    svg.frame(&x2, &y2, "direction, largest first", "share of exchange");
    let names: Vec<_> = spectra.iter().enumerate().map(|(k, (range, _))| (Style::series(k), *range)).collect();
    let end = svg.legend_of_lines(&names, (68.0, 392.0 + down));
    Some(Figure::new("-spectrum", svg, end + 12.0, data))
}
