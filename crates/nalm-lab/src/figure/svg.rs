//! Marks, axes and legends as SVG text.

use super::style::{self, Style};
use std::fmt::{Display, Write};

/// White and black paper.
pub(super) const PAPERS: (&str, &str) = ("#ffffff", "#14171c");

/// Colours of lines and areas that are no model, with their counterparts on black paper.
const NEUTRAL: [(&str, &str); 10] = [
    ("#333333", "#d8dde3"),
    ("#000000", "#f2f4f6"),
    ("#666666", "#a3abb5"),
    ("#999999", "#7d8590"),
    ("#bbbbbb", "#59616b"),
    ("#dddddd", "#3a3f47"),
    ("#eeeeee", "#272b32"),
    ("#f4f4f4", "#1d2127"),
    ("#d7e6f2", "#22384a"),
    ("#f7f9fb", "#1b2027"),
];

/// What a figure is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// A page, or the screen of a computer.
    Page,
    /// A telephone: narrow, and as long as it needs.
    Phone,
}

impl Paper {
    /// The width of a drawing on it, in units of which text is 12 high.
    pub const fn width(self) -> f64 {
        match self {
            Paper::Page => 860.0,
            Paper::Phone => 400.0,
        }
    }

    /// One of two, for a page and for a telephone.
    pub fn choose<T>(self, page: T, phone: T) -> T {
        if self == Paper::Page { page } else { phone }
    }
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
    /// Colours of lines of this drawing alone, with their counterparts on black paper.
    lines: Vec<(String, String)>,
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
        Self { body: String::new(), lines: Vec::new(), title: title.into(), width }
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

