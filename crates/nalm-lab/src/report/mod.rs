//! Rows into pages: HTML that opens from a file, the same in Markdown, every figure as SVG, every figure's data as CSV.

mod beside;
pub mod claims;
#[cfg(feature = "images")]
mod digits;
mod escape;
mod failures;
pub mod numbers;
mod origin;
pub mod page;
mod paired;
pub mod parts;
pub mod readme;
mod tables;

use crate::error::Result;
use crate::figure::{self, Kind};
use crate::files::{self, Files};
use crate::summary::verdict::counts;
use crate::summary::{Results, Verdict};
use crate::task::Measures;
pub(crate) use beside::ensure_free;
use escape::{unescaped, url};
use page::{Block, Link};
use std::collections::BTreeMap;
use std::path::Path;

/// What every page ends with, by which pages are known.
const ORIGIN: &str = "Where the numbers come from";
/// The title of an index, by which it is known.
const INDEX: &str = "Neural Arithmetic Logic Modules: published and ours";

/// What a report found, for the line that a command prints.
#[derive(Default)]
pub struct Found {
    /// Its title.
    pub title: String,
    /// Its name, which is that of its page.
    pub name: String,
    /// What became of published values.
    pub verdicts: Vec<Verdict>,
    /// Rows that the experiment wants and the store holds.
    pub rows: usize,
    /// The page as blocks, for a page of all experiments.
    pub blocks: Vec<Block>,
    /// Names of the figures' files, without extension.
    pub figures: Vec<String>,
    /// Figures that were asked for and could not be drawn, in words.
    pub not_drawn: Vec<String>,
    /// Every number of every cell, by metric, model and place, for texts that quote them.
    pub numbers: BTreeMap<String, String>,
}

/// Writes `<name>.html` and `<name>.md`, and for each figure an SVG and a CSV file, into a folder. Files of figures that an earlier page of
/// that name had, and this one has not, are removed.
pub fn write(results: &Results<'_>, kinds: &[Kind], files: &dyn Files, folder: &Path) -> Result<Found> {
    let save = |name: &str, text: &str| files::replace(files, &folder.join(name), text.as_bytes());
    let experiment = results.experiment;
    let compared = results.comparisons();
    let mut blocks = vec![Block::Title(experiment.title.clone())];
    blocks.extend(origin::incomplete(results).map(Block::Text));
    if !experiment.analysis.is_empty() {
        blocks.push(Block::Prose(experiment.analysis.clone()));
    }
    if experiment.built_in && !["paper", "laptop"].contains(&experiment.preset.as_str()) && !experiment.runs.is_empty()
    {
        let text = "Here it is shortened (preset {}): what was run stands below, and runs that are shorter than the published ones decide nothing.";
        blocks.push(Block::Text(text.replace("{}", &experiment.preset)));
    }
    blocks.extend([Block::Code(experiment.command.clone()), Block::Contents]);
    let mut figures = Vec::new();
    let mut written = Vec::new();
    let (drawn, missing) = figure::all(results, kinds);
    if !drawn.is_empty() {
        blocks.push(Block::Heading(if drawn.len() == 1 { "Figure" } else { "Figures" }.into()));
    }
    for figure in drawn {
        let file = format!("{}{}", experiment.name, figure.suffix);
        written.extend([(format!("{file}.svg"), figure.svg.clone()), (format!("{file}.csv"), csv(&figure.data))]);
        figures.push(file.clone());
        blocks.push(Block::Figure { file, caption: figure.caption, svg: figure.svg, narrow: figure.narrow });
    }
    let why = |kind: &&Kind| format!("no figure '{}': it needs {}", kind.name, kind.needs);
    let not_drawn: Vec<String> = missing.iter().map(why).collect();
    if !not_drawn.is_empty() {
        blocks.push(Block::List(not_drawn.clone()));
    }
    blocks.extend(tables::comparisons(experiment, &compared));
    for (k, section) in experiment.sections.iter().enumerate() {
        match section.measures {
            Measures::Runs => blocks.extend(tables::results(results, k).into_iter().map(without_empty_columns)),
            #[cfg(feature = "images")]
            Measures::Products { .. } => blocks.extend(digits::products(results, k)),
            #[cfg(feature = "images")]
            Measures::Sequences => blocks.extend(digits::sequences(results, k)),
            #[cfg(not(feature = "images"))]
            _ => {}
        }
    }
    blocks.extend(paired::tables(results));
    blocks.extend(failures::list(results));
    blocks.extend(failures::not_carried_out(results));
    let runs = origin::runs(results);
    if !runs.is_empty() {
        blocks.extend([Block::Heading("What was run".into()), Block::List(runs)]);
    }
    blocks.push(Block::Heading(ORIGIN.into()));
    let scale = if experiment.scale.is_empty() { String::new() } else { format!("Scale: {}. ", experiment.scale) };
    blocks.push(Block::Text(scale + &origin::text(results)));
    let stale = beside::stale(files, &experiment.name, &figures, folder)?;
    // The page comes first: its files are then known to be its own, wherever writing stops. Its other form still names those that go.
    save(&page::page_file(&experiment.name, "html"), &page::html(&experiment.title, &blocks))?;
    written.iter().try_for_each(|(name, text)| save(name, text))?;
    beside::remove(files, &stale)?;
    save(&page::page_file(&experiment.name, "md"), &page::markdown(&blocks))?;
    Ok(Found {
        title: experiment.title.clone(),
        name: experiment.name.clone(),
        verdicts: compared.iter().map(|c| c.verdict).collect(),
        rows: results.found(),
        blocks,
        figures,
        not_drawn,
        numbers: numbers::of(results),
    })
}

