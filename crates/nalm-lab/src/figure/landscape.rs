//! The loss over two weights: of one sample in three dimensions, as the paper draws it, and the mean over all samples for the NMU and
//! for the sNMU, where its noise is averaged, too.

use super::contour::Heights;
use super::grid::Grid;
use super::svg::{Anchor, Axis, Paper, Svg, mix, polyline, square};
use super::{Figure, record};
use crate::run::Spec;
use crate::summary::landscape::{nmu, one_sample, snmu};

/// Ink and areas, which change with the paper.
const INK: &str = "#000000";
const LIGHT: &str = "#f7f9fb";
/// Text and marks that can be read on the surface, which is the same on black paper.
const ON_SURFACE: &str = "#111111";
const SURFACE_HALO: &str = " fill=\"#111111\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"";
/// Text that can be read on any ground.
const HALO: &str = " fill=\"#000000\" stroke=\"#f7f9fb\" stroke-width=\"3\" paint-order=\"stroke\"";
/// The paper's part of the plane.
const W1: (f64, f64) = (-1.0, 1.0);
const W2: (f64, f64) = (-1.0, 1.1);

pub(super) type Loss = fn(f64, f64) -> f64;

pub(super) fn draw(paper: Paper) -> Figure {
    let caption = "Loss of one sample, -2 times -1.8 (blue: the product, red: another zero, (0, 0): where clamped weights stop); mean \
                   losses over U[-2,-1) with their minima in the box of the weights";
    let side = paper.choose(330.0, 310.0);
    let boxes = Grid::new(paper, 2, 60.0, (side, side), 66.0);
    let view =
        View { centre: 0.5 * boxes.width + paper.choose(0.0, 4.0), scale: boxes.width / paper.choose(700.0, 600.0) };
    let boxes = Grid { corner: (60.0, 486.0 * view.scale + 42.0), ..boxes };
    let mut svg = Svg::new(caption, boxes.width);
    let mut data = vec![record(&[&"panel", &"w1", &"w2", &"loss"])];
    three_dimensional(&mut svg, &mut data, &view);
    let losses: [(&str, Loss); 2] = [("NMU, mean", nmu), ("sNMU U[1,5], mean", snmu)];
    for (k, (title, loss)) in losses.into_iter().enumerate() {
        // Minima in the corners of the box need some room around it.
        let (x, y) = boxes.axes(k, (-0.05, 1.05), (-0.05, 1.05));
        box_panel(&mut svg, &mut data, title, loss, &x, &y);
    }
    Figure::new("-landscape", svg, boxes.bottom(2), data)
}

/// The angle under which the surface is seen.
const TURN: f64 = 0.62;

/// How far away a point is.
fn depth((w1, w2): (f64, f64)) -> f64 {
    -(libm::sin(TURN) * w1 + libm::cos(TURN) * w2)
}

/// Where the surface is in the drawing, and how large.
struct View {
    centre: f64,
    scale: f64,
}

impl View {
    /// From weights and loss to the drawing, seen from above and aside.
    fn project(&self, weights: (f64, f64), loss: f64) -> (f64, f64) {
        let (w1, w2) = weights;
        // From behind (1, 1), where the loss is low and hides nothing.
        let (x, y) =
            (160.0 * (libm::cos(TURN) * w1 - libm::sin(TURN) * w2), 264.0 - 62.0 * depth(weights) - 1.25 * loss);
        (self.centre - self.scale * x, 26.0 + self.scale * y)
    }
}

/// The loss at which the surface is cut, so that its valley shows.
const CUT: f64 = 140.0;