    /// A path without filling, in a colour on white paper and another one on black paper.
    pub(super) fn stroke_on_both(&mut self, d: &str, (light, dark): (String, String), width: f64) {
        self.stroke(d, &light, width);
        self.lines.push((light, dark));
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

    /// A polyline of dashes.
    pub fn dashed(&mut self, points: &[(f64, f64)], colour: &str, width: f64) {
        if points.len() > 1 {
            let d = polyline(points);
            let dash = "stroke-dasharray=\"4 3\"";
            self.put(format!("<path d=\"{d}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" {dash}/>"));
        }
    }

    /// The mark of a style.
    pub fn mark(&mut self, style: Style, x: f64, y: f64, hint: &str) {
        let (d, colour) = (style.mark(x, y), style.colour());
        self.put(format!("<path d=\"{d}\" fill=\"{colour}\"><title>{}</title></path>", escape(hint)));
    }

    /// A line through points with its mark at the end of each of so many parts.
    pub fn marked_line(&mut self, style: Style, points: &[(f64, f64)], width: f64, parts: usize, hint: &str) {
        self.polyline(points, &style.colour(), width);
        if points.is_empty() {
            return;
        }
        for k in 1..=parts {
            let (x, y) = points[(points.len() * k / parts).max(1) - 1];
            self.mark(style, x, y, hint);
        }
    }

    /// A cross.
    pub fn cross(&mut self, x: f64, y: f64, size: f64, colour: &str) {
        self.stroke(&crossed(x, y, size), colour, 2.0);
    }

    /// A cross with white around it, which shows on any ground and on both papers.
    pub(super) fn cross_on_white(&mut self, x: f64, y: f64, size: f64, colour: &str) {
        let d = crossed(x, y, size);
        self.stroke(&d, "#ffffff", 5.0);
        self.stroke(&d, colour, 2.0);
    }

    /// Axes with ticks and labels around the rectangle that two axes span.
    pub fn frame(&mut self, x: &Axis, y: &Axis, x_label: &str, y_label: &str) {
        let mut free = f64::NEG_INFINITY;
        for (value, text) in x.ticks() {
            let (at, half) = (x.at(value), 0.5 * text_width(&text));
            self.stroke(&format!("M{at:.1} {:.1}v4", y.start), "#333333", 1.0);
            // A number that would touch the one before it is left out.
            if at - half > free {
                self.text(at, y.start + 17.0, Anchor::Middle, &text);
                free = at + half + 8.0;
            }
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
        // Bold letters are wider.
        let lines = wrapped(title, 0.8 * (x.end - x.start + 24.0));
        for (k, line) in lines.iter().rev().enumerate() {
            self.bold(x.start, y.end - 8.0 - 14.0 * k as f64, line);
        }
        self.frame(x, y, x_label, y_label);
    }

    /// Names with their marks, in as many lines as they need; returns where the lines end.
    pub fn legend(&mut self, names: &[(Style, &str)], at: (f64, f64)) -> f64 {
        self.names(names, at, false)
    }

    /// The same for lines.
    pub fn legend_of_lines(&mut self, names: &[(Style, &str)], at: (f64, f64)) -> f64 {
        self.names(names, at, true)
    }

    fn names(&mut self, names: &[(Style, &str)], (left, top): (f64, f64), lines: bool) -> f64 {
        let (mut x, mut y) = (left, top);
        let wide = if lines { 22.0 } else { 8.0 };
        for (style, name) in names {
            let width = wide + 8.0 + text_width(name) + 18.0;
            if x > left && x + width > self.width + 8.0 {
                (x, y) = (left, y + 20.0);
            }
            if lines {
                self.polyline(&[(x, y - 4.0), (x + wide, y - 4.0)], &style.colour(), 2.0);
            }
            self.mark(*style, x + 0.5 * wide, y - 4.0, name);
            self.text(x + wide + 6.0, y, Anchor::Start, name);
            x += width;
        }
        y
    }

    /// A text in as many lines as it needs, the first of them at `top`; returns where the next one would be.
    pub fn paragraph(&mut self, (left, top): (f64, f64), text: &str) -> f64 {
        let mut y = top;
        for line in wrapped(text, self.width - left - 8.0) {
            self.text(left, y, Anchor::Start, &line);
            y += 16.0;
        }
        y
    }

    /// The whole document.
    pub fn finish(self, height: f64) -> String {
        let Self { body, mut lines, title, width } = self;
        let (white, black) = PAPERS;
        // What has a counterpart on black paper is found by its colour, so that nothing that draws needs to know about it.
        let used = style::pairs().chain(NEUTRAL).filter(|(light, _)| body.contains(&format!("=\"{light}\"")));
        lines.sort();
        lines.dedup();
        let lines = lines.iter().map(|(a, b)| format!("[stroke=\"{a}\"]{{stroke:{b}}}"));
        let dark = used.map(|(a, b)| format!("[fill=\"{a}\"]{{fill:{b}}}[stroke=\"{a}\"]{{stroke:{b}}}"));
        let dark: String = dark.chain(lines).collect();
        // The narrowest telephones have 360 units for the 400 of a drawing, and letters of 11 can be read.
        let letters = if (width - Paper::Phone.width()).abs() < 0.5 { "12.3" } else { "12" };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"{letters}\">\n<title>{}</title>\n\
             <style>@media (prefers-color-scheme:dark){{.paper{{fill:{black}}}text:not([fill]){{fill:#e3e6ea}}{dark}}}</style>\n\
             <rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\" fill=\"{white}\"/>\n{body}</svg>\n",
            escape(&title)
        )
    }
}

/// Lines of words, none wider than this unless a word is.
pub fn wrapped(text: &str, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is a line");
        if !last.is_empty() && text_width(last) + text_width(word) + 6.7 > width {
            lines.push(word.into());
        } else {
            *last += if last.is_empty() { "" } else { " " };
            *last += word;
        }
    }
    lines
}

/// The path through points.
pub fn polyline(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (k, (x, y)) in points.iter().enumerate() {
        write!(d, "{}{x:.1} {y:.1}", if k == 0 { "M" } else { "L" }).expect("a string takes everything");
    }
    d
}

/// The path of a cross.
fn crossed(x: f64, y: f64, size: f64) -> String {
    let side = 2.0 * size;
    format!("M{:.1} {:.1}l{side} {side}m0 -{side}l-{side} {side}", x - size, y - size)
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

    /// Once, twice or five times a power of ten around the positive ones of these values.
    pub fn logarithmic(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let (low, high) = values
            .filter(|v| *v > 0.0 && v.is_finite())
            .fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        let (low, high) = if low.is_finite() { (low.max(1e-300), high.clamp(1e-300, 1e300)) } else { (1.0, 10.0) };
        // A value may lie on a border up to its last digit.
        let below = round_numbers(low).filter(|v| *v <= low * (1.0 + 1e-9)).fold(f64::NEG_INFINITY, f64::max);
        let above = round_numbers(high).find(|v| *v >= high * (1.0 - 1e-9)).unwrap_or(high);
        Self { low: below, high: if above > below { above } else { 10.0 * below }, logarithmic: true, start, end }
    }

    /// Where a number is; outside ones are at the edge, and what is no number is where the axis begins.
    pub fn at(&self, v: f64) -> f64 {
        let scaled = |v: f64| if self.logarithmic { libm::log10(v.max(1e-300)) } else { v };
        let [v, low, high] = [v, self.low, self.high].map(scaled);
        let share = (v - low) / (high - low);
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.start + share * (self.end - self.start)
    }

    /// Numbers worth marking, with their texts.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        if self.logarithmic {
            return self.powers();
        }
        let rough = (self.high - self.low) / 7.0;
        let power = power_of_ten(libm::log10(rough).floor() as i32);
        let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= 0.999 * rough).unwrap_or(rough);
        let is_whole = |x: f64| (x.round() - x).abs() < 1e-6;
        let digits = (0..6).find(|digits| is_whole(step * power_of_ten(*digits))).unwrap_or(2) as usize;
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|k| k as f64 * step).map(|v| (v, format!("{:.digits$}", v + 0.0))).collect()
    }

    /// Powers of ten with their multiples, as many as can be read, and no label that would touch the one before it.
    fn powers(&self) -> Vec<(f64, String)> {
        let (a, b) = (libm::log10(self.low).floor() as i32, libm::log10(self.high).ceil() as i32);
        let every = ((b - a + 5) / 6).max(1);
        let decades = libm::log10(self.high / self.low);
        let multiples: &[f64] = match decades {
            ..=1.1 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            ..=3.1 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let powers = (a..=b).filter(|e| e.rem_euclid(every) == 0 || decades <= 3.1);
        let all = powers.flat_map(|e| multiples.iter().map(move |m| (m * power_of_ten(e), tick(*m, e))));
        let inside = |v: f64| v >= self.low * (1.0 - 1e-9) && v <= self.high * (1.0 + 1e-9);
        all.filter(|(v, _)| inside(*v)).collect()
    }
}

