//! Texts that mean themselves, wherever they stand in Markdown and in links.

/// Text in a paragraph, heading or list.
pub(super) fn plain(text: &str) -> String {
    escaped(text, false)
}

/// Text of which nothing is markup; in some places, brackets alone would be.
fn escaped(text: &str, brackets: bool) -> String {
    let chars: Vec<char> = text.chars().collect();
    let word = |k: Option<usize>| k.and_then(|k| chars.get(k)).is_some_and(|c| c.is_alphanumeric());
    let mut out = String::with_capacity(text.len());
    for (k, &c) in chars.iter().enumerate() {
        let next = chars.get(k + 1);
        let special = match c {
            '\\' | '`' | '*' | '~' => true,
            '[' | ']' if brackets => true,
            // Within a word it is itself.
            '_' => !(word(k.checked_sub(1)) && word(Some(k + 1))),
            '<' => next.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(*c)),
            '&' => next.is_some_and(|c| c.is_ascii_alphanumeric() || *c == '#'),
            // What would be a link: [text](address) or [text][name].
            ']' => next.is_some_and(|c| "([:".contains(*c)),
            _ => false,
        };
        if special {
            out.push('\\');
        }
        out.push(if c.is_control() && c != '\n' { '\u{fffd}' } else { c });
    }
    out
}

/// Text in a cell of a table.
pub(super) fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|").replace('\n', " ")
}

/// Text in the place of a picture. A bracket alone in it would make the picture a link.
pub(super) fn alternative(text: &str) -> String {
    escaped(text, true).replace('\n', " ")
}

/// What a text of a page was before it was written as HTML.
pub(super) fn unescaped(html: &str) -> String {
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// A file's name in an address.
pub(super) fn url(name: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes().map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    const ODD: [&str; 12] = [
        "U[1,2) and U[-2,-1)",
        "a [link](x) or [one][two]",
        "2 * 3 * 4",
        "_a_ and b_c",
        "`code",
        "a|b|c",
        "<b>bold</b>",
        "&amp; and &x;",
        "back\\slash \\[",
        "![picture](x)",
        "~~no~~",
        "[x]: y",
    ];

    /// The text that a reader sees, and how many pictures and links there are.
    fn read(markdown: &str) -> (String, usize, usize) {
        let (mut text, mut pictures, mut links) = (String::new(), 0, 0);
        for event in Parser::new_ext(markdown, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
            match event {
                Event::Text(part) => text += &part,
                Event::Start(Tag::Image { .. }) => pictures += 1,
                Event::Start(Tag::Link { .. }) => links += 1,
                Event::End(TagEnd::TableCell) => text += "; ",
                Event::Code(_) | Event::Html(_) | Event::InlineHtml(_) => text += "WRONG",
                _ => {}
            }
        }
        (text, pictures, links)
    }

    #[test]
    fn texts_mean_themselves() {
        for text in ODD {
            assert_eq!(read(&format!("x {}", plain(text))), (format!("x {text}"), 0, 0), "{text}");
            assert_eq!(read(&format!("# {}", plain(text))).0, text, "{text}");
            assert_eq!(read(&format!("![{}](a.svg)", alternative(text))), (text.into(), 1, 0), "{text}");
            let table = format!("| {} | y |\n|---|---|\n| 1 | {} |\n", cell(text), cell(text));
            assert_eq!(read(&table), (format!("{text}; y; 1; {text}; "), 0, 0), "{text}");
        }
        assert_eq!((plain("a\u{1b}[31m"), url("a b#1%\".svg")), ("a\u{fffd}[31m".into(), "a%20b%231%25%22.svg".into()));
    }
}
