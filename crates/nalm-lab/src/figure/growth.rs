//! How the time of a training step grows: one panel for each thing that grows, one line a network.

use super::grid::Grid;
use super::style;
use super::svg::{Axis, Paper, Svg};
use super::{Figure, record};

/// Measured times of one network.
pub struct Line {
    /// What grows.
    pub what: &'static str,
    /// What was trained.
    pub network: &'static str,
    /// How large it was, and the nanoseconds of a step.
    pub points: Vec<(f64, f64)>,
}

/// Draws measured times, and keeps the numbers.
pub fn draw(lines: &[Line], paper: Paper) -> Figure {
    let mut panels: Vec<&str> = lines.iter().map(|line| line.what).collect();
    let mut networks: Vec<&str> = lines.iter().map(|line| line.network).collect();
    panels.dedup();
    networks.sort_unstable();
    networks.dedup();
    let styles = style::of(&networks);
    let grid = Grid::new(paper, 2, 68.0, (paper.choose(330.0, 300.0), 200.0), 74.0);
    let mut svg = Svg::new("Time of a training step over batch size, inputs, layers and threads", grid.width);
    let mut data = vec![record(&[&"what", &"network", &"size", &"nanoseconds"])];
    let micros = |(_, ns): &(f64, f64)| ns / 1e3;
    for (k, what) in panels.iter().enumerate() {
        let own = || lines.iter().filter(|line| line.what == *what);
        let (left, top) = grid.place(k);
        let x = Axis::logarithmic(own().flat_map(|line| &line.points).map(|p| p.0), left, left + grid.size.0);
        let y = Axis::logarithmic(lines.iter().flat_map(|line| &line.points).map(micros), top + grid.size.1, top);
        for line in own() {
            let style = styles[networks.iter().position(|name| *name == line.network).unwrap_or(0)];
            let drawn: Vec<_> = line.points.iter().map(|p| (x.at(p.0), y.at(micros(p)))).collect();
            svg.polyline(&drawn, &style.colour(), 1.5);
            for (&(px, py), (size, ns)) in drawn.iter().zip(&line.points) {
                svg.mark(style, px, py, &format!("{}: {:.3} µs", line.network, ns / 1e3));
                data.push(record(&[what, &line.network, size, &ns.round()]));
            }
        }
        svg.panel(&format!("over {what}"), &x, &y, what, "µs a step");
    }
    let names: Vec<_> = styles.iter().copied().zip(networks.iter().copied()).collect();
    let end = svg.legend_of_lines(&names, (grid.corner.0, grid.height(panels.len()) + 4.0));
    Figure::new("-growth", svg, end + 14.0, data)
}