/// A number of a logarithmic axis: as it is, if it has few zeros.
fn tick(m: f64, e: i32) -> String {
    let text = format!("{m}e{e}");
    // Read anew, because a product of two numbers has digits of its own.
    text.parse().ok().filter(|v: &f64| (0.001..100_000.0).contains(v)).map_or(text, |v| v.to_string())
}

/// Ten to a whole power, to the last bit on every machine.
fn power_of_ten(e: i32) -> f64 {
    format!("1e{e}").parse().expect("a number")
}

/// Once, twice and five times the powers of ten around a number, upwards.
fn round_numbers(v: f64) -> impl Iterator<Item = f64> {
    let e = libm::log10(v).floor() as i32;
    (e - 1..=e + 1).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * power_of_ten(e)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_inside_and_enough() {
        let text = |axis: Axis| axis.ticks().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ");
        assert_eq!(text(Axis::linear(0.0, 1.0, 0.0, 1.0)), "0.0 0.2 0.4 0.6 0.8 1.0");
        assert_eq!(text(Axis::linear(-6.0, 6.0, 0.0, 1.0)), "-6 -4 -2 0 2 4 6");
        let log = |values: &[f64]| text(Axis::logarithmic(values.iter().copied(), 0.0, 1.0));
        assert_eq!(log(&[3.0, 2e4]), "10 100 1000 10000");
        assert_eq!(log(&[1.1e6, 1.8e6]), "1e6 1.5e6 2e6");
        assert_eq!(log(&[4e3, 6e4]), "2000 5000 10000 20000 50000 1e5");
        assert_eq!(log(&[1e-16, 1.0]), "1e-15 1e-12 1e-9 1e-6 0.001 1");
        assert_eq!(log(&[f64::NAN, 0.0]), "1 1.5 2 3 5 7 10");
        // However wide or narrow, there are at least three and not too many.
        for k in 0..400 {
            let low = power_of_ten(k % 37 - 18) * (1.0 + f64::from(k % 9));
            let high = low * (1.0 + f64::from(k) * f64::from(k * k) / 10.0);
            let count = Axis::logarithmic([low, high].into_iter(), 0.0, 1.0).ticks().len();
            assert!((2..=10).contains(&count), "{low} to {high}: {count}");
        }
    }

    /// A line has room for 900 units; a name takes 34 and 6.7 for every letter, of which the last 16 may stay free.
    #[test]
    fn legends_go_on_below_where_a_line_is_full() {
        let lines = |lengths: &[usize]| {
            let names: Vec<String> = lengths.iter().map(|n| "n".repeat(*n)).collect();
            let names: Vec<(Style, &str)> = names.iter().map(|name| (Style::series(0), name.as_str())).collect();
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
    fn lines_are_as_long_as_the_paper_is_wide() {
        assert_eq!(wrapped("one two three", 60.0), ["one two", "three"]);
        assert_eq!(wrapped("averylongword b", 30.0), ["averylongword", "b"]);
        assert_eq!(wrapped("", 30.0), [""]);
    }

    #[test]
    fn a_drawing_has_its_counterpart_on_black_paper() {
        let mut svg = Svg::new("title", 100.0);
        svg.stroke("M0 0h1", "#333333", 1.0);
        let text = svg.finish(50.0);
        assert!(
            text.contains("prefers-color-scheme:dark") && text.contains("[stroke=\"#333333\"]{stroke:#d8dde3}"),
            "{text}"
        );
        assert!(!text.contains("#56b4e9"), "only what is used: {text}");
        let mut svg = Svg::new("title", Paper::Phone.width());
        svg.stroke_on_both("M0 0h1", ("#123456".into(), "#fedcba".into()), 1.0);
        let phone = svg.finish(50.0);
        assert!(phone.contains("[stroke=\"#123456\"]{stroke:#fedcba}"), "{phone}");
        // At 360 pixels, letters of eleven.
        let size = |text: &str| text.split("font-size=\"").nth(1).unwrap().split('"').next().unwrap().parse::<f64>();
        assert!(size(&phone).unwrap() * 360.0 / Paper::Phone.width() >= 11.0 && size(&text).unwrap() == 12.0);
        roxmltree::Document::parse(&text).unwrap();
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
