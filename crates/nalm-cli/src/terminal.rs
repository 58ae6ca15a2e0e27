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
    say(&format!("{} {}\n", paint(To::Errors, Tone::Bad, "nalm:"), crate::shown(&without_numbers(text))));
}

/// Writes to the standard error. A terminal is told where to break long lines, so that it breaks no word.
pub(crate) fn say(text: &str) {
    let room = width().filter(|_| std::io::stderr().is_terminal());
    let broken = room.filter(|room| text.lines().any(|line| wide(line) > *room)).map(|room| {
        let lines = text.lines().map(|line| if wide(line) > room { wrap(line, room).join("\n") } else { line.into() });
        lines.map(|line: String| line + "\n").collect::<String>()
    });
    // If nobody reads it, that is no reason to stop.
    _ = std::io::stderr().write_all(broken.as_deref().unwrap_or(text).as_bytes());
}

/// An error without the numbers that the operating system gives its errors, which say nothing to people.
fn without_numbers(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once(" (os error ") {
        out += before;
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        rest = rest.strip_prefix(')').unwrap_or(rest);
    }
    out + rest
}

/// Columns of the terminal, as far as there is one. COLUMNS says so without one.
pub(crate) fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns >= 20);
    said.or_else(|| terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| columns.into()))
}

/// Lines of the terminal, as far as there is one.
pub(crate) fn height() -> Option<usize> {
    terminal_size::terminal_size().map(|(_, terminal_size::Height(lines))| lines.into())
}

/// So many of something, in the singular or with an s.
pub(crate) fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// How long lines of the output may be. Others than terminals take any length.
fn room() -> Option<usize> {
    width().filter(|_| std::io::stdout().is_terminal() || std::env::var_os("COLUMNS").is_some())
}

/// Lines cut where the terminal ends.
pub(crate) fn fit(text: &str) -> String {
    let Some(width) = room() else { return text.into() };
    text.lines().map(|line| cut_line(line, width) + "\n").collect()
}

/// A line cut to so many columns. Colours take none.
fn cut_line(line: &str, width: usize) -> String {
    if wide(line) <= width {
        return line.into();
    }
    let (mut out, mut left, mut colour) = (String::new(), width - 1, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            // To the end of the sequence.
            colour = true;
            out.push(c);
            out.extend(chars.by_ref().take_while(|c| *c != 'm').chain(['m']));
        } else if left == 0 {
            break;
        } else {
            (left, _) = (left - 1, out.push(c));
        }
    }
    out.truncate(out.trim_end().len());
    out + "…" + if colour { "\x1b[0m" } else { "" }
}

/// How many columns lines of the output may have, if that is limited.
pub(crate) fn columns() -> Option<usize> {
    room()
}

/// Whether a table fits the terminal as it is.
pub(crate) fn fits(rows: &[Vec<String>]) -> bool {
    fits_with(rows, usize::MAX)
}

/// Whether [`table_of_names`] can make a table fit the terminal.
pub(crate) fn can_fit(rows: &[Vec<String>]) -> bool {
    fits_with(rows, SHORTEST)
}

/// Whether a table fits the terminal with names of at most so many letters.
fn fits_with(rows: &[Vec<String>], names: usize) -> bool {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| {
        let widest = rows.iter().filter_map(|row| row.get(k)).map(|cell| wide(cell)).max().unwrap_or(0);
        if k == 0 { widest.min(names) } else { widest }
    };
    let all = (0..columns).map(width).sum::<usize>() + 2 * columns.saturating_sub(1);
    room().is_none_or(|room| all <= room)
}

/// A text as lines of at most so many columns, broken between words.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always one");
        if !line.is_empty() && wide(line) + 1 + wide(word) > width {
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

/// A paragraph behind a text such as a name, broken where the terminal ends; its further lines begin with another one.
pub(crate) fn paragraph(first: &str, further: &str, text: &str) -> String {
    let room = room().map_or(usize::MAX, |width| width.saturating_sub(wide(first).max(wide(further))).max(SHORTEST));
    let lines = wrap(text, room);
    let heads = std::iter::once(first).chain(std::iter::repeat(further));
    lines.iter().zip(heads).map(|(line, head)| format!("{head}{line}\n")).collect()
}

/// How many columns a text takes. Colours take none.
fn wide(text: &str) -> usize {
    let mut parts = text.split('\x1b');
    let first = parts.next().map_or(0, |part| part.chars().count());
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.chars().count())).sum::<usize>()
}

