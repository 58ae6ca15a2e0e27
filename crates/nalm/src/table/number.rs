//! Numbers as people and spreadsheets print them.

/// What stands before decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decimal {
    Point,
    Comma,
    /// Points; but a comma with three digits behind it may group thousands or begin decimals.
    Unclear,
}

/// Why a cell is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    NoNumber,
    Unclear,
}

/// What cells say about points and commas.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Cells in which it must stand before decimals.
    points: usize,
    commas: usize,
    /// Cells in which a comma may also group thousands.
    unclear: usize,
    /// Cells in which a point may.
    grouped: usize,
}

impl Marks {
    pub(super) fn see(&mut self, cell: &str) {
        let digits = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
        let mantissa = cell.trim_start_matches(['+', '-', '\u{2212}']).split(['e', 'E']).next().unwrap_or_default();
        if mantissa.is_empty() || !mantissa.chars().all(|c| digits(c) || is_space(c)) {
            return;
        }
        let (point, comma) = (mantissa.rfind('.'), mantissa.rfind(','));
        // No group of thousands begins with a zero, or has other than three digits.
        let is_decimal = |at: usize| mantissa[at + 1..].len() != 3 || mantissa.starts_with('0') || at > 3 || at == 0;
        match (point, comma) {
            (Some(point), Some(comma)) if point > comma => self.points += 1,
            (Some(_), Some(_)) => self.commas += 1,
            (Some(at), None) if is_decimal(at) => self.points += 1,
            (Some(_), None) => self.grouped += 1,
            (None, Some(_)) if mantissa.matches(',').count() > 1 => self.points += 1,
            (None, Some(at)) if is_decimal(at) => self.commas += 1,
            (None, Some(_)) => self.unclear += 1,
            (None, None) => {}
        }
    }

    /// Whether points may group thousands: nothing says that they do not, and cells are separated as where decimals stand after commas.
    pub(super) fn may_be_thousands(&self, separator: u8) -> bool {
        separator == b';' && self.grouped > 1 && self.points + self.commas + self.unclear == 0
    }

