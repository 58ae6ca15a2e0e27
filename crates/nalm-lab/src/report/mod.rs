//! Rows into pages: HTML that opens from a file, the same in Markdown, every figure as SVG, every figure's data as CSV.

use crate::figure;
use crate::page::{self, Block};
use crate::row::Row;
use crate::stats::paired::{self, Judged};
use crate::store::Contents;
use crate::suite::Experiment;
use crate::summary::{Cell, Comparison, Results, show};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// What a report found, for the line that the command prints.
pub(crate) struct Found {
    pub(crate) agree: usize,
    pub(crate) compared: usize,
    /// Rows that the experiment wants and the store holds.
    pub(crate) rows: usize,
    /// The page as blocks, for a page of all experiments.
    pub(crate) blocks: Vec<Block>,
    /// Names of the figures' files, without extension.
    pub(crate) figures: Vec<String>,
}

/// Writes `<name>.html` and `<name>.md`, and for each figure an SVG and a CSV file, into a folder.
pub(crate) fn write(experiment: &Experiment, contents: &Contents, folder: &Path) -> Result<Found> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let results = Results::new(experiment, &contents.rows);
    let compared = results.comparisons(experiment);
    let mut blocks = vec![Block::Title(experiment.title.clone())];
    let mut figures = Vec::new();
    for figure in figure::all(experiment, &results) {
        let file = format!("{}{}", experiment.name, figure.suffix);
        save(folder, &format!("{file}.svg"), &figure.svg)?;
        save(folder, &format!("{file}.csv"), &csv(&figure.data)?)?;
        figures.push(file.clone());
        blocks.push(Block::Figure { file, caption: figure.caption, svg: figure.svg });
    }
    blocks.push(Block::Text(experiment.analysis.clone()));
    blocks.push(Block::Code(experiment.command.clone()));
    let ids: Vec<&str> = results.rows.iter().flatten().map(|row| row.id.as_str()).collect();
    blocks.push(Block::Text(origin(experiment.runs.len(), &ids, contents)));
    if !compared.is_empty() {
        blocks.push(Block::Heading("Published and ours".into()));
        blocks.push(comparison_table(experiment, &compared));
    }
    for (k, section) in experiment.sections.iter().enumerate() {
        let cells: Vec<&Cell> = results.cells.iter().filter(|cell| cell.section == k).collect();
        if !cells.is_empty() {
            let of = if section.name.is_empty() { String::new() } else { format!(": {}", section.name) };
            blocks.push(Block::Heading(format!("All results{of}")));
            blocks.push(result_table(&cells));
        }
    }
    blocks.extend(paired_tables(experiment, &results));
    let failed = failures(experiment, &results);
    if !failed.is_empty() {
        blocks.push(Block::Heading("Seeds that failed".into()));
        blocks.push(Block::List(failed));
    }
    save(folder, &format!("{}.html", experiment.name), &page::html(&experiment.title, &blocks))?;
    save(folder, &format!("{}.md", experiment.name), &page::markdown(&blocks))?;
    let agree = compared.iter().filter(|c| c.agrees).count();
    Ok(Found { agree, compared: compared.len(), rows: results.rows.iter().flatten().count(), blocks, figures })
}

/// Writes `index.html` and `index.md`: all experiments on one page.
pub(crate) fn write_index(found: Vec<Found>, folder: &Path) -> Result<()> {
    let (agree, compared) = found.iter().fold((0, 0), |(a, c), f| (a + f.agree, c + f.compared));
    let mut blocks = vec![
        Block::Title("Neural Arithmetic Logic Modules: published and ours".into()),
        Block::Text(format!("{agree} of {compared} published values agree.")),
    ];
    blocks.extend(found.into_iter().flat_map(|found| found.blocks));
    save(folder, "index.html", &page::html("Neural Arithmetic Logic Modules: published and ours", &blocks))?;
    save(folder, "index.md", &page::markdown(&blocks))
}

