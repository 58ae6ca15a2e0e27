//! Diagrams of networks, drawn from the networks themselves: what flows in, what it flows through, what comes out.

#[cfg(feature = "images")]
mod images;
mod units;

use super::svg::{Anchor, Svg, rectangle, wrapped};
use crate::error::{Result, bail};
use crate::task::{Catalogue, Choices};

pub use units::of_network;

/// The drawing of a task's network, with the head or unit that it was published with.
pub fn of_task(catalogue: &Catalogue, name: &str) -> Result<String> {
    let task = catalogue.task(name)?;
    let title = format!("{}: {}", task.name(), task.summary());
    #[cfg(feature = "images")]
    if let Some(diagram) = images::diagram(catalogue, name, &title)? {
        return Ok(diagram.draw());
    }
    let choices = Choices { module: Some("snmu".into()), ..Choices::default() };
    let built = task.specify(catalogue, &choices).and_then(|spec| task.built(catalogue, &spec));
    match built {
        Ok(Some(built)) => of_network(catalogue, &title, &built.network),
        _ => bail!(
            "{name} has no network of its own; describe the module or stack that you train, such as 'nau 3->2, nmu'"
        ),
    }
}

/// Nodes in rows, and arrows from a row to the next.
#[derive(Default)]
struct Diagram {
    title: String,
    rows: Vec<Vec<Node>>,
    /// From a node of a row to a node of the next one.
    arrows: Vec<(usize, usize, usize)>,
    /// What is said below.
    notes: Vec<String>,
}

/// What stands in a place of a diagram.
struct Node {
    kind: Kind,
    /// The first of them is bold.
    lines: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Numbers.
    Data,
    /// Something that computes.
    Layer,
    /// Numbers that are drawn at random.
    Noise,
    /// Nothing: an arrow goes through.
    Pass,
}

/// The most letters in a line of a node.
const LETTERS: f64 = 44.0;
/// Between nodes, and between rows.
const GAP: (f64, f64) = (22.0, 34.0);
/// The width of a letter, with room to spare: fonts differ.
const LETTER: f64 = 7.2;
const LINE: f64 = 16.0;

impl Node {
    fn new(kind: Kind, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let lines = lines.into_iter().map(Into::into).filter(|line: &String| !line.is_empty());
        // `wrapped` counts 6.7 units a letter.
        let lines = lines.flat_map(|line| wrapped(&line, 6.7 * LETTERS)).collect();
        Self { kind, lines }
    }

    fn data(text: impl Into<String>) -> Self {
        Self::new(Kind::Data, [text.into()])
    }

    fn layer(lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(Kind::Layer, lines)
    }

    fn noise(lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(Kind::Noise, lines)
    }

    fn pass() -> Self {
        Self { kind: Kind::Pass, lines: Vec::new() }
    }

    fn width(&self) -> f64 {
        let letters = self.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        if self.kind == Kind::Pass { 8.0 } else { (LETTER * letters as f64 + 20.0).max(40.0) }
    }

    fn height(&self) -> f64 {
        LINE * self.lines.len() as f64 + 12.0
    }
}

impl Diagram {
    fn new(title: &str) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a row below the others; arrows lead from nodes of the one above to nodes of it.
    fn row(&mut self, nodes: Vec<Node>, arrows: impl IntoIterator<Item = (usize, usize)>) {
        let above = self.rows.len().saturating_sub(1);
        self.arrows.extend(arrows.into_iter().map(|(from, to)| (above, from, to)));
        self.rows.push(nodes);
    }

    /// Adds a row to which an arrow leads from every node above.
    fn joined(&mut self, nodes: Vec<Node>) {
        let (above, count) = (self.rows.last().map_or(0, Vec::len), nodes.len());
        self.row(nodes, (0..above).flat_map(|from| (0..count).map(move |to| (from, to))).collect::<Vec<_>>());
    }

