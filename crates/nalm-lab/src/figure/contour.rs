//! Lines of equal height over a grid, by marching squares.

use super::record;
use std::fmt::Write;

/// Heights over a grid of evenly spaced numbers: `at(i, j)` is column i, row j.
pub(super) struct Heights {
    columns: usize,
    rows: usize,
    x: (f64, f64),
    y: (f64, f64),
    heights: Vec<f64>,
}

impl Heights {
    pub(super) fn new(columns: usize, rows: usize, x: (f64, f64), y: (f64, f64), f: impl Fn(f64, f64) -> f64) -> Self {
        let mut grid = Self { columns, rows, x, y, heights: Vec::new() };
        grid.heights = grid.every(1).map(|(i, j)| grid.place(i as f64, j as f64)).map(|(x, y)| f(x, y)).collect();
        grid
    }

    /// The numbers at a column and a row, or between such.
    pub(super) fn place(&self, i: f64, j: f64) -> (f64, f64) {
        let along = |(low, high): (f64, f64), k: f64, n: usize| low + (high - low) * k / (n - 1) as f64;
        (along(self.x, i, self.columns), along(self.y, j, self.rows))
    }

    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        self.heights[j * self.columns + i]
    }

    pub(super) fn range(&self) -> (f64, f64) {
        self.heights.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)))
    }

    /// Numbers and height of every so many grid points, as a figure's data.
    pub(super) fn records(&self, title: &str, step: usize) -> impl Iterator<Item = Vec<String>> {
        self.every(step).map(move |(i, j)| {
            let (x, y) = self.place(i as f64, j as f64);
            record(&[&title, &x, &y, &self.at(i, j)])
        })
    }

    /// Every so many grid points of each side, row by row.
    pub(super) fn every(&self, step: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (columns, rows) = (self.columns, self.rows);
        (0..rows).step_by(step).flat_map(move |j| (0..columns).step_by(step).map(move |i| (i, j)))
    }

    /// Grid points that are lower than all of their neighbours, the edges included; a plateau counts once, by its first point.
    pub(super) fn minima(&self) -> Vec<(usize, usize)> {
        let near = |k: usize, most: usize| k.saturating_sub(1)..=(k + 1).min(most - 1);
        let lowest = |&(i, j): &(usize, usize)| {
            let here = self.at(i, j);
            let mut around = near(j, self.rows).flat_map(|b| near(i, self.columns).map(move |a| (a, b)));
            around.all(|(a, b)| if (b, a) < (j, i) { self.at(a, b) > here } else { self.at(a, b) >= here })
        };
        self.every(1).filter(lowest).collect()
    }

    /// The path of one level; `place` maps numbers to the drawing.
    pub(super) fn contour(&self, level: f64, place: impl Fn(f64, f64) -> (f64, f64)) -> String {
        let mut d = String::new();
        for j in 0..self.rows - 1 {
            for i in 0..self.columns - 1 {
                let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
                let mut crossings = Vec::with_capacity(4);
                for k in 0..4 {
                    let ((a, b), (c, e)) = (corners[k], corners[(k + 1) % 4]);
                    let (u, v) = (self.at(a, b) - level, self.at(c, e) - level);
                    if (u < 0.0) != (v < 0.0) {
                        let t = u / (u - v);
                        let mix = |p: usize, q: usize| p as f64 + t * (q as f64 - p as f64);
                        let (x, y) = self.place(mix(a, c), mix(b, e));
                        crossings.push(place(x, y));
                    }
                }
                for pair in crossings.chunks_exact(2) {
                    let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
                    write!(d, "M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}").expect("a string takes everything");
                }
            }
        }
        d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minima_of_two_bowls_and_a_slope() {
        let bowls = Heights::new(21, 11, (-1.0, 1.0), (0.0, 1.0), |x, y| (x * x - 0.25).powi(2) + (y - 0.5).powi(2));
        assert_eq!(bowls.minima(), [(5, 5), (15, 5)]);
        let gradient = Heights::new(5, 5, (0.0, 1.0), (0.0, 1.0), |x, y| x + 2.0 * y);
        assert_eq!(gradient.minima(), [(0, 0)]);
    }

    #[test]
    fn a_contour_lies_where_the_height_is() {
        let grid = Heights::new(11, 11, (0.0, 10.0), (0.0, 10.0), |x, _| x);
        let d = grid.contour(2.5, |x, y| (x, y));
        assert!(d.starts_with("M2.5 0.0L2.5 1.0") && d.matches('M').count() == 10, "{d}");
    }
}
