//! A page as blocks, and the two forms it is written in.

use super::escape::{alternative, cell, plain, url};
use crate::figure::svg::escape;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A part of a page.
pub enum Block {
    /// The title of a page.
    Title(String),
    /// The headings that follow, as links.
    Contents,
    /// The heading of a part.
    Heading(String),
    /// Paragraphs that the author of an experiment wrote, Markdown and all.
    Prose(String),
    /// Paragraphs.
    Text(String),
    /// Something to type.
    Code(String),
    /// A figure.
    Figure {
        /// The name of its files, without extension; empty if it has none.
        file: String,
        /// What stands below it.
        caption: String,
        /// The drawing.
        svg: String,
        /// The drawing for narrow screens.
        narrow: String,
    },
    /// A table.
    Table {
        /// The names of its columns.
        head: Vec<String>,
        /// Its rows.
        rows: Vec<Vec<String>>,
    },
    /// A table whose first column has the numbers of headings that follow, as links to these.
    Numbered {
        /// The names of its columns.
        head: Vec<String>,
        /// Its rows.
        rows: Vec<Vec<String>>,
    },
    /// Points.
    List(Vec<String>),
    /// Points that lead to other pages.
    Links(Vec<Link>),
}

/// A way to another page of the same report.
pub struct Link {
    /// What it says.
    pub text: String,
    /// The page, without its extension.
    pub page: String,
    /// What stands behind it.
    pub note: String,
}

/// Where each heading can be found: as GitHub makes anchors of headings, those that are there twice with a number behind.
fn anchors(blocks: &[Block]) -> Vec<Option<String>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let anchor = |block: &Block| {
        let (Block::Title(text) | Block::Heading(text)) = block else { return None };
        let kept = text.to_lowercase().replace(|c: char| !c.is_alphanumeric() && !" -_".contains(c), "");
        let name = kept.replace(' ', "-");
        let times = seen.entry(name.clone()).and_modify(|times| *times += 1).or_insert(0);
        Some(if *times == 0 { name } else { format!("{name}-{times}") })
    };
    blocks.iter().map(anchor).collect()
}

/// A table as one of numbered headings; other blocks stay as they are.
pub(super) fn numbered(block: Block) -> Block {
    match block {
        Block::Table { head, rows } => Block::Numbered { head, rows },
        other => other,
    }
}

/// Where the heading is that begins with this number.
fn anchor_of<'a>(blocks: &[Block], anchors: &'a [Option<String>], number: &str) -> Option<&'a str> {
    let is_it = |block: &Block| match block {
        Block::Heading(text) => text.strip_prefix(number).is_some_and(|rest| rest.starts_with(". ")),
        _ => false,
    };
    anchors[blocks.iter().position(is_it)?].as_deref()
}

/// The headings after a place, with their anchors. Few need no contents.
fn contents<'a>(blocks: &'a [Block], anchors: &'a [Option<String>], from: usize) -> Vec<(&'a str, &'a str)> {
    let heading = |(block, anchor): (&'a Block, &'a Option<String>)| match block {
        Block::Heading(text) => Some((text.as_str(), anchor.as_deref()?)),
        _ => None,
    };
    // Up to the next title, where several pages are one.
    let own = blocks.iter().zip(anchors).skip(from).take_while(|(block, _)| !matches!(block, Block::Title(_)));
    let found: Vec<_> = own.filter_map(heading).collect();
    if found.len() < 3 { Vec::new() } else { found }
}

/// Whether what is in a column are numbers, with whatever stands behind them.
fn is_numeric<'a>(cells: impl Iterator<Item = &'a str>) -> bool {
    let missing = ["", "–", "not run"];
    let number = |text: &str| text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    let mut cells = cells.filter(|text| !missing.contains(text)).peekable();
    cells.peek().is_some() && cells.all(number)
}

fn numeric(head: &[String], rows: &[Vec<String>]) -> Vec<bool> {
    // A formula may begin with a number, and is none.
    let of =
        |k: usize| head[k] != "formula" && is_numeric(rows.iter().filter_map(|row| row.get(k)).map(String::as_str));
    (0..head.len()).map(of).collect()
}