/// Writes `index.html` and `index.md`: one line for every experiment, and what became of what was published.
pub fn write_index(found: &[Found], files: &dyn Files, folder: &Path) -> Result<()> {
    let save = |name: &str, text: &str| files::replace(files, &folder.join(name), text.as_bytes());
    let title = INDEX;
    let link = |found: &Found| Link {
        text: found.title.clone(),
        page: found.name.clone(),
        note: match found.verdicts.is_empty() {
            true => String::new(),
            false => counts(found.verdicts.iter().copied()),
        },
    };
    let all = found.iter().flat_map(|found| found.verdicts.iter().copied());
    let mut blocks = vec![Block::Title(title.into())];
    // It counts every statement of the paper once.
    let claims = files::read(files, &folder.join("claims.md")).ok().and_then(|text| String::from_utf8(text).ok());
    let headline = claims.as_deref().and_then(claims::headline_of);
    blocks.extend(headline.map(|headline| Block::Text(headline.into())));
    if claims.is_some() {
        let claims = Link { text: "What the paper claims".into(), page: "claims".into(), note: CLAIMS.into() };
        blocks.push(Block::Links(vec![claims]));
    }
    let kept = kept(found, files, folder);
    // Of pages that were written before, the numbers stand behind their links.
    let counted = if kept.is_empty() { format!(": {}", counts(all)) } else { String::new() };
    blocks.push(Block::Text(format!("Experiment by experiment, every comparison by itself{counted}.")));
    blocks.push(Block::Links(found.iter().map(link).chain(kept).collect()));
    save("index.html", &page::html(title, &blocks))?;
    let mut text = page::markdown(&blocks);
    if let Some(headline) = headline {
        // Claims that are made later fill it in again.
        text = text.replacen(headline, &readme::marked("claims; headline", headline), 1);
    }
    save("index.md", &text)
}

/// The links of an earlier index to pages that are still there and that are not written anew.
fn kept(found: &[Found], files: &dyn Files, folder: &Path) -> Vec<Link> {
    let text = |name: &str| {
        let bytes = files::read(files, &folder.join(name)).ok()?;
        String::from_utf8(bytes).ok()
    };
    let Some(index) = text("index.md") else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".html").map(String::from));
    }
    names.retain(|name| found.iter().all(|found| found.name != *name));
    let link = |line: &str| {
        let page =
            names.iter().find(|name| line.starts_with("* [") && line.contains(&format!("]({}.md)", url(name))))?;
        let html = text(&format!("{page}.html")).filter(|html| html.contains(ORIGIN))?;
        let title = html.split_once("<title>")?.1.split_once("</title>")?.0;
        let note = line.rsplit_once(".md): ").map_or("", |(_, note)| note);
        Some(Link { text: unescaped(title), page: page.clone(), note: note.into() })
    };
    index.lines().filter_map(link).collect()
}

/// What the page of claims is.
const CLAIMS: &str = "every statement once, with its verdict";

/// Records as CSV.
pub fn csv(data: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in data {
        writer.write_record(record).expect("a vector takes everything");
    }
    String::from_utf8(writer.into_inner().expect("a vector takes everything")).expect("texts are UTF-8")
}

/// A heading and a table, if it has rows. Cells carry the names of their columns.
fn table(title: &str, rows: Vec<Vec<(&str, String)>>) -> Vec<Block> {
    let Some(first) = rows.first() else { return Vec::new() };
    let head = first.iter().map(|(name, _)| name.to_string()).collect();
    let rows = rows.into_iter().map(|row| row.into_iter().map(|(_, cell)| cell).collect()).collect();
    vec![Block::Heading(title.into()), Block::Table { head, rows }]
}

/// The same without columns in which nothing stands, as that of the ranges of a task without such.
fn without_empty_columns(block: Block) -> Block {
    let Block::Table { head, rows } = block else { return block };
    let stands = |k: usize| rows.iter().any(|row| row.get(k).is_some_and(|cell| !cell.is_empty()));
    let kept: Vec<usize> = (0..head.len()).filter(|k| stands(*k)).collect();
    let of = |row: &Vec<String>| kept.iter().filter_map(|&k| row.get(k).cloned()).collect();
    Block::Table { head: of(&head), rows: rows.iter().map(of).collect() }
}
