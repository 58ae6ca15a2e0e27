//! Rows into pages: HTML that opens from a file, the same in Markdown, every figure as SVG, every figure's data as CSV.

#[cfg(feature = "images")]
mod digits;
mod escape;
mod failures;
mod origin;
pub mod page;
mod paired;
pub mod readme;
mod tables;

use crate::error::Result;
use crate::figure::{self, Kind};
use crate::files::{self, Files};
use crate::summary::Results;
use crate::task::Measures;
use page::Block;
use std::collections::BTreeMap;
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
    /// Every number of every cell, by metric, model and place, for texts that quote them.
    pub numbers: BTreeMap<String, String>,
}

/// Writes `<name>.html` and `<name>.md`, and for each figure an SVG and a CSV file, into a folder.
pub fn write(results: &Results<'_>, kinds: &[Kind], files: &dyn Files, folder: &Path) -> Result<Found> {
    let save = |name: &str, text: &str| files::replace(files, &folder.join(name), text.as_bytes());
    let experiment = results.experiment;
    let compared = results.comparisons();
    let mut blocks = vec![Block::Title(experiment.title.clone())];
    if !experiment.analysis.is_empty() {
        blocks.push(Block::Prose(experiment.analysis.clone()));
    }
    blocks.extend([Block::Code(experiment.command.clone()), Block::Contents]);
    let mut figures = Vec::new();
    let drawn = figure::all(results, kinds);
    if !drawn.is_empty() {
        blocks.push(Block::Heading(if drawn.len() == 1 { "Figure" } else { "Figures" }.into()));
    }
    for figure in drawn {
        let file = format!("{}{}", experiment.name, figure.suffix);
        save(&format!("{file}.svg"), &figure.svg)?;
        save(&format!("{file}.csv"), &csv(&figure.data))?;
        figures.push(file.clone());
        blocks.push(Block::Figure { file, caption: figure.caption, svg: figure.svg, narrow: figure.narrow });
    }
    blocks.extend(tables::comparisons(experiment, &compared));
    for (k, section) in experiment.sections.iter().enumerate() {
        match section.measures {
            Measures::Runs => blocks.extend(tables::results(results, k)),
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
    blocks.push(Block::Heading("Where the numbers come from".into()));
    let scale = if experiment.scale.is_empty() { String::new() } else { format!("Scale: {}. ", experiment.scale) };
    blocks.push(Block::Text(scale + &origin::text(results)));
    save(&format!("{}.html", experiment.name), &page::html(&experiment.title, &blocks))?;
    save(&format!("{}.md", experiment.name), &page::markdown(&blocks))?;
    let agree = compared.iter().filter(|c| c.agrees).count();
    let numbers = numbers(results);
    Ok(Found { agree, compared: compared.len(), rows: results.found(), blocks, figures, numbers })
}

/// Every number of every cell, by metric, model, place and section; without the section where that is enough.
fn numbers(results: &Results<'_>) -> BTreeMap<String, String> {
    let mut numbers: BTreeMap<String, Option<String>> = BTreeMap::new();
    for cell in &results.cells {
        let shown = results.metrics.iter().filter_map(|m| Some((m.name, (m.show)(cell.get(m.name).mean?))));
        let solved = format!("{} of {}", cell.solved, cell.n);
        let success = cell.get("success");
        let rate = success.lower.zip(success.upper).map(|(low, high)| format!("{solved} [{low:.2}, {high:.2}]"));
        let counted = [("n", cell.n.to_string()), ("solved", solved)];
        for (name, number) in shown.chain(counted).chain(rate.map(|rate| ("rate", rate))) {
            let own = format!("{name}; {}; {}", cell.label, cell.place);
            numbers.insert(format!("{own}; {}", results.experiment.sections[cell.section].name), Some(number.clone()));
            numbers.entry(own).and_modify(|known| *known = None).or_insert(Some(number));
        }
    }
    numbers.into_iter().filter_map(|(name, number)| Some((name, number?))).collect()
}

/// Writes `index.html` and `index.md`: all experiments on one page.
pub fn write_index(found: Vec<Found>, files: &dyn Files, folder: &Path) -> Result<()> {
    let save = |name: &str, text: &str| files::replace(files, &folder.join(name), text.as_bytes());
    let (agree, compared) = found.iter().fold((0, 0), |(a, c), f| (a + f.agree, c + f.compared));
    let title = "Neural Arithmetic Logic Modules: published and ours";
    let mut blocks =
        vec![Block::Title(title.into()), Block::Text(format!("{agree} of {compared} published values agree."))];
    blocks.extend(found.into_iter().flat_map(|found| found.blocks));
    save("index.html", &page::html(title, &blocks))?;
    save("index.md", &page::markdown(&blocks))
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