/// Words of verdicts, and the class of their colour.
const VERDICTS: [(&str, &[&str]); 4] = [
    ("good", &["yes", "identical", "consistent"]),
    ("open", &["inconclusive", "direction", "not comparable", "not decided"]),
    ("bad", &["DIFF", "differs"]),
    ("none", &["not run"]),
];

/// The class of a cell that is a verdict, or begins with one.
fn verdict(text: &str) -> Option<&'static str> {
    let begins = |word: &&str| {
        text.strip_prefix(*word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',', ':', ';']))
    };
    VERDICTS.iter().find(|(_, words)| words.iter().any(begins)).map(|(class, _)| *class)
}

/// The file of a page in one of its forms.
pub(super) fn page_file(name: &str, ending: &str) -> String {
    format!("{name}.{ending}")
}

/// The links below a figure, to its data and to itself.
fn links_in_html(file: &str) -> String {
    format!(" <a href=\"{0}.csv\">data</a> <a href=\"{0}.svg\">figure</a>", url(file))
}

/// The end of a figure as a picture, and the link to its data.
fn links_in_markdown(file: &str) -> [String; 2] {
    let file = url(file);
    [format!("]({file}.svg)"), format!("([data]({file}.csv))")]
}

/// Whether a page, in one of its forms or both, has a figure with these files.
pub(super) fn has_figure(page: &str, file: &str) -> bool {
    page.contains(&links_in_html(file)) || links_in_markdown(file).iter().all(|link| page.contains(link))
}

/// Letters from which on a cell may be broken into lines.
const LONG: usize = 48;

/// Links beneath every HTML figure stay within the folder of the page.
pub fn html(title: &str, blocks: &[Block]) -> String {
    let mut body = String::new();
    let mut put = |line: String| writeln!(body, "{line}").expect("a string takes everything");
    let anchors = anchors(blocks);
    for (k, block) in blocks.iter().enumerate() {
        let id = anchors[k].as_deref().map_or(String::new(), |anchor| format!(" id=\"{}\"", escape(anchor)));
        match block {
            Block::Title(text) => put(format!("<h1{id}>{}</h1>", escape(text))),
            Block::Heading(text) => put(format!("<h2{id}>{}</h2>", escape(text))),
            Block::Contents => {
                let link = |(text, anchor): &(&str, &str)| {
                    format!("<li><a href=\"#{}\">{}</a></li>", escape(anchor), escape(text))
                };
                let links: String = contents(blocks, &anchors, k).iter().map(link).collect();
                if !links.is_empty() {
                    put(format!("<nav><ul>{links}</ul></nav>"));
                }
            }
            Block::Prose(text) | Block::Text(text) => {
                text.split("\n\n").for_each(|part| put(format!("<p>{}</p>", escape(part.trim()))))
            }
            Block::Code(text) => put(format!("<pre><code>{}</code></pre>", escape(text))),
            Block::Figure { file, caption, svg, narrow } => {
                let narrow = if narrow.is_empty() { svg } else { narrow };
                // A figure without files of its own has nothing to link to.
                let links = match file.as_str() {
                    "" => String::new(),
                    file => links_in_html(file),
                };
                put(format!(
                    "<figure>\n<div class=\"page\">{svg}</div><div class=\"phone\">{narrow}</div><figcaption>{}{links}</figcaption></figure>",
                    escape(caption)
                ));
            }
            Block::Table { head, rows } => table(&mut put, head, rows, |_, text| escape(text)),
            Block::Numbered { head, rows } => {
                table(&mut put, head, rows, |k, text| match anchor_of(blocks, &anchors, text).filter(|_| k == 0) {
                    Some(anchor) => format!("<a href=\"#{}\">{}</a>", escape(anchor), escape(text)),
                    None => escape(text),
                })
            }
            Block::List(items) => {
                put("<ul>".into());
                items.iter().for_each(|item| put(format!("<li>{}</li>", escape(item))));
                put("</ul>".into());
            }
            Block::Links(links) => {
                put("<ul>".into());
                for Link { text, page, note } in links {
                    let colon = if note.is_empty() { "" } else { ": " };
                    let (text, page, note) = (escape(text), url(page), escape(note));
                    put(format!("<li><a href=\"{page}.html\">{text}</a>{colon}{note}</li>"));
                }
                put("</ul>".into());
            }
        }
    }
    let (style, script) = (include_str!("page.css"), include_str!("page.js"));
    let script = if body.contains("<table>") { format!("<script>\n{script}</script>\n") } else { String::new() };
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<title>{}</title>\n<style>\n{style}</style></head>\n<body>\n{body}{script}</body></html>\n",
        escape(title)
    )
}

