//! How deep the brackets of a file are nested, counted before it is parsed: the parser takes some kilobytes of the stack for every bracket that is
//! open, and its own limit can be passed by brackets that are closed where none was opened.

/// Deeper than any experiment needs, and as deep as the parser lets well-formed files be.
pub(super) const DEEPEST: usize = 80;

/// The first line in which more than [`DEEPEST`] brackets are open.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        at += match byte {
            b'#' => text[at..].find('\n').unwrap_or(text.len() - at),
            b'"' | b'\'' => string(&text.as_bytes()[at..]),
            _ => 1,
        };
        match byte {
            b'{' | b'[' => open.push(byte),
            // What closes something else closes nothing.
            b'}' => drop(open.pop_if(|last| *last == b'{')),
            b']' => drop(open.pop_if(|last| *last == b'[')),
            _ => {}
        }
        if open.len() > DEEPEST {
            return Some(text[..at].lines().count());
        }
    }
    None
}

/// The length of the string that a text begins with. One that is not closed ends with its line, or with the text if it may have several.
fn string(text: &[u8]) -> usize {
    let quote = text[0];
    let long = text.starts_with(&[quote; 3]);
    let end = if long { &text[..3] } else { &text[..1] };
    let mut at = end.len();
    while at < text.len() {
        match text[at] {
            b'\n' if !long => return at,
            b'\\' if quote == b'"' && matches!(text.get(at + 1), Some(b'\\' | b'"')) => at += 2,
            _ if text[at..].starts_with(end) => return at + end.len(),
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_while_they_are_open() {
        let (deep, deeper) = ("[".repeat(DEEPEST), "[".repeat(DEEPEST + 1));
        assert_eq!([too_deep(&deep), too_deep(&deeper)], [None, Some(1)]);
        assert_eq!(too_deep(&format!("a = 1\n\nb = {deep}\n{{")), Some(4));
        assert_eq!(too_deep(&"x = [{}]\n[[y]]\n".repeat(1_000)), None);
        // Closed where none of the kind is open.
        assert_eq!(too_deep(&"{[]b=".repeat(DEEPEST + 1)), Some(1));
        assert_eq!(too_deep(&"{]".repeat(DEEPEST + 1)), Some(1));
        assert_eq!(too_deep(&"[}".repeat(DEEPEST + 1)), Some(1));
    }

    #[test]
    fn brackets_in_strings_and_comments_are_text() {
        let many = "[".repeat(DEEPEST + 1);
        let texts = [
            format!("a = \"{many}\""),
            format!("a = '{many}'"),
            format!("a = \"\\\"{many}\\\\\" # {many}"),
            format!("# {many}"),
            format!("a = \"\"\"\n\"{many}\n\\\"\"\"{many}\"\"\""),
            format!("a = '''\n{many}\n'{many}'''"),
            // A string that is not closed ends with its line.
            format!("a = \"{many}\nb = '{many}"),
        ];
        for text in texts {
            assert_eq!(too_deep(&text), None, "{text}");
            assert_eq!(too_deep(&format!("{text}\n{many}")), Some(text.lines().count() + 1), "{text}");
        }
        // A backslash means nothing between single quotes.
        assert_eq!(too_deep(&format!("a = '\\'{many}")), Some(1));
    }
}
