//! What a person sees at a terminal: colour, and how much is said.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicI8, Ordering::Relaxed};

/// -1 says nothing but errors, 1 says more. Nothing but the amount of text depends on it.
static LEVEL: AtomicI8 = AtomicI8::new(0);

/// How much is said from now on.
pub(crate) fn set_level(quiet: bool, verbose: bool) {
    LEVEL.store(i8::from(verbose) - i8::from(quiet), Relaxed);
}

/// Whether only errors are said.
pub(crate) fn is_quiet() -> bool {
    LEVEL.load(Relaxed) < 0
}

/// Whether more is said than usually.
pub(crate) fn is_verbose() -> bool {
    LEVEL.load(Relaxed) > 0
}

/// What a text is, which decides its colour.
#[derive(Clone, Copy)]
pub(crate) enum Tone {
    Good,
    Bad,
    Heading,
}

/// Where a text goes.
#[derive(Clone, Copy)]
pub(crate) enum To {
    Output,
    Errors,
}

/// Whether texts have colours there: at a terminal, unless NO_COLOR forbids it; elsewhere only if CLICOLOR_FORCE asks for it.
fn is_coloured(to: To) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    let terminal = || match to {
        To::Output => std::io::stdout().is_terminal(),
        To::Errors => std::io::stderr().is_terminal(),
    };
    let dumb = || std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    !is_set("NO_COLOR") && (is_set("CLICOLOR_FORCE") || (terminal() && !dumb()))
}

/// A text in its colour. Pad it before: colours have no width, and formatting does not know that.
pub(crate) fn paint(to: To, tone: Tone, text: &str) -> String {
    let code = match tone {
        Tone::Good => "32",
        Tone::Bad => "1;31",
        Tone::Heading => "1",
    };
    if is_coloured(to) { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
}

/// The one form of an error.
pub(crate) fn complain(text: &str) {
    let line = format!("{} {}\n", paint(To::Errors, Tone::Bad, "nalm:"), crate::shown(text));
    // If nobody reads it, that is no reason to stop.
    _ = std::io::stderr().write_all(line.as_bytes());
}

/// Columns of the terminal, as far as there is one. COLUMNS says so without one.
pub(crate) fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns >= 20);
    said.or_else(|| terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| columns.into()))
}

/// Lines cut where the terminal ends. Others than terminals take any length.
pub(crate) fn fit(text: &str) -> String {
    let Some(width) = width().filter(|_| std::io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some())
    else {
        return text.into();
    };
    // Colours have no width; of the heading, which has one, nothing is cut.
    let cut = |line: &str| match line.chars().count() > width && !line.starts_with('\x1b') {
        true => line.chars().take(width - 1).collect::<String>().trim_end().to_string() + "…",
        false => line.to_string(),
    };
    text.lines().map(|line| cut(line) + "\n").collect()
}

/// A text as lines of at most so many columns, broken between words.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.into());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// A table with columns as wide as their widest cell, two blanks between them; the first line is its heading.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    // No column can be wider than a u16 says.
    let wide = |text: &str| text.chars().count().min(u16::MAX.into());
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| rows.iter().filter_map(|row| row.get(k)).map(|cell| wide(cell)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (line, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        let text = cells.collect::<Vec<_>>().join("  ");
        let text = text.trim_end();
        out += &if line == 0 { paint(To::Output, Tone::Heading, text) } else { text.into() };
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(String::from).to_vec();
        assert_eq!(
            table(&[row(["name", "n"]), row(["a much longer name", "1"])]),
            "name                n\na much longer name  1\n"
        );
    }
}