    pub(super) fn decimal(&self, separator: u8) -> Decimal {
        match self {
            Self { points: 0, commas: 1.., .. } => Decimal::Comma,
            // Semicolons stand between cells where commas stand before decimals.
            Self { points: 0, commas: 0, unclear: 1.., .. } if separator == b';' => Decimal::Comma,
            Self { points: 0, commas: 0, unclear: 1.., .. } => Decimal::Unclear,
            _ => Decimal::Point,
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '\u{2019}')
}

/// What spreadsheets, databases and statistics programs write for a missing number.
pub(super) fn is_missing(cell: &str) -> bool {
    const WORDS: [&str; 16] = [
        "na", "n/a", "nan", "null", "none", "-", "--", "?", "#n/a", "#nv", "#div/0!", "#value!", "#ref!", "#name?",
        "#num!", "#null!",
    ];
    cell.is_empty() || WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// A finite number.
pub(super) fn parse(cell: &str, decimal: Decimal) -> Result<f64, Wrong> {
    let finite = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite()).ok_or(Wrong::NoNumber);
    // Names of numbers, such as inf, are none.
    if !cell.contains(|c: char| c.is_ascii_digit()) {
        return Err(Wrong::NoNumber);
    }
    let plain = cell.bytes().all(|b| b.is_ascii() && b != b',') && decimal != Decimal::Comma;
    if plain && let Ok(number) = finite(cell) {
        return Ok(number);
    }
    let (sign, rest) = match cell.chars().next() {
        Some(c @ ('-' | '+' | '\u{2212}')) => (if c == '+' { "" } else { "-" }, &cell[c.len_utf8()..]),
        _ => ("", cell),
    };
    let (mantissa, exponent) = rest.find(['e', 'E']).map_or((rest, ""), |at| rest.split_at(at));
    let mark = if decimal == Decimal::Comma { ',' } else { '.' };
    let (whole, decimals) = mantissa.split_once(mark).map_or((mantissa, None), |(whole, rest)| (whole, Some(rest)));
    let other = if mark == ',' { '.' } else { ',' };
    let groups = |c: char| c == other || is_space(c);
    let digits = match whole.chars().find(|c| groups(*c)) {
        None => whole.to_string(),
        Some(by) => {
            let mut parts = whole.split(by);
            let first = parts.next().unwrap_or_default();
            let rest: Vec<&str> = parts.collect();
            if !(1..=3).contains(&first.len()) || first.starts_with('0') || rest.iter().any(|part| part.len() != 3) {
                return Err(Wrong::NoNumber);
            }
            if by == ',' && decimal == Decimal::Unclear && decimals.is_none() && rest.len() == 1 {
                return Err(Wrong::Unclear);
            }
            [first].into_iter().chain(rest).collect()
        }
    };
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(&digits)
        || !decimals.is_none_or(all_digits)
        || digits.is_empty() && decimals.is_none_or(str::is_empty)
    {
        return Err(Wrong::NoNumber);
    }
    finite(&format!("{sign}{digits}.{}{exponent}", decimals.unwrap_or_default()))
}

/// The power of ten of the last digit.
pub(super) fn last_digit(cell: &str, decimal: Decimal) -> Option<i32> {
    parse(cell, decimal).ok()?;
    let (mantissa, exponent) = match cell.find(['e', 'E']) {
        Some(at) => (&cell[..at], cell[at + 1..].parse().ok()?),
        None => (cell, 0i32),
    };
    let mark = if decimal == Decimal::Comma { ',' } else { '.' };
    let decimals = mantissa.split_once(mark).map_or(0, |(_, decimals)| decimals.len());
    exponent.checked_sub(i32::try_from(decimals).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decimal::{Comma, Point, Unclear};

    #[test]
    fn numbers_are_read_as_they_are_meant() {
        for (cell, decimal, want) in [
            ("1.5", Point, Ok(1.5)),
            ("-2e-3", Point, Ok(-2e-3)),
            ("1,234.5", Point, Ok(1234.5)),
            ("1,234,567", Point, Ok(1_234_567.0)),
            ("1,234", Point, Ok(1234.0)),
            ("1,23", Point, Err(Wrong::NoNumber)),
            ("12,34,567", Point, Err(Wrong::NoNumber)),
            ("1 234", Point, Ok(1234.0)),
            ("1'234.25", Point, Ok(1234.25)),
            ("1\u{a0}234,5", Comma, Ok(1234.5)),
            ("\u{2212}3,5", Comma, Ok(-3.5)),
            ("1.234,56", Comma, Ok(1234.56)),
            ("1.5", Comma, Err(Wrong::NoNumber)),
            ("0,5e-3", Comma, Ok(0.5e-3)),
            ("0.125", Comma, Err(Wrong::NoNumber)),
            (",5", Comma, Ok(0.5)),
            ("5,", Comma, Ok(5.0)),
            ("7", Comma, Ok(7.0)),
            ("1,234", Unclear, Err(Wrong::Unclear)),
            ("1,234,567", Unclear, Ok(1_234_567.0)),
            ("inf", Point, Err(Wrong::NoNumber)),
            ("nan", Comma, Err(Wrong::NoNumber)),
            ("", Point, Err(Wrong::NoNumber)),
            (".", Point, Err(Wrong::NoNumber)),
            (",", Comma, Err(Wrong::NoNumber)),
            ("1e999", Point, Err(Wrong::NoNumber)),
            ("1e", Point, Err(Wrong::NoNumber)),
            ("--1", Point, Err(Wrong::NoNumber)),
            ("0x10", Point, Err(Wrong::NoNumber)),
            ("12%", Point, Err(Wrong::NoNumber)),
        ] {
            assert_eq!(parse(cell, decimal), want, "{cell:?} {decimal:?}");
        }
    }

    #[test]
    fn marks_are_told_from_all_cells() {
        let of = |cells: &[&str], separator| {
            let mut marks = Marks::default();
            cells.iter().for_each(|cell| marks.see(cell));
            marks.decimal(separator)
        };
        assert_eq!(of(&["1", "2"], b';'), Point);
        assert_eq!(of(&["0.125", "1,234"], b';'), Point);
        assert_eq!(of(&["1,5", "2"], b';'), Comma);
        assert_eq!(of(&["1,5", "2.25"], b';'), Point);
        assert_eq!(of(&["1,234", "2.25"], b'\t'), Point);
        assert_eq!(of(&["1.234", "2,25"], b'\t'), Comma);
        assert_eq!(of(&["1,234", "5"], b';'), Comma);
        assert_eq!(of(&["1,234", "5"], b'\t'), Unclear);
        assert_eq!(of(&["0,234", "5"], b'\t'), Comma);
        assert_eq!(of(&["1.234,5"], b'\t'), Comma);
        assert_eq!(of(&["1,234.5"], b','), Point);
        assert_eq!(of(&["1,234,567", "3,456"], b'\t'), Point);
        assert_eq!(of(&["Smith, John", "a.b"], b';'), Point);
    }

    #[test]
    fn the_last_digit_is_that_which_was_printed() {
        for (cell, decimal, want) in [
            ("3.14", Point, Some(-2)),
            ("120", Point, Some(0)),
            ("1.50e-3", Point, Some(-5)),
            ("1,234.5", Point, Some(-1)),
            ("2,50", Comma, Some(-2)),
            ("1e3", Point, Some(3)),
            ("x", Point, None),
        ] {
            assert_eq!(last_digit(cell, decimal), want, "{cell}");
        }
    }
}
