//! A page as blocks, and the two forms it is written in.

use super::escape::{alternative, cell, plain, url};
use crate::figure::svg::escape;
use std::fmt::Write;

/// A part of a page.
pub enum Block {
    /// The title of a page.
    Title(String),
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
        /// The name of its files, without extension.
        file: String,
        /// What stands below it.
        caption: String,
        /// The drawing.
        svg: String,
    },
    /// A table.
    Table {
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

/// Links beneath every HTML figure stay within the folder of the page.
pub fn html(title: &str, blocks: &[Block]) -> String {
    let mut body = String::new();
    let mut put = |line: String| writeln!(body, "{line}").expect("a string takes everything");
    for block in blocks {
        match block {
            Block::Title(text) => put(format!("<h1>{}</h1>", escape(text))),
            Block::Heading(text) => put(format!("<h2>{}</h2>", escape(text))),
            Block::Prose(text) | Block::Text(text) => {
                text.split("\n\n").for_each(|part| put(format!("<p>{}</p>", escape(part.trim()))))
            }
            Block::Code(text) => put(format!("<pre><code>{}</code></pre>", escape(text))),
            Block::Figure { file, caption, svg } => put(format!(
                "<figure>\n{svg}<figcaption>{} <a href=\"{file}.csv\">data</a> <a href=\"{file}.svg\">figure</a></figcaption></figure>",
                escape(caption),
                file = url(file)
            )),
            Block::Table { head, rows } => {
                let cells = |tag: &str, row: &[String]| {
                    row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect::<String>()
                };
                put(format!("<div class=\"wide\"><table>\n<tr>{}</tr>", cells("th", head)));
                rows.iter().for_each(|row| put(format!("<tr>{}</tr>", cells("td", row))));
                put("</table></div>".into());
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
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{}</title>\n<style>body{{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;line-height:1.45}}\
         h1{{margin-top:2.5rem}}figure{{margin:0 0 1.5rem;overflow-x:auto}}svg{{display:block;max-width:56rem;min-width:36rem;width:100%;\
         height:auto}}figcaption{{font-size:.9rem;color:#333}}.wide{{overflow-x:auto}}table{{border-collapse:collapse;font-size:.9rem}}\
         td,th{{border-bottom:1px solid #ddd;padding:.25rem .6rem;text-align:left;white-space:nowrap}}pre{{background:#f3f3f3;\
         padding:.5rem .7rem;overflow-x:auto}}li{{overflow-wrap:anywhere}}</style></head>\n<body>\n{body}</body></html>\n",
        escape(title)
    )
}

/// The same in Markdown, with figures as links.
pub fn markdown(blocks: &[Block]) -> String {
    let mut text = String::new();
    let mut put = |line: String| writeln!(text, "{line}").expect("a string takes everything");
    for (k, block) in blocks.iter().enumerate() {
        if k > 0 {
            put(String::new());
        }
        match block {
            Block::Title(title) => put(format!("# {}", plain(title))),
            Block::Heading(title) => put(format!("## {}", plain(title))),
            Block::Prose(text) => put(text.clone()),
            Block::Text(text) => put(plain(text)),
            Block::Code(text) => put(format!("```\n{text}\n```")),
            Block::Figure { file, caption, .. } => {
                let (alternative, caption, file) = (alternative(caption), plain(caption), url(file));
                put(format!("![{alternative}]({file}.svg)\n\n{caption} ([data]({file}.csv))"));
            }
            Block::Table { head, rows } => {
                let line = |row: &[String]| {
                    format!("| {} |", row.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | "))
                };
                put(line(head));
                put(format!("|{}", "---|".repeat(head.len())));
                rows.iter().for_each(|row| put(line(row)));
            }
            Block::List(items) => items.iter().for_each(|item| put(format!("* {}", plain(item)))),
            Block::Links(links) => links.iter().for_each(|Link { text, page, note }| {
                let colon = if note.is_empty() { "" } else { ": " };
                put(format!("* [{}]({}.md){colon}{}", alternative(text), url(page), plain(note)));
            }),
        }
    }
    text
}