fn three_dimensional(svg: &mut Svg, data: &mut Vec<Vec<String>>, view: &View) {
    let (columns, rows) = (41, 43);
    let grid = Heights::new(columns, rows, W1, W2, one_sample);
    svg.bold(16.0, 22.0, "One sample: (3.6 - (1 - 3 w1)(1 - 2.8 w2))²");
    // The floor, with the twenty contours that lie on it.
    let floor = |weights: (f64, f64)| {
        let (x, y) = view.project(weights, 0.0);
        (x, y + 70.0 * view.scale)
    };
    let edge = [(W1.0, W2.0), (W1.1, W2.0), (W1.1, W2.1), (W1.0, W2.1)].map(floor);
    svg.fill(&format!("{}Z", polyline(&edge)), LIGHT);
    let fine = Heights::new(161, 169, W1, W2, one_sample);
    for k in 1..=20 {
        // Closer together where the loss is small.
        let part = f64::from(k) / 20.0;
        let level = CUT * (part * part);
        let d = fine.contour(level, |w1, w2| floor((w1, w2)));
        svg.stroke_on_both(&d, shades(level / CUT), 0.8);
    }
    // Back to front.
    let far = |&(i, j): &(usize, usize)| depth(grid.place(i as f64 + 0.5, j as f64 + 0.5));
    let mut quads: Vec<_> = grid.every(1).filter(|(i, j)| *i < columns - 1 && *j < rows - 1).collect();
    quads.sort_by(|a, b| far(b).total_cmp(&far(a)));
    for (i, j) in quads {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        let d = polyline(&corners.map(|(i, j)| view.project(grid.place(i as f64, j as f64), grid.at(i, j).min(CUT))));
        let height = 0.25 * corners.map(|(i, j)| grid.at(i, j)).iter().sum::<f64>();
        let colour = shade(height / CUT);
        svg.put(format!("<path d=\"{d}Z\" fill=\"{colour}\" stroke=\"white\" stroke-width=\"0.25\"/>"));
    }
    for (w1, w2, colour, label) in [
        (1.0, 1.0, "#0000ff", "(1, 1)"),
        (-1.0 / 6.0, -0.5, "#ff0000", "(-1/6, -1/2)"),
        (0.0, 0.0, ON_SURFACE, "(0, 0)"),
    ] {
        let (x, y) = view.project((w1, w2), one_sample(w1, w2));
        svg.cross_on_white(x, y, 5.0, colour);
        svg.styled_text(x + 10.0, y + 4.0, Anchor::Start, SURFACE_HALO, label);
    }
    for (w1, w2, anchor, text) in [
        (0.0, W2.1, Anchor::End, "w1"),
        (W1.1, 0.0, Anchor::Start, "w2"),
        (W1.0, W2.1, Anchor::Middle, "(-1, 1.1)"),
        (W1.1, W2.0, Anchor::Middle, "(1, -1)"),
        (W1.1, W2.1, Anchor::Middle, "(1, 1.1)"),
    ] {
        let (x, y) = view.project((w1, w2), 0.0);
        svg.text(x, y + 70.0 * view.scale + 18.0, anchor, text);
    }
    data.extend(grid.records("one sample", 2));
}

fn box_panel(svg: &mut Svg, data: &mut Vec<Vec<String>>, title: &str, loss: Loss, x: &Axis, y: &Axis) {
    let grid = Heights::new(101, 101, (0.0, 1.0), (0.0, 1.0), loss);
    let (low, high) = grid.range();
    svg.fill(&square(x, y, 0.0, 1.0), LIGHT);
    for k in 0..20 {
        let t = (f64::from(k) + 0.5) / 20.0;
        let d = grid.contour(low + (high - low) * t * t, |w1, w2| (x.at(w1), y.at(w2)));
        svg.stroke_on_both(&d, shades(t * t), 1.0);
    }
    let minima = grid.minima();
    for &(i, j) in &minima {
        let (w1, w2) = grid.place(i as f64, j as f64);
        svg.cross(x.at(w1), y.at(w2), 5.0, INK);
        let text = format!("({w1:.2}, {w2:.2}): {:.2}", grid.at(i, j).abs());
        let (anchor, dx) = if w1 > 0.5 { (Anchor::End, -10.0) } else { (Anchor::Start, 10.0) };
        svg.styled_text(x.at(w1) + dx, y.at(w2) + if w2 > 0.5 { 16.0 } else { -10.0 }, anchor, HALO, &text);
    }
    data.extend(grid.records(title, 5));
    let count = if minima.len() == 1 { "1 minimum".into() } else { format!("{} minima", minima.len()) };
    svg.panel(&format!("{title}: {count}"), x, y, "w1", "w2");
}

/// From light to dark with the height, legible without colour.
fn shade(t: f64) -> String {
    mix([158.0, 202.0, 225.0], [8.0, 48.0, 107.0], t.clamp(0.0, 1.0).sqrt())
}

