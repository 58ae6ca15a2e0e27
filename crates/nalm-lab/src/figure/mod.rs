//! Figures as SVG text, one kind per file. Written by hand: three kinds of mark and an axis need less code than a plotting
//! crate needs configuration, and the bytes depend on nothing but the data.

pub(crate) mod facets;

/// Okabe and Ito's colours, which colour-blind readers can tell apart, and darker ones of the same hues for more groups.
const COLOURS: [&str; 12] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#7f7f7f", "#8c4f00", "#004d78",
    "#006647", "#8a3f6b",
];

/// Text that may stand in XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