    fn draw(&self) -> String {
        let wide = |row: &Vec<Node>| row.iter().map(Node::width).sum::<f64>() + GAP.0 * (row.len() as f64 - 1.0);
        let width = self.rows.iter().map(wide).fold(340.0, f64::max) + 32.0;
        let mut svg = Svg::new(&self.title, width);
        let mut top = 26.0;
        for line in wrapped(&self.title, 6.2 * (width - 32.0) / LETTER) {
            svg.bold(16.0, top, &line);
            top += LINE;
        }
        // Where nodes are: left, top, width, height.
        let mut places: Vec<Vec<[f64; 4]>> = Vec::new();
        for row in &self.rows {
            let mut left = 0.5 * (width - wide(row));
            // All of a row are equally high, so that no arrow crosses one.
            let height = row.iter().map(Node::height).fold(0.0, f64::max);
            let mut own = Vec::new();
            for node in row {
                own.push([left, top, node.width(), height]);
                left += node.width() + GAP.0;
            }
            places.push(own);
            top += height + GAP.1;
        }
        for &(above, from, to) in &self.arrows {
            arrow(&mut svg, places[above][from], places[above + 1][to], self.rows[above + 1][to].kind == Kind::Pass);
        }
        for (node, place) in self.rows.iter().flatten().zip(places.iter().flatten()) {
            paint(&mut svg, node, *place);
        }
        let mut below = top - GAP.1 + 26.0;
        for note in &self.notes {
            for line in wrapped(note, 6.7 * (width - 32.0) / LETTER) {
                svg.text(16.0, below, Anchor::Start, &line);
                below += LINE;
            }
            below += 4.0;
        }
        svg.finish(below - 4.0)
    }
}

fn arrow(svg: &mut Svg, from: [f64; 4], to: [f64; 4], is_pass: bool) {
    let (x, y) = (from[0] + 0.5 * from[2], from[1] + from[3]);
    let (to_x, to_y) = (to[0] + 0.5 * to[2], to[1]);
    svg.polyline(&[(x, y), (to_x, to_y - if is_pass { 0.0 } else { 3.0 })], "#666666", 1.3);
    if !is_pass {
        svg.fill(&format!("M{to_x:.1} {to_y:.1}l-4 -8h8Z"), "#666666");
    }
}

fn paint(svg: &mut Svg, node: &Node, [left, top, width, height]: [f64; 4]) {
    let outline = rectangle(left, top, width, height);
    let middle = left + 0.5 * width;
    match node.kind {
        Kind::Pass => return svg.polyline(&[(middle, top), (middle, top + height)], "#666666", 1.3),
        Kind::Data => svg.fill(&outline, "#f4f4f4"),
        Kind::Layer => svg.fill(&outline, "#d7e6f2"),
        Kind::Noise => svg.fill(&outline, "#f4f4f4"),
    }
    let dash = if node.kind == Kind::Noise { " stroke-dasharray=\"4 3\"" } else { "" };
    svg.put(format!("<path d=\"{outline}\" fill=\"none\" stroke=\"#666666\"{dash}/>"));
    let first = top + 0.5 * (height - LINE * node.lines.len() as f64) + 12.0;
    for (k, line) in node.lines.iter().enumerate() {
        let style = if k == 0 && node.lines.len() > 1 { " font-weight=\"bold\"" } else { "" };
        svg.styled_text(middle, first + LINE * k as f64, Anchor::Middle, style, line);
    }
}

/// A whole number with commas.
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many parameters, in words.
fn parameters(n: usize) -> String {
    if n == 1 { "1 parameter".into() } else { format!("{} parameters", thousands(n)) }
}

/// Numbers by name, one node each; of many the first, the last and dots between them.
fn numbers(name: &str, count: usize) -> Vec<Node> {
    let node = |k: usize| Node::data(if count == 1 { name.into() } else { format!("{name}{k}") });
    match count {
        0..=4 => (1..=count).map(node).collect(),
        _ => vec![node(1), node(2), Node::data("…"), node(count)],
    }
}
