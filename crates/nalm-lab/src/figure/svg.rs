//! Marks, axes and legends as SVG text.

use std::fmt::{Display, Write};

/// Okabe and Ito's colours, which colour-blind readers can tell apart, and darker ones of the same hues for more groups.
pub const COLOURS: [&str; 12] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f", "#8c4f00", "#004d78",
    "#006647", "#8a3f6b",
];

/// The colour of a group.
pub fn colour(k: usize) -> &'static str {
    COLOURS[k % COLOURS.len()]
}

/// Text that may stand in XML, which has no control characters.
pub fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    let allowed = |c: char| !c.is_control() && !['\u{fffe}', '\u{ffff}'].contains(&c) || ['\n', '\t'].contains(&c);
    if text.chars().all(allowed) { text } else { text.replace(|c| !allowed(c), "\u{fffd}") }
}

/// How wide a text is drawn, about: sans-serif at 12 units.
pub fn text_width(text: &str) -> f64 {
    6.7 * text.chars().count() as f64
}

/// A drawing under way. Lengths are in its own units, of which text is 12 high.
pub struct Svg {
    body: String,
    pub(super) title: String,
    width: f64,
}

/// Where a text is held.
#[derive(Clone, Copy)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

impl Svg {
    /// An empty drawing.
    pub fn new(title: &str, width: f64) -> Self {
        Self { body: String::new(), title: title.into(), width }
    }

    /// Adds markup.
    pub fn put(&mut self, line: impl Display) {
        writeln!(self.body, "{line}").expect("a string takes everything");
    }

    /// Writes a text.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, text: &str) {
        self.styled_text(x, y, anchor, "", text);
    }

    /// Writes a bold text.
    pub fn bold(&mut self, x: f64, y: f64, text: &str) {
        self.styled_text(x, y, Anchor::Start, " font-weight=\"bold\"", text);
    }

    /// Writes a text with further attributes.
    pub fn styled_text(&mut self, x: f64, y: f64, anchor: Anchor, style: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.put(format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{style}>{}</text>", escape(text)));
    }

    /// A path without filling.
    pub fn stroke(&mut self, d: &str, colour: &str, width: f64) {
        self.put(format!("<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"));
    }

    /// A path without outline.
    pub fn fill(&mut self, d: &str, colour: &str) {
        self.put(format!("<path d=\"{d}\" fill=\"{colour}\"/>"));
    }

    /// A path without outline, through which what lies below shows.
    pub fn fill_lightly(&mut self, d: &str, colour: &str, opacity: f64) {
        self.put(format!("<path d=\"{d}\" fill=\"{colour}\" fill-opacity=\"{opacity}\"/>"));
    }

    /// A polyline through points.
    pub fn polyline(&mut self, points: &[(f64, f64)], colour: &str, width: f64) {
        if points.len() > 1 {
            self.stroke(&polyline(points), colour, width);
        }
    }

    /// A mark of a group: the shape changes with every colour, so that neither carries the meaning alone.
    pub fn mark(&mut self, k: usize, x: f64, y: f64, hint: &str) {
        let d = match (k + k / COLOURS.len()) % 4 {
            0 => circle(x, y, 3.0),
            1 => format!("M{:.1} {:.1}h5.4v5.4h-5.4Z", x - 2.7, y - 2.7),
            2 => format!("M{x:.1} {:.1}l3.4 6h-6.8Z", y - 3.6),
            _ => format!("M{x:.1} {:.1}l3.6 3.6l-3.6 3.6l-3.6 -3.6Z", y - 3.6),
        };
        self.put(format!("<path d=\"{d}\" fill=\"{}\"><title>{}</title></path>", colour(k), escape(hint)));
    }

    /// A cross.
    pub fn cross(&mut self, x: f64, y: f64, size: f64, colour: &str) {
        let side = 2.0 * size;
        let d = format!("M{:.1} {:.1}l{side} {side}m0 -{side}l-{side} {side}", x - size, y - size);
        self.stroke(&d, colour, 2.0);
    }

    /// Axes with ticks and labels around the rectangle that two axes span.
    pub fn frame(&mut self, x: &Axis, y: &Axis, x_label: &str, y_label: &str) {
        for (value, text) in x.ticks() {
            let at = x.at(value);
            self.stroke(&format!("M{at:.1} {:.1}v4", y.start), "#333333", 1.0);
            self.text(at, y.start + 17.0, Anchor::Middle, &text);
        }
        for (value, text) in y.ticks() {
            let at = y.at(value);
            self.stroke(&format!("M{:.1} {at:.1}h-4", x.start), "#333333", 1.0);
            self.text(x.start - 7.0, at + 4.0, Anchor::End, &text);
        }
        let d = format!("M{:.1} {:.1}V{:.1}H{:.1}V{:.1}Z", x.start, y.start, y.end, x.end, y.start);
        self.stroke(&d, "#333333", 1.0);
        self.text(0.5 * (x.start + x.end), y.start + 34.0, Anchor::Middle, x_label);
        let (at_x, at_y) = (x.start - 44.0, 0.5 * (y.start + y.end));
        let turned = format!(" transform=\"rotate(-90 {at_x:.1} {at_y:.1})\"");
        self.styled_text(at_x, at_y, Anchor::Middle, &turned, y_label);
    }

    /// The title above a panel, and its frame.
    pub(super) fn panel(&mut self, title: &str, x: &Axis, y: &Axis, x_label: &str, y_label: &str) {
        self.bold(x.start, y.end - 8.0, title);
        self.frame(x, y, x_label, y_label);
    }

    /// Names with their marks, in as many lines as they need; returns where the lines end.
    pub fn legend(&mut self, names: &[(usize, &str)], (left, top): (f64, f64)) -> f64 {
        let (mut x, mut y) = (left, top);
        for (k, name) in names {
            let width = 16.0 + text_width(name) + 18.0;
            if x > left && x + width > self.width - 8.0 {
                (x, y) = (left, y + 20.0);
            }
            self.mark(*k, x + 4.0, y - 4.0, name);
            self.text(x + 14.0, y, Anchor::Start, name);
            x += width;
        }
        y
    }

    /// The whole document.
    pub fn finish(self, height: f64) -> String {
        let Self { body, title, width } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"12\">\n<title>{}</title>\n\
             <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"white\"/>\n{body}</svg>\n",
            escape(&title)
        )
    }
}