/// A table that scrolls if it must, and is sorted by a click on a head. Cells are shown as `show` writes those of a column.
fn table(put: &mut impl FnMut(String), head: &[String], rows: &[Vec<String>], show: impl Fn(usize, &str) -> String) {
    let numeric = numeric(head, rows);
    let class = |classes: &[&str]| match classes {
        [] => String::new(),
        all => format!(" class=\"{}\"", all.join(" ")),
    };
    let right = |k: usize| numeric.get(k).is_some_and(|is| *is).then_some("n");
    put("<p class=\"cue\">\u{2194} scroll sideways for more columns</p>".into());
    put("<div class=\"scroll\" tabindex=\"0\"><table>".into());
    let heads = head.iter().enumerate().map(|(k, text)| {
        format!("<th scope=\"col\" tabindex=\"0\"{}>{}</th>", class(right(k).as_slice()), escape(text))
    });
    put(format!("<thead><tr>{}</tr></thead>\n<tbody>", heads.collect::<String>()));
    for row in rows {
        let cells = row.iter().enumerate().map(|(k, text)| {
            let long = (text.chars().count() > LONG).then_some("long");
            let classes: Vec<&str> = [right(k), verdict(text), long].into_iter().flatten().collect();
            let shown = show(k, text);
            format!("<td{}>{}</td>", class(&classes), if long.is_some() { unbroken(&shown) } else { shown })
        });
        put(format!("<tr>{}</tr>", cells.collect::<String>()));
    }
    put("</tbody></table></div>".into());
}

