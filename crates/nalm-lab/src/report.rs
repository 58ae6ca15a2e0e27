//! Rows into pages: one self-contained HTML file and the same in Markdown, with the figure and its data beside them.

use crate::figure::{escape, facets};
use crate::row::Row;
use crate::stats::Estimate;
use crate::suite::{Claim, Experiment};
use crate::summary::{Cell, Comparison, cells, comparisons};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a report found, for the line that the command prints.
pub(crate) struct Found {
    pub(crate) agree: usize,
    pub(crate) compared: usize,
}

/// Writes `<name>.html`, `<name>.md`, `<name>.svg` and `<name>.csv` into a folder.
pub(crate) fn write(experiment: &Experiment, rows: &BTreeMap<String, Row>, folder: &Path) -> Result<Found> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let cells = cells(experiment, rows);
    let compared = comparisons(experiment, &cells);
    let svg = facets::draw(&experiment.title, &experiment.models, &experiment.ranges, &cells);
    let markdown = markdown(experiment, rows, &cells, &compared);
    let html = html(experiment, &svg, &cells, &compared, rows);
    let csv = table(&cells)?;
    for (extension, text) in [("svg", &svg), ("md", &markdown), ("html", &html), ("csv", &csv)] {
        let path = folder.join(format!("{}.{extension}", experiment.name));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(Found { agree: compared.iter().filter(|c| c.agrees).count(), compared: compared.len() })
}

