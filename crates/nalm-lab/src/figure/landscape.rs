//! The loss over two weights: of one sample in three dimensions, as the paper draws it, and the mean over all samples for the NMU and
//! for the sNMU, where its noise is averaged, too.

use super::contour::Grid;
use super::svg::{Anchor, Axis, Svg, polyline};
use super::{Figure, record};

const PANEL: f64 = 250.0;
/// The paper's part of the plane.
const W1: (f64, f64) = (-1.0, 1.0);
const W2: (f64, f64) = (-1.0, 1.1);
/// Inputs of the mean losses.
const LOW: f64 = -2.0;
const HIGH: f64 = -1.0;
/// The noise of the sNMU.
const NOISE: (f64, f64) = (1.0, 5.0);

/// The loss of the one sample (-2, -1.8).
fn one_sample(w1: f64, w2: f64) -> f64 {
    (3.6 - (1.0 - 3.0 * w1) * (1.0 - 2.8 * w2)).powi(2)
}

/// The mean loss over inputs from U[LOW, HIGH), given first and second moments of what the noise makes of each weight.
fn mean_loss(a: [f64; 2], b: [f64; 2]) -> f64 {
    let mean = 0.5 * (LOW + HIGH);
    let square = (HIGH.powi(3) - LOW.powi(3)) / (3.0 * (HIGH - LOW));
    // A factor is f = 1 + w (x - 1); the two are independent, so E(x1 x2 - f1 f2)^2 needs E[x f] and E[f^2] only.
    let cross = |[w, _]: [f64; 2]| mean + w * (square - mean);
    let own = |[w, ww]: [f64; 2]| 1.0 + 2.0 * w * (mean - 1.0) + ww * (square - 2.0 * mean + 1.0);
    square * square - 2.0 * cross(a) * cross(b) + own(a) * own(b)
}

/// Mean and mean square of n w / (1 + (n - 1) w) over the noise, by Simpson's rule.
fn moments(w: f64) -> [f64; 2] {
    let pieces = 64;
    let mut sums = [0.0; 2];
    for k in 0..=pieces {
        let n = NOISE.0 + (NOISE.1 - NOISE.0) * f64::from(k) / f64::from(pieces);
        let weight = if k == 0 || k == pieces { 1.0 } else { 2.0 + 2.0 * f64::from(k % 2) };
        let moved = n * w / (1.0 + (n - 1.0) * w);
        sums[0] += weight * moved / (3.0 * f64::from(pieces));
        sums[1] += weight * moved * moved / (3.0 * f64::from(pieces));
    }
    sums
}

fn nmu(w1: f64, w2: f64) -> f64 {
    mean_loss([w1, w1 * w1], [w2, w2 * w2])
}

fn snmu(w1: f64, w2: f64) -> f64 {
    mean_loss(moments(w1), moments(w2))
}

pub(super) fn draw() -> Figure {
    let caption = "Loss of one sample, -2 times -1.8 (blue: the product, red: another zero, black: where clamped weights stop); mean \
                   losses over U[-2,-1) with their minima in the box of the weights";
    let mut svg = Svg::new(caption, 10.0 + 2.0 * (PANEL + 66.0) + 24.0);
    let mut data = vec![record(&[&"panel", &"w1", &"w2", &"loss"])];
    three_dimensional(&mut svg, &mut data);
    for (k, (title, f)) in
        [("NMU, mean", nmu as fn(f64, f64) -> f64), ("sNMU U[1,5], mean", snmu)].into_iter().enumerate()
    {
        box_panel(&mut svg, &mut data, title, f, 60.0 + k as f64 * (PANEL + 66.0), 512.0);
    }
    Figure { suffix: "-landscape".into(), caption: caption.into(), svg: svg.finish(512.0 + PANEL + 76.0), data }
}

/// The angle under which the surface is seen.
const TURN: f64 = 0.62;

/// How far away a point is.
fn depth(w1: f64, w2: f64) -> f64 {
    -(TURN.sin() * w1 + TURN.cos() * w2)
}