/// Writes one file of a report.
pub(crate) fn save(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

pub(crate) fn csv(data: &[Vec<String>]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in data {
        writer.write_record(record)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// Where the rows come from, as the segments say that held them.
pub(crate) fn origin(planned: usize, found: &[&str], contents: &Contents) -> String {
    let mut text = match planned {
        0 => "Computed without training.".to_string(),
        all => format!("{} of {all} runs.", found.len()),
    };
    let mut sessions: Vec<usize> = found.iter().filter_map(|id| contents.session_of.get(*id).copied()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let list = |of: fn(&crate::store::Session) -> String| {
        let mut found: Vec<String> = sessions.iter().map(|&k| of(&contents.sessions[k])).collect();
        found.sort();
        found.dedup();
        found.join("; ")
    };
    if !sessions.is_empty() {
        text += &format!(
            " Made {} by {} on {}.",
            list(|s| crate::store::date(s.started)),
            list(|s| format!("nalm {} (revision {}, numerics {})", s.version, known(&s.revision), s.numerics)),
            list(|s| known(&s.machine).into())
        );
        let total = |of: fn(&crate::store::Session) -> Option<f64>| {
            sessions.iter().map(|&k| of(&contents.sessions[k])).sum::<Option<f64>>()
        };
        if let (Some(seconds), Some(cpu)) = (total(|s| s.seconds), total(|s| s.cpu_seconds)) {
            text += &format!(
                " The processes that did so (and perhaps other runs) took {seconds:.0} s, {cpu:.0} s of processor time."
            );
        }
    }
    text
}

/// What a header says, or that it does not.
fn known(text: &str) -> &str {
    if text.is_empty() { "not noted" } else { text }
}

/// The table of published values beside ours.
pub(crate) fn comparison_table(experiment: &Experiment, compared: &[Comparison<'_>]) -> Block {
    let several = experiment.sections.len() > 1;
    let rows = compared.iter().map(|c| {
        let e = c.expectation;
        let mut name = e.model.map_or("–".into(), |model| experiment.models[model].clone());
        if several && e.model.is_some() {
            name += &format!(" ({})", experiment.sections[e.section].name);
        }
        let verdict = if c.agrees { "yes" } else { "DIFF" };
        vec![name, e.range.clone(), c.published.clone(), c.ours.clone(), verdict.into(), e.source.clone()]
    });
    Block::Table {
        head: texts(&["model", "range", "published", "ours [95 %]", "agrees?", "source"]),
        rows: rows.collect(),
    }
}

pub(crate) fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn result_table(cells: &[&Cell]) -> Block {
    let small = |v: f64| format!("{v:.1e}");
    let rate = |v: f64| format!("{v:.2}");
    let mut head =
        texts(&["model", "range", "success", "solved at", "sparsity error", "error inside", "error outside"]);
    let both = cells.iter().any(|cell| cell.simulated.is_some());
    if both {
        head.push("success, simulated threshold".into());
    }
    let rows = cells.iter().map(|c| {
        let mut row = vec![
            c.label.clone(),
            c.range.clone(),
            format!("{} of {}: {}", c.solved, c.n, show(c.success, rate)),
            show(c.solved_at, |v| format!("{v:.0}")),
            show(c.sparsity, small),
            show(c.validation_error, small),
            show(c.test_error, small),
        ];
        if both {
            row.push(c.simulated.map_or("–".into(), |e| show(e, rate)));
        }
        row
    });
    Block::Table { head, rows: rows.collect() }
}

/// Every model against every baseline over common ranges and seeds, section by section.
fn paired_tables(experiment: &Experiment, results: &Results<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let pairs_of = |section: usize, model: usize, baseline: usize| {
        let groups = |of: usize| experiment.groups.iter().filter(move |g| g.section == section && g.model == of);
        let mut pairs = Vec::new();
        for group in groups(model) {
            let Some(other) = groups(baseline).find(|other| other.range == group.range) else { continue };
            let rows = results.rows[group.runs.clone()].iter().zip(&results.rows[other.runs.clone()]);
            pairs.extend(rows.filter_map(|(a, b)| Some((judged((*a)?), judged((*b)?)))));
        }
        pairs
    };
    for (section, baseline) in
        (0..experiment.sections.len()).flat_map(|s| experiment.baselines.iter().map(move |&b| (s, b)))
    {
        if experiment.sections[section].grid.is_some() {
            continue;
        }
        let mut rows = Vec::new();
        for model in (0..experiment.models.len()).filter(|&model| model != baseline) {
            let pairs = pairs_of(section, model, baseline);
            if pairs.is_empty() {
                continue;
            }
            let p = paired::compare(&pairs);
            rows.push(vec![
                experiment.models[model].clone(),
                p.pairs.to_string(),
                p.only_a.to_string(),
                p.only_b.to_string(),
                format!("{:.2e}", p.mcnemar_p),
                format!("{} of {}", p.a_first, p.both_solved),
                format!("{} of {}", p.b_first, p.both_solved),
                format!("{:.2e}", p.sign_test_p),
            ]);
        }
        if !rows.is_empty() {
            let (name, base) = (&experiment.sections[section].name, &experiment.models[baseline]);
            let of = if name.is_empty() { String::new() } else { format!(": {name}") };
            blocks.push(Block::Heading(format!("Seed by seed against {base}{of}")));
            let only = format!("only {base} solves");
            let first = format!("{base} first");
            let head = ["model", "pairs", "only it solves", &only, "McNemar p", "it is first", &first, "sign test p"];
            blocks.push(Block::Table { head: texts(&head), rows });
        }
    }
    blocks
}

fn judged(row: &Row) -> Judged {
    Judged { solved: row.is_solved(), solved_at: row.solved_step().map(|step| step as f64) }
}

/// Failed seeds by where they ended.
fn failures(experiment: &Experiment, results: &Results<'_>) -> Vec<String> {
    let mut ends: BTreeMap<(usize, usize, String, String), Vec<u64>> = BTreeMap::new();
    for group in experiment.groups.iter().filter(|group| experiment.sections[group.section].grid.is_none()) {
        for row in results.rows[group.runs.clone()].iter().copied().flatten().filter(|row| !row.is_solved()) {
            let key = (group.section, group.model, group.range.clone(), end(row));
            ends.entry(key).or_default().push(row.spec.seed);
        }
    }
    let several = experiment.sections.len() > 1;
    let line = |((section, model, range, end), seeds): (&(usize, usize, String, String), &Vec<u64>)| {
        let shown: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
        let more = if seeds.len() > 8 { ", …" } else { "" };
        let of = if several { format!(" ({})", experiment.sections[*section].name) } else { String::new() };
        let s = if seeds.len() == 1 { ("seed", "ends") } else { ("seeds", "end") };
        let name = &experiment.models[*model];
        format!("{name} on {range}{of}: {} {} {} {end} ({}{more})", seeds.len(), s.0, s.1, shown.join(", "))
    };
    ends.iter().map(line).collect()
}

/// Where a failed run ended: its last layer's weights to one digit, if they are few.
fn end(row: &Row) -> String {
    if let Some(reason) = &row.reason {
        return format!("{} ({reason})", row.status);
    }
    let own = row.spec.network().ok().and_then(|network| network.layers().last().map(|layer| layer.param_len()));
    match own {
        Some(n @ 1..=3) if row.weights.len() >= n => {
            let weights = &row.weights[row.weights.len() - n..];
            let shown: Vec<String> =
                weights.iter().map(|w| w.map_or("NaN".into(), |w| format!("{:.1}", w + 0.0))).collect();
            format!("with weights ({})", shown.join(", "))
        }
        _ => "unsolved".into(),
    }
}