fn table(cells: &[Cell]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let kinds = ["success", "solved_at", "sparsity_error"];
    let columns = kinds.iter().flat_map(|kind| ["mean", "lower", "upper"].map(|part| format!("{kind}_{part}")));
    writer.write_record(["model", "range", "n", "solved"].map(String::from).into_iter().chain(columns))?;
    for cell in cells {
        let numbers =
            [cell.success, cell.solved_at, cell.sparsity].into_iter().flat_map(|e| [e.mean, e.lower, e.upper]);
        let numbers = numbers.map(|v| v.map_or("NA".into(), |v| v.to_string()));
        let head = [cell.label.clone(), cell.range.clone(), cell.n.to_string(), cell.solved.to_string()];
        writer.write_record(head.into_iter().chain(numbers))?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn command(experiment: &Experiment) -> String {
    format!("nalm reproduce {} --preset {}", experiment.name, experiment.preset)
}

fn claim(claim: Claim) -> String {
    match claim {
        Claim::Rate(rate) => format!("{rate}"),
        Claim::Below(bound) => format!("below {bound}"),
    }
}

fn interval(e: Estimate, f: impl Fn(f64) -> String) -> String {
    match (e.mean, e.lower, e.upper) {
        (Some(mean), Some(lower), Some(upper)) => format!("{} [{}, {}]", f(mean), f(lower), f(upper)),
        (Some(mean), ..) => f(mean),
        _ => "–".into(),
    }
}

/// Failed seeds by where they ended.
fn failures(experiment: &Experiment, rows: &BTreeMap<String, Row>) -> Vec<String> {
    let mut ends: BTreeMap<(String, String, String), Vec<u64>> = BTreeMap::new();
    for (run, model) in experiment.runs.iter().zip(&experiment.model_of) {
        let Some(row) = rows.get(&run.id()).filter(|row| !row.is_solved()) else { continue };
        let end = match (&row.reason, row.weights.len()) {
            (Some(reason), _) => format!("{} ({reason})", row.status),
            (None, 1..=3) => {
                let weights: Vec<String> =
                    row.weights.iter().map(|w| w.map_or("NaN".into(), |w| format!("{w:.2}"))).collect();
                format!("weights ({})", weights.join(", "))
            }
            _ => "not solved".into(),
        };
        ends.entry((experiment.models[*model].clone(), run.range.clone(), end)).or_default().push(run.seed);
    }
    let line = |((module, range, end), seeds): (&(String, String, String), &Vec<u64>)| {
        let shown: Vec<String> = seeds.iter().take(8).map(u64::to_string).collect();
        let more = if seeds.len() > 8 { ", …" } else { "" };
        format!("{} on {range}: {} seeds end with {end} ({}{more})", module, seeds.len(), shown.join(", "))
    };
    ends.iter().map(line).take(60).collect()
}

fn markdown(e: &Experiment, rows: &BTreeMap<String, Row>, cells: &[Cell], compared: &[Comparison<'_>]) -> String {
    let mut text =
        format!("# {}\n\n![{}]({}.svg)\n\n`{}`\n\n{}\n", e.title, e.title, e.name, command(e), e.analysis.trim());
    let mut line = |s: String| writeln!(text, "{s}").expect("a string takes everything");
    if !compared.is_empty() {
        line("\n## Published and ours\n\n| model | range | published | ours | agrees? | source |\n|---|---|---|---|---|---|".into());
        for c in compared {
            let ours = interval(c.ours, |v| format!("{v:.2}"));
            let (x, verdict) = (c.expectation, if c.agrees { "yes" } else { "DIFF" });
            line(format!(
                "| {} | {} | {} | {ours} (n = {}) | {verdict} | {} |",
                e.models[x.model],
                x.range,
                claim(x.claim),
                c.n,
                x.source
            ));
        }
    }
    line("\n## All results\n\n| model | range | success | solved at | sparsity error |\n|---|---|---|---|---|".into());
    for c in cells {
        line(format!(
            "| {} | {} | {} of {}: {} | {} | {} |",
            c.label,
            c.range,
            c.solved,
            c.n,
            interval(c.success, |v| format!("{v:.2}")),
            interval(c.solved_at, |v| format!("{v:.0}")),
            interval(c.sparsity, |v| format!("{v:.1e}"))
        ));
    }
    line("\n## Seeds that failed\n".into());
    failures(e, rows).into_iter().for_each(|failure| line(format!("* {failure}")));
    text
}

fn html(
    e: &Experiment,
    svg: &str,
    cells: &[Cell],
    compared: &[Comparison<'_>],
    rows: &BTreeMap<String, Row>,
) -> String {
    let row = |cells: &[String]| {
        format!("<tr>{}</tr>\n", cells.iter().map(|c| format!("<td>{}</td>", escape(c))).collect::<String>())
    };
    let head =
        |names: &[&str]| format!("<tr>{}</tr>\n", names.iter().map(|n| format!("<th>{n}</th>")).collect::<String>());
    let mut published = String::new();
    for c in compared {
        let (x, verdict) = (c.expectation, if c.agrees { "yes" } else { "DIFF" });
        let ours = format!("{} (n = {})", interval(c.ours, |v| format!("{v:.2}")), c.n);
        published +=
            &row(&[e.models[x.model].clone(), x.range.clone(), claim(x.claim), ours, verdict.into(), x.source.clone()]);
    }
    let mut all = String::new();
    for c in cells {
        all += &row(&[
            c.label.clone(),
            c.range.clone(),
            format!("{} of {}: {}", c.solved, c.n, interval(c.success, |v| format!("{v:.2}"))),
            interval(c.solved_at, |v| format!("{v:.0}")),
            interval(c.sparsity, |v| format!("{v:.1e}")),
        ]);
    }
    let failed: String = failures(e, rows).iter().map(|f| format!("<li>{}</li>\n", escape(f))).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>body{{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;line-height:1.45}}\
         figure{{margin:0;overflow-x:auto}}svg{{width:100%;min-width:44rem;height:auto}}.wide{{overflow-x:auto}}table{{border-collapse:collapse;font-size:.9rem}}\
         td,th{{border-bottom:1px solid #ddd;padding:.25rem .6rem;text-align:left;white-space:nowrap}}code{{background:#f3f3f3;padding:.1rem .3rem}}</style>\
         </head>\n<body>\n<h1>{title}</h1>\n<figure>\n{svg}<figcaption><a href=\"{name}.csv\">data</a> · <a href=\"{name}.svg\">figure</a></figcaption></figure>\n\
         <p>{analysis}</p>\n<p><code>{command}</code>, nalm {version}, numerics {numerics}</p>\n\
         <h2>Published and ours</h2>\n<div class=\"wide\"><table>\n{h1}{published}</table></div>\n\
         <h2>All results</h2>\n<div class=\"wide\"><table>\n{h2}{all}</table></div>\n<h2>Seeds that failed</h2>\n<ul>\n{failed}</ul>\n</body></html>\n",
        title = escape(&e.title),
        name = e.name,
        analysis = escape(e.analysis.trim()).replace("\n\n", "</p>\n<p>"),
        command = escape(&command(e)),
        version = env!("CARGO_PKG_VERSION"),
        numerics = nalm::NUMERICS,
        h1 = head(&["model", "range", "published", "ours", "agrees?", "source"]),
        h2 = head(&["model", "range", "success", "solved at", "sparsity error"]),
    )
}