/// From weights and loss to the drawing, seen from above and aside.
fn project(w1: f64, w2: f64, loss: f64) -> (f64, f64) {
    // From behind (1, 1), where the loss is low and hides nothing.
    (332.0 - 160.0 * (TURN.cos() * w1 - TURN.sin() * w2), 290.0 - 62.0 * depth(w1, w2) - 1.25 * loss)
}

/// The loss at which the surface is cut, so that its valley shows.
const CUT: f64 = 140.0;

fn three_dimensional(svg: &mut Svg, data: &mut Vec<Vec<String>>) {
    let (columns, rows) = (41, 43);
    let grid = Grid::new(columns, rows, W1, W2, one_sample);
    let weight = |i: f64, j: f64| {
        (W1.0 + (W1.1 - W1.0) * i / (columns - 1) as f64, W2.0 + (W2.1 - W2.0) * j / (rows - 1) as f64)
    };
    svg.bold(60.0, 22.0, "One sample: (3.6 - (1 - 3 w1)(1 - 2.8 w2))²");
    // The floor, with the twenty contours that lie on it.
    let floor = |i: f64, j: f64| {
        let (w1, w2) = weight(i, j);
        let (x, y) = project(w1, w2, 0.0);
        (x, y + 70.0)
    };
    let (last_i, last_j) = ((columns - 1) as f64, (rows - 1) as f64);
    let edge = [(0.0, 0.0), (last_i, 0.0), (last_i, last_j), (0.0, last_j)].map(|(i, j)| floor(i, j));
    svg.fill(&format!("{}Z", polyline(&edge)), "#f4f4f4");
    let fine = Grid::new(161, 169, W1, W2, one_sample);
    for k in 1..=20 {
        // Closer together where the loss is small.
        let level = CUT * (f64::from(k) / 20.0).powi(2);
        let d = fine.contour(level, |i, j| floor(i / 160.0 * last_i, j / 168.0 * last_j));
        svg.stroke(&d, &shade(level / CUT), 0.8);
    }
    // Back to front.
    let mut quads: Vec<(f64, usize, usize)> = Vec::new();
    for j in 0..rows - 1 {
        for i in 0..columns - 1 {
            let (w1, w2) = weight(i as f64 + 0.5, j as f64 + 0.5);
            quads.push((depth(w1, w2), i, j));
        }
    }
    quads.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, i, j) in quads {
        let corner = |i: usize, j: usize| {
            let (w1, w2) = weight(i as f64, j as f64);
            project(w1, w2, grid.at(i, j).min(CUT))
        };
        let d = polyline(&[corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)]);
        let height = 0.25 * (grid.at(i, j) + grid.at(i + 1, j) + grid.at(i + 1, j + 1) + grid.at(i, j + 1));
        let colour = shade(height / CUT);
        svg.put(format!("<path d=\"{d}Z\" fill=\"{colour}\" stroke=\"white\" stroke-width=\"0.25\"/>"));
    }
    for (w1, w2, colour, label) in [
        (1.0, 1.0, "#0000ff", "(1, 1)"),
        (-1.0 / 6.0, -0.5, "#ff0000", "(-1/6, -1/2)"),
        (0.0, 0.0, "#000000", "(0, 0)"),
    ] {
        let (x, y) = project(w1, w2, one_sample(w1, w2));
        svg.cross(x, y, 5.0, colour);
        svg.text(x + 10.0, y + 4.0, Anchor::Start, label);
    }
    for (w1, w2, anchor, text) in [
        (0.0, W2.1, Anchor::End, "w1"),
        (W1.1, 0.0, Anchor::Start, "w2"),
        (W1.0, W2.1, Anchor::Middle, "(-1, 1.1)"),
        (W1.1, W2.0, Anchor::Middle, "(1, -1)"),
        (W1.1, W2.1, Anchor::Middle, "(1, 1.1)"),
    ] {
        let (x, y) = project(w1, w2, 0.0);
        svg.text(x, y + 88.0, anchor, text);
    }
    for (i, j) in (0..rows).step_by(2).flat_map(|j| (0..columns).step_by(2).map(move |i| (i, j))) {
        let (w1, w2) = weight(i as f64, j as f64);
        data.push(record(&[&"one sample", &w1, &w2, &grid.at(i, j)]));
    }
}