/// The same for lines on white paper; from dark to light on black paper.
fn shades(t: f64) -> (String, String) {
    (shade(t), mix([52.0, 94.0, 140.0], [198.0, 219.0, 239.0], t.clamp(0.0, 1.0).sqrt()))
}

/// The mean loss that a run goes down, where it is known: that of two units on one range.
pub(super) fn loss_of(run: &Spec) -> Option<Loss> {
    let is_it = run.task() == "single-module" && run.text("range") == "U[-2,-1)" && run.text("operation") == "mul";
    // Two weights, and nothing chosen of the unit.
    let usual = ["noise", "denoiser"].iter().all(|key| run.get(key).is_none());
    match run.module() {
        "nmu" if is_it && usual => Some(nmu),
        "snmu" if is_it && usual => Some(snmu),
        _ => None,
    }
}

/// Thin lines of equal loss, to draw on.
pub(super) fn contours(svg: &mut Svg, loss: Loss, x: &Axis, y: &Axis) {
    let grid = Heights::new(61, 61, (0.0, 1.0), (0.0, 1.0), loss);
    let (low, high) = grid.range();
    for k in 0..12 {
        let t = (f64::from(k) + 0.5) / 12.0;
        let d = grid.contour(low + (high - low) * t * t, |w1, w2| (x.at(w1), y.at(w2)));
        svg.stroke(&d, "#bbbbbb", 0.7);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On black paper, areas are dark, and lines and marks light; nothing stays as it was but the surface and its marks, which have white around them.
    #[test]
    fn the_landscape_has_its_counterpart_on_black_paper() {
        let svg = draw(Paper::Page).svg;
        let (style, body) = svg.split_once("</style>").unwrap();
        for area in [LIGHT, INK] {
            assert!(style.contains(&format!("[fill=\"{area}\"]")) && style.contains(&format!("[stroke=\"{area}\"]")));
        }
        let strokes = body.split("stroke=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let known = ["white", "#ffffff", "#0000ff", "#ff0000", ON_SURFACE];
        for mark in ["#0000ff", "#ff0000", ON_SURFACE] {
            let at = body.find(&format!("stroke=\"{mark}\"")).unwrap();
            let own = body[..at].rfind("d=\"").unwrap();
            let d = body[own..at].split('"').nth(1).unwrap();
            assert_eq!(body.matches(d).count(), 2, "{mark} has white around it");
            assert!(!style.contains(&format!("[stroke=\"{mark}\"]")));
        }
        assert!(!style.contains("[fill=\"#111111\"]") && body.contains(SURFACE_HALO));
        for colour in strokes.filter(|colour| !known.contains(colour)) {
            assert!(style.contains(&format!("[stroke=\"{colour}\"]")), "{colour}");
        }
    }

    /// Minima in the corners of the box are marked within the frame.
    #[test]
    fn marks_lie_within_the_frame() {
        for paper in [Paper::Page, Paper::Phone] {
            let svg = draw(paper).svg;
            let paths: Vec<&str> =
                svg.split("<path d=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
            let numbers = |d: &str| -> Vec<f64> {
                let d = d.split('"').next().unwrap();
                d.split(|c: char| c.is_ascii_alphabetic() || c == ' ').filter_map(|part| part.parse().ok()).collect()
            };
            // Left, bottom, top, right; letters in the order in which a frame is drawn.
            let letters = |d: &str| d.chars().filter(char::is_ascii_alphabetic).collect::<String>();
            let frames: Vec<Vec<f64>> = paths.iter().filter(|d| letters(d) == "MVHVZ").map(|d| numbers(d)).collect();
            // Half a cross is 5 long, and a line 2 wide.
            let crosses = svg.split("<path d=\"").filter(|path| path.contains("l10 10m0 -10l-10 10"));
            let minima: Vec<Vec<f64>> = crosses.filter(|path| path.contains(INK)).map(numbers).collect();
            assert!(frames.len() == 2 && minima.len() >= 3, "{frames:?} {minima:?}");
            for cross in &minima {
                let (x, y) = (cross[0], cross[1]);
                let within = |f: &&Vec<f64>| x - 1.0 >= f[0] && x + 11.0 <= f[3] && y + 11.0 <= f[1] && y - 1.0 >= f[2];
                assert_eq!(frames.iter().filter(within).count(), 1, "{cross:?} {frames:?}");
            }
        }
    }
}