/// No name becomes shorter than this, however narrow the terminal is.
const SHORTEST: usize = 16;

/// A table as one block for each row, for terminals that are too narrow for it: its name, and below it every cell with what it is.
fn blocks(rows: &[Vec<String>]) -> String {
    let Some((head, rows)) = rows.split_first() else { return String::new() };
    let names = head.iter().skip(1).map(|name| wide(name)).max().unwrap_or(0);
    let cell = |(name, cell): (&String, &String)| {
        let first = format!("  {name}{}  ", " ".repeat(names - wide(name)));
        paragraph(&first, &" ".repeat(names + 4), cell)
    };
    let block = |row: &Vec<String>| {
        let name = paint(To::Output, Tone::Heading, row.first().map_or("", String::as_str));
        let cells = head.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
        format!("{name}\n{}", cells.map(cell).collect::<String>())
    };
    rows.iter().map(block).collect()
}

/// A table whose first column has names, which are cut where the table would not fit the terminal; numbers never are. Where that is not
/// enough, every row is a block.
pub(crate) fn table_of_names(mut rows: Vec<Vec<String>>) -> String {
    if !can_fit(&rows) {
        return blocks(&rows);
    }
    if let Some(room) = room() {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |k: usize| rows.iter().filter_map(|row| row.get(k)).map(|cell| wide(cell)).max().unwrap_or(0);
        let others: usize = (1..columns).map(|k| 2 + width(k)).sum();
        let most = room.saturating_sub(others).max(SHORTEST);
        let whole: Vec<Option<String>> = rows.iter().map(|row| row.first().cloned()).collect();
        for name in rows.iter_mut().filter_map(|row| row.first_mut()).filter(|name| name.chars().count() > most) {
            *name = cut(name, most, &whole);
        }
    }
    table(&rows)
}

/// A name cut to a width: its end, or its middle where another name begins alike.
fn cut(name: &str, most: usize, all: &[Option<String>]) -> String {
    let letters: Vec<char> = name.chars().collect();
    let begin: String = letters[..most - 1].iter().collect();
    let alike = all.iter().flatten().filter(|other| *other != name && other.starts_with(&begin)).count();
    if alike == 0 {
        return begin.trim_end().to_string() + "…";
    }
    let (front, back) = ((most - 1) / 3, most - 1 - (most - 1) / 3);
    letters[..front].iter().chain(&['…']).chain(&letters[letters.len() - back..]).collect()
}

/// A table with columns as wide as their widest cell, two blanks between them; the first line is its heading.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    // No column can be wider than a u16 says.
    let wide = |text: &str| wide(text).min(u16::MAX.into());
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
    fn colours_have_no_width_and_errors_no_numbers() {
        assert_eq!([wide("abc"), wide("\x1b[1;31mabc\x1b[0md"), wide("")], [3, 4, 0]);
        let text = without_numbers("cannot read a: No such file (os error 2), nor b (os error -13); c");
        assert_eq!(text, "cannot read a: No such file, nor b; c");
        assert_eq!(without_numbers("(os error "), "(os error ");
    }

    #[test]
    fn lines_and_tables_fit_narrow_terminals() {
        assert_eq!(cut_line("\x1b[1mname  label\x1b[0m", 8), "\x1b[1mname  l…\x1b[0m");
        assert_eq!([cut_line("abcdef", 6), cut_line("abcdefg", 6)], ["abcdef", "abcde…"]);
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let rows = [row(["model", "n", "success"]), row(["NMU", "3", "0.5"])];
        assert_eq!(blocks(&rows), "NMU\n  n        3\n  success  0.5\n");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 2]| cells.map(String::from).to_vec();
        assert_eq!(
            table(&[row(["name", "n"]), row(["a much longer name", "1"])]),
            "name                n\na much longer name  1\n"
        );
    }
}
