//! Rows into pages: HTML that opens from a file, the same in Markdown, every figure as SVG, every figure's data as CSV.

#[cfg(feature = "images")]
mod digits;
mod failures;
mod origin;
pub mod page;
mod paired;
pub mod readme;
mod tables;

use crate::error::{Error, Result};
use crate::figure::{self, Kind};
use crate::store::Contents;
use crate::summary::Results;
use crate::task::Measures;
use page::Block;
use std::path::Path;

/// What a report found, for the line that a command prints.
pub struct Found {
    /// Published values that agree.
    pub agree: usize,
    /// Published values that could be compared.
    pub compared: usize,
    /// Rows that the experiment wants and the store holds.
    pub rows: usize,
    /// The page as blocks, for a page of all experiments.
    pub blocks: Vec<Block>,
    /// Names of the figures' files, without extension.
    pub figures: Vec<String>,
}

/// Writes `<name>.html` and `<name>.md`, and for each figure an SVG and a CSV file, into a folder.
pub fn write(results: &Results<'_>, kinds: &[Kind], contents: &Contents, folder: &Path) -> Result<Found> {
    std::fs::create_dir_all(folder).map_err(Error::file("cannot make the folder", folder))?;
    let experiment = results.experiment;
    let compared = results.comparisons();
    let mut blocks = vec![Block::Title(experiment.title.clone())];
    let mut figures = Vec::new();
    for figure in figure::all(results, kinds) {
        let file = format!("{}{}", experiment.name, figure.suffix);
        save(folder, &format!("{file}.svg"), &figure.svg)?;
        save(folder, &format!("{file}.csv"), &csv(&figure.data))?;
        figures.push(file.clone());
        blocks.push(Block::Figure { file, caption: figure.caption, svg: figure.svg });
    }
    blocks.push(Block::Text(experiment.analysis.clone()));
    blocks.push(Block::Code(experiment.command.clone()));
    let scale = if experiment.scale.is_empty() { String::new() } else { format!("Scale: {}. ", experiment.scale) };
    blocks.push(Block::Text(scale + &origin::text(results, contents)));
    blocks.extend(tables::comparisons(experiment, &compared));
    for (k, section) in experiment.sections.iter().enumerate() {
        match section.measures {
            Measures::Runs => blocks.extend(tables::results(results, k)),
            #[cfg(feature = "images")]
            Measures::Products { .. } => blocks.extend(digits::products(results)),
            #[cfg(feature = "images")]
            Measures::Sequences => blocks.extend(digits::sequences(results)),
            #[cfg(not(feature = "images"))]
            _ => {}
        }
    }
    blocks.extend(paired::tables(results));
    blocks.extend(failures::list(results));
    save(folder, &format!("{}.html", experiment.name), &page::html(&experiment.title, &blocks))?;
    save(folder, &format!("{}.md", experiment.name), &page::markdown(&blocks))?;
    let agree = compared.iter().filter(|c| c.agrees).count();
    Ok(Found { agree, compared: compared.len(), rows: results.found(), blocks, figures })
}

/// Writes `index.html` and `index.md`: all experiments on one page.
pub fn write_index(found: Vec<Found>, folder: &Path) -> Result<()> {
    let (agree, compared) = found.iter().fold((0, 0), |(a, c), f| (a + f.agree, c + f.compared));
    let title = "Neural Arithmetic Logic Modules: published and ours";
    let mut blocks =
        vec![Block::Title(title.into()), Block::Text(format!("{agree} of {compared} published values agree."))];
    blocks.extend(found.into_iter().flat_map(|found| found.blocks));
    save(folder, "index.html", &page::html(title, &blocks))?;
    save(folder, "index.md", &page::markdown(&blocks))
}

/// Writes one file of a report.
fn save(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(Error::file("cannot write", &path))
}

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