fn box_panel(svg: &mut Svg, data: &mut Vec<Vec<String>>, title: &str, loss: fn(f64, f64) -> f64, left: f64, top: f64) {
    let side = 101;
    let grid = Grid::new(side, side, (0.0, 1.0), (0.0, 1.0), loss);
    let (x, y) = (Axis::linear(0.0, 1.0, left, left + PANEL), Axis::linear(0.0, 1.0, top + PANEL, top));
    let place = |i: f64, j: f64| (x.at(i / (side - 1) as f64), y.at(j / (side - 1) as f64));
    let (low, high) = grid.range();
    for k in 0..20 {
        let t = (f64::from(k) + 0.5) / 20.0;
        let level = low + (high - low) * t * t;
        svg.stroke(&grid.contour(level, place), &shade(t * t), 1.0);
    }
    let minima = grid.minima();
    for &(i, j) in &minima {
        let (px, py) = place(i as f64, j as f64);
        svg.cross(px, py, 5.0, "#000000");
        let (w1, w2) = (i as f64 / (side - 1) as f64, j as f64 / (side - 1) as f64);
        let text = format!("({w1:.2}, {w2:.2}): {:.2}", grid.at(i, j).abs());
        let (anchor, dx) = if w1 > 0.5 { (Anchor::End, -10.0) } else { (Anchor::Start, 10.0) };
        svg.text(px + dx, py + if w2 > 0.5 { 16.0 } else { -10.0 }, anchor, &text);
    }
    for j in (0..side).step_by(5) {
        for i in (0..side).step_by(5) {
            let at = |k: usize| k as f64 / (side - 1) as f64;
            data.push(record(&[&title, &at(i), &at(j), &grid.at(i, j)]));
        }
    }
    let count = if minima.len() == 1 { "1 minimum".into() } else { format!("{} minima", minima.len()) };
    svg.bold(left, top - 8.0, &format!("{title}: {count}"));
    svg.frame(&x, &y, "w1", "w2");
}

/// From light to dark with the height, legible without colour.
fn shade(t: f64) -> String {
    let t = t.clamp(0.0, 1.0).sqrt();
    let mix = |a: f64, b: f64| (a + (b - a) * t).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(158.0, 8.0), mix(202.0, 48.0), mix(225.0, 107.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marked_points_are_where_the_paper_says() {
        assert!(one_sample(1.0, 1.0) < 1e-20 && one_sample(-1.0 / 6.0, -0.5) < 1e-20);
        assert!((one_sample(0.0, 0.0) - 2.6f64.powi(2)).abs() < 1e-12);
    }

    /// Against sums over many samples and noises.
    #[test]
    fn mean_losses_are_means() {
        let (side, noises) = (40, 20);
        let at = |k: usize, n: usize, low: f64, high: f64| low + (high - low) * (k as f64 + 0.5) / n as f64;
        for (w1, w2) in [(0.3, 0.6), (0.9, 0.2)] {
            let (mut plain, mut noisy, mut count) = (0.0, 0.0, 0.0);
            for (i, j) in (0..side * side).map(|k| (k / side, k % side)) {
                let (x1, x2) = (at(i, side, LOW, HIGH), at(j, side, LOW, HIGH));
                let f = |w: f64, x: f64| 1.0 + w * (x - 1.0);
                plain += (x1 * x2 - f(w1, x1) * f(w2, x2)).powi(2);
                for (a, b) in (0..noises * noises).map(|k| (k / noises, k % noises)) {
                    let moved = |w: f64, n: f64| n * w / (1.0 + (n - 1.0) * w);
                    let u1 = moved(w1, at(a, noises, NOISE.0, NOISE.1));
                    let u2 = moved(w2, at(b, noises, NOISE.0, NOISE.1));
                    noisy += (x1 * x2 - f(u1, x1) * f(u2, x2)).powi(2);
                    count += 1.0;
                }
            }
            let cells = (side * side) as f64;
            assert!((nmu(w1, w2) / (plain / cells) - 1.0).abs() < 2e-3);
            assert!((snmu(w1, w2) / (noisy / count) - 1.0).abs() < 2e-3);
        }
    }
}