/// Numbers such as 1e-5 are not to be broken at their sign.
fn unbroken(html: &str) -> String {
    let is_number = |word: &str| {
        let mut parts = word.split("e-");
        let before = parts.next().is_some_and(|part| part.ends_with(|c: char| c.is_ascii_digit()));
        before && parts.next().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()))
    };
    let words = html.split(' ').map(|word| match is_number(word) {
        true => format!("<span class=\"whole\">{word}</span>"),
        false => word.into(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The same in Markdown, with figures as links.
pub fn markdown(blocks: &[Block]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let anchors = anchors(blocks);
    for (k, block) in blocks.iter().enumerate() {
        parts.push(match block {
            Block::Title(title) => format!("# {}", plain(title)),
            Block::Heading(title) => format!("## {}", plain(title)),
            Block::Contents => {
                let link = |(text, anchor): &(&str, &str)| format!("* [{}](#{anchor})", alternative(text));
                let links: Vec<String> = contents(blocks, &anchors, k).iter().map(link).collect();
                if links.is_empty() {
                    continue;
                }
                links.join("\n")
            }
            Block::Prose(text) => text.clone(),
            Block::Text(text) => plain(text),
            Block::Code(text) => format!("```\n{text}\n```"),
            Block::Figure { file, caption, .. } => {
                let [picture, data] = links_in_markdown(file);
                format!("![{}{picture}\n\n{} {data}", alternative(caption), plain(caption))
            }
            Block::Table { head, rows } | Block::Numbered { head, rows } => {
                let linked = matches!(block, Block::Numbered { .. });
                let shown = |(k, text): (usize, &String)| match anchor_of(blocks, &anchors, text) {
                    Some(anchor) if linked && k == 0 => format!("[{}](#{anchor})", cell(text)),
                    _ => cell(text),
                };
                let line = |row: &[String]| {
                    format!("| {} |", row.iter().enumerate().map(shown).collect::<Vec<_>>().join(" | "))
                };
                let rule: String =
                    numeric(head, rows).iter().map(|right| if *right { "---:|" } else { "---|" }).collect();
                let lines = [line(head), format!("|{rule}")].into_iter().chain(rows.iter().map(|row| line(row)));
                lines.collect::<Vec<_>>().join("\n")
            }
            Block::List(items) => items.iter().map(|item| format!("* {}", plain(item))).collect::<Vec<_>>().join("\n"),
            Block::Links(links) => {
                let line = |Link { text, page, note }: &Link| {
                    let colon = if note.is_empty() { "" } else { ": " };
                    format!("* [{}]({}.md){colon}{}", alternative(text), url(page), plain(note))
                };
                links.iter().map(line).collect::<Vec<_>>().join("\n")
            }
        });
    }
    parts.join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Vec<Block> {
        let row = |cells: [&str; 4]| cells.map(String::from).to_vec();
        vec![
            Block::Title("A page".into()),
            Block::Contents,
            Block::Heading("All results: U[1,2)".into()),
            Block::Table {
                head: row(["model", "success", "agrees?", "note"]),
                rows: vec![
                    row(["NMU", "18 of 20: 0.90", "yes", "1e-3"]),
                    row(["sNMU", "not run", "DIFF", "–"]),
                    row(["MUL", "–", "identical (20 of 20)", "-2"]),
                ],
            },
            Block::Heading("Same".into()),
            Block::Heading("Same".into()),
        ]
    }

    #[test]
    fn contents_lead_to_headings() {
        let (html, markdown) = (html("A page", &page()), markdown(&page()));
        for anchor in ["all-results-u12", "same", "same-1"] {
            assert!(
                html.contains(&format!("<a href=\"#{anchor}\">")) && html.contains(&format!("<h2 id=\"{anchor}\">")),
                "{html}"
            );
            assert!(markdown.contains(&format!("](#{anchor})")), "{markdown}");
        }
        // Two headings are found without.
        assert!(!super::html("x", &page()[..4]).contains("<nav>") && !super::markdown(&page()[..4]).contains("](#"));
    }

    #[test]
    fn numbers_of_headings_lead_to_them() {
        let rows = [["1", "a"], ["2", "1"], ["12", "c"]].map(|row| row.map(String::from).to_vec()).to_vec();
        let head = vec!["#".to_string(), "what".to_string()];
        let page = [Block::Numbered { head, rows }, Block::Heading("12. C".into()), Block::Heading("1. A: 2".into())];
        let (html, markdown) = (html("x", &page), markdown(&page));
        assert!(markdown.contains("| [1](#1-a-2) | a |\n| 2 | 1 |\n| [12](#12-c) | c |"), "{markdown}");
        assert!(html.contains("<a href=\"#1-a-2\">1</a>") && html.contains("<h2 id=\"1-a-2\">"), "{html}");
        assert!(html.contains("<td class=\"n\">2</td><td>1</td>"), "{html}");
    }

    #[test]
    fn numbers_stand_right_and_verdicts_have_colours() {
        let html = html("A page", &page());
        assert!(html.contains("<td>NMU</td><td class=\"n\">18 of 20: 0.90</td><td class=\"good\">yes</td>"), "{html}");
        assert!(
            html.contains("<td class=\"n none\">not run</td><td class=\"bad\">DIFF</td><td class=\"n\">–</td>"),
            "{html}"
        );
        assert!(html.contains("<td class=\"good\">identical (20 of 20)</td>"), "{html}");
        assert!(markdown(&page()).contains("\n|---|---:|---|---:|\n"));
        // Long cells are broken between words, and not within numbers.
        let long = "the smallest of all of these errors is 2.5e-13, so that nobody needs a smaller one than that";
        let rows = vec![vec![long.to_string()], vec!["1e-5".to_string()]];
        let table = super::html("x", &[Block::Table { head: vec!["note".to_string()], rows }]);
        assert!(table.contains(" is <span class=\"whole\">2.5e-13,</span> so that"), "{table}");
        assert!(table.contains("<td>1e-5</td>") || table.contains("<td class=\"n\">1e-5</td>"), "{table}");
        assert_eq!([verdict("note"), verdict("nobody"), verdict("differs, p = 0.1")], [None, None, Some("bad")]);
    }
}