/// The path through points.
pub fn polyline(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (k, (x, y)) in points.iter().enumerate() {
        write!(d, "{}{x:.1} {y:.1}", if k == 0 { "M" } else { "L" }).expect("a string takes everything");
    }
    d
}

/// The path of a circle.
pub(super) fn circle(x: f64, y: f64, r: f64) -> String {
    let across = 2.0 * r;
    format!("M{:.1} {y:.1}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0 -{across} 0Z", x - r)
}

/// The path of a rectangle, from its upper left corner.
pub(super) fn rectangle(x: f64, y: f64, wide: f64, high: f64) -> String {
    format!("M{x:.1} {y:.1}h{wide:.1}v{high:.1}h-{wide:.1}Z")
}

/// The path of a square that reaches from one number to another on both axes.
pub(super) fn square(x: &Axis, y: &Axis, low: f64, high: f64) -> String {
    format!("M{:.1} {:.1}H{:.1}V{:.1}H{:.1}Z", x.at(low), y.at(low), x.at(high), y.at(high), x.at(low))
}

/// A colour between two, which are red, green and blue from 0 to 255.
pub(super) fn mix(from: [f64; 3], to: [f64; 3], share: f64) -> String {
    let [r, g, b] = [0, 1, 2].map(|c| (from[c] + (to[c] - from[c]) * share).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// From numbers to places.
#[derive(Clone, Copy)]
pub struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// Where it begins in the drawing.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
}

impl Axis {
    /// An axis with equal steps.
    pub fn linear(low: f64, high: f64, start: f64, end: f64) -> Self {
        Self { low, high, logarithmic: false, start, end }
    }

    /// Whole powers of ten around the positive ones of these values.
    pub fn logarithmic(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let (low, high) = values
            .filter(|v| *v > 0.0 && v.is_finite())
            .fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low.is_finite() { (low, high) } else { (1.0, 10.0) };
        let low = 10f64.powf(low.log10().floor());
        let high = 10f64.powf(high.log10().ceil()).max(10.0 * low);
        Self { low, high, logarithmic: true, start, end }
    }

    /// Where a number is; outside ones are at the edge, and what is no number is where the axis begins.
    pub fn at(&self, v: f64) -> f64 {
        let scaled = |v: f64| if self.logarithmic { v.max(1e-300).log10() } else { v };
        let [v, low, high] = [v, self.low, self.high].map(scaled);
        let share = (v - low) / (high - low);
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.start + share * (self.end - self.start)
    }

    /// Numbers worth marking, with their texts.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        if self.logarithmic {
            let (a, b) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
            let every = ((b - a + 4) / 5).max(1) as usize;
            return (a..=b).step_by(every).map(|e| (10f64.powi(e), format!("1e{e}"))).collect();
        }
        let rough = (self.high - self.low) / 7.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= 0.999 * rough).unwrap_or(rough);
        let is_whole = |x: f64| (x.round() - x).abs() < 1e-6;
        let digits = (0..6).find(|digits| is_whole(step * 10f64.powi(*digits))).unwrap_or(2) as usize;
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|k| k as f64 * step).map(|v| (v, format!("{:.digits$}", v + 0.0))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let text = |axis: Axis| axis.ticks().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ");
        assert_eq!(text(Axis::linear(0.0, 1.0, 0.0, 1.0)), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(text(Axis::linear(-6.0, 6.0, 0.0, 1.0)), "-6 -4 -2 0 2 4 6");
        assert_eq!(text(Axis::logarithmic([3.0, 2e4].into_iter(), 0.0, 1.0)), "1e0 1e1 1e2 1e3 1e4 1e5");
        assert_eq!(text(Axis::logarithmic([f64::NAN, 0.0].into_iter(), 0.0, 1.0)), "1e0 1e1");
    }

    /// A line has room for 900 - 8 units; a name takes 34 and 6.7 for every letter.
    #[test]
    fn legends_go_on_below_where_a_line_is_full() {
        let lines = |lengths: &[usize]| {
            let names: Vec<String> = lengths.iter().map(|n| "n".repeat(*n)).collect();
            let names: Vec<(usize, &str)> = names.iter().map(|name| (0, name.as_str())).collect();
            let mut svg = Svg::new("title", 900.0);
            let end = svg.legend(&names, (50.0, 100.0));
            let text = svg.finish(200.0);
            let document = roxmltree::Document::parse(&text).unwrap();
            let places = document.descendants().filter(|node| node.has_tag_name("text"));
            let places = places.map(|node| (node.attribute("x").unwrap(), node.attribute("y").unwrap()));
            (end, places.map(|(x, y)| format!("{x} {y}")).collect::<Vec<_>>())
        };
        let places = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        // 34 + 6.7 * 50 = 369: two fit behind 50, three do not.
        assert_eq!(lines(&[50, 50, 50]), (120.0, places(&["64.0 100.0", "433.0 100.0", "64.0 120.0"])));
        assert_eq!(lines(&[10, 10]), (100.0, places(&["64.0 100.0", "165.0 100.0"])));
        // What fits nowhere stays where it is.
        assert_eq!(lines(&[200, 1]), (120.0, places(&["64.0 100.0", "64.0 120.0"])));
    }

    #[test]
    fn texts_with_control_characters_are_xml() {
        let mut svg = Svg::new("a\u{1b}[2J & \u{fffe}", 900.0);
        svg.text(1.0, 2.0, Anchor::Start, "b\u{0}\u{7}<c>\"");
        let text = svg.finish(20.0);
        let document = roxmltree::Document::parse(&text).unwrap();
        let texts: Vec<_> = document.descendants().filter_map(|node| node.text()).collect();
        assert!(texts.contains(&"b\u{fffd}\u{fffd}<c>\""), "{texts:?}");
    }

    #[test]
    fn places_stay_within_the_axis() {
        let axis = Axis::linear(0.0, 2.0, 100.0, 0.0);
        assert_eq!([-1.0, 0.0, 1.0, 9.0].map(|v| axis.at(v)), [100.0, 100.0, 50.0, 0.0]);
    }
}
