//! Parts of a text that people write, filled in between markers.
//!
//! A block marker stands alone on its line: what is between `<!-- nalm:NAME -->` and `<!-- /nalm:NAME -->` is the first figure and the
//! published values of an experiment; with `NAME figure` or `NAME table` it is one of the two, with `NAME figure KIND` another figure, with
//! `NAME table VERDICT` the published values of one verdict, with `NAME results` all other tables. An inline marker opens and closes within a
//! line: what is between `<!-- nalm:NAME; METRIC; MODEL; PLACE -->` and `<!-- /nalm -->` is a number of it. Anything else that looks like
//! a marker is refused before anything is written.

use super::Found;
use super::page::{Block, markdown};
use crate::error::{Context, Error, Result, bail, ensure};
use crate::files::{self, Files};
use std::collections::BTreeSet;
use std::path::{Component, Path};

const OPEN: &str = "<!-- nalm:";
const CLOSE: &str = "<!-- /nalm";
const END: &str = "-->";

/// Fills in what reports found, by the names of their experiments. Returns how many places there were.
pub fn fill(files: &dyn Files, file: &Path, reports: &[(&str, &Found)], out: &Path) -> Result<usize> {
    let text = String::from_utf8(files::read(files, file)?);
    let text = text.map_err(|_| Error::Request(format!("{} is not UTF-8", file.display())))?;
    let folder = link(file.parent().unwrap_or(Path::new("")), out);
    let (new, places) = filled(&text, reports, &folder).at(|| file.display().to_string())?;
    if new != text {
        files::replace(files, file, new.as_bytes())?;
    }
    Ok(places)
}

/// A number between its markers.
pub(super) fn marked(name: &str, number: &str) -> String {
    format!("{OPEN}{name} {END}{number}{CLOSE} {END}")
}

fn filled(text: &str, reports: &[(&str, &Found)], folder: &str) -> Result<(String, usize)> {
    let (mut new, mut places) = (String::with_capacity(text.len()), 0);
    // The block that is open: its name, its line, and what is to stand in it, if a report has it.
    let mut open: Option<(String, usize, Option<String>)> = None;
    let mut seen = BTreeSet::new();
    for (k, line) in text.split_inclusive('\n').enumerate() {
        let number = k + 1;
        let bare = line.trim();
        let name = |start: &str| bare.strip_prefix(start)?.strip_suffix(END).filter(|rest| !rest.contains(END));
        if let Some(name) = name(OPEN).map(|name| name.trim().to_string()) {
            if let Some((other, line, _)) = open {
                bail!("line {number}: {name} begins within {other}, which begins in line {line}");
            }
            ensure!(
                seen.insert(name.clone()),
                "line {number}: {name} is there twice; each place needs a pair of its own"
            );
            let body = block(&name, reports, folder);
            new += line;
            if let Some(body) = &body {
                new += body;
                places += 1;
            }
            open = Some((name, number, body));
        } else if let Some(name) = name(CLOSE).map(|name| name.trim_start_matches(':').trim()) {
            match open.take() {
                Some((opened, ..)) if opened == name => new += line,
                Some((opened, line, _)) => bail!("line {number}: {name} ends, but {opened} began in line {line}"),
                None => bail!("line {number}: {name} ends, and never began"),
            }
        } else if open.is_none() {
            new += &inline(line, reports, &mut places).at(|| format!("line {number}"))?;
        } else if line.contains(OPEN) || line.contains(CLOSE) {
            bail!("line {number}: a marker within a block, which would be lost");
        } else if matches!(open, Some((.., None))) {
            // Somebody else's place stays as it is.
            new += line;
        }
    }
    match open {
        Some((name, line, _)) => bail!("line {line}: {name} begins and never ends; close it with {CLOSE}:{name} {END}"),
        None => Ok((new, places)),
    }
}

/// What belongs between the markers of a block.
fn block(name: &str, reports: &[(&str, &Found)], folder: &str) -> Option<String> {
    reports.iter().find_map(|(experiment, found)| {
        let rest = name.strip_prefix(experiment)?;
        // Which figure, the first if its kind is empty; which published values, all if the verdict is empty; whether all other tables.
        let (figure, published, others) = match rest {
            "" => (Some(""), Some(""), false),
            " figure" => (Some(""), None, false),
            " table" => (None, Some(""), false),
            " results" => (None, None, true),
            other => match other.strip_prefix(" table ") {
                Some(verdict) => (None, Some(verdict), false),
                None => (Some(other.strip_prefix(" figure ")?), None, false),
            },
        };
        (!found.blocks.is_empty()).then(|| markdown(&blocks(found, folder, figure, published, others)))
    })
}

/// A line outside of blocks, with its numbers.
fn inline(line: &str, reports: &[(&str, &Found)], places: &mut usize) -> Result<String> {
    let (mut new, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(start) = rest.find(OPEN) {
        let (before, marker) = rest.split_at(start);
        ensure!(!before.contains(CLOSE), "a marker ends that never began");
        let parts = || {
            let (name, after) = marker.strip_prefix(OPEN)?.split_once(END)?;
            let (old, after) = after.split_once(CLOSE)?;
            let (_, after) = after.split_once(END)?;
            (!old.contains(OPEN)).then_some((name, old, after))
        };
        let Some((name, old, after)) = parts() else {
            bail!(
                "a marker stands neither alone on its line nor in a pair within it; put one of the two, or spell it otherwise"
            );
        };
        let number = number(name, reports)?;
        *places += usize::from(number.is_some());
        let number = number.as_deref().unwrap_or(old);
        new += before;
        new += &marked(name.trim_end(), number);
        rest = after;
    }
    ensure!(!rest.contains(CLOSE), "a marker ends that never began");
    Ok(new + rest)
}

/// The number that an inline marker asks for, if its experiment was reported.
fn number(name: &str, reports: &[(&str, &Found)]) -> Result<Option<String>> {
    let Some((experiment, asked)) = name.trim().split_once(';') else {
        bail!("'{}' asks for no number; write NAME; METRIC; MODEL; PLACE", name.trim());
    };
    let Some((_, found)) = reports.iter().find(|(known, _)| *known == experiment.trim()) else { return Ok(None) };
    let asked = asked.split(';').map(str::trim).collect::<Vec<_>>().join("; ");
    let unknown = || {
        let known: Vec<&str> = found.numbers.keys().map(String::as_str).collect();
        nalm::Error::unknown("number", &asked, &known)
    };
    Ok(Some(found.numbers.get(&asked).ok_or_else(unknown)?.clone()))
}

/// Parts of a report: a figure, its table of published values or those of one verdict, its other tables.
fn blocks(found: &Found, folder: &str, figure: Option<&str>, published: Option<&str>, others: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    let wanted = |file: &str| figure.is_some_and(|kind| kind.is_empty() || file.ends_with(&format!("-{kind}")));
    for block in &found.blocks {
        match block {
            Block::Figure { file, caption, .. } if blocks.is_empty() && wanted(file) => blocks.push(Block::Figure {
                file: format!("{folder}{file}"),
                caption: caption.clone(),
                svg: String::new(),
                narrow: String::new(),
            }),
            Block::Table { head, rows } => {
                let is_published = head.iter().any(|column| column == "published");
                let verdict = head.iter().position(|column| column == "verdict");
                let counts = |row: &&Vec<String>| match published.filter(|wanted| is_published && !wanted.is_empty()) {
                    Some(wanted) => verdict.is_some_and(|k| row[k] == wanted),
                    None => true,
                };
                if if is_published { published.is_some() } else { others } {
                    blocks
                        .push(Block::Table { head: head.clone(), rows: rows.iter().filter(counts).cloned().collect() });
                }
            }
            _ => {}
        }
    }
    blocks
}

/// The way from one folder to another as a link writes it, with a slash at its end.
fn link(from: &Path, to: &Path) -> String {
    let parts = |path: &Path| -> Vec<String> {
        let normal = path.components().filter(|c| !matches!(c, Component::CurDir));
        normal.map(|c| c.as_os_str().to_string_lossy().into_owned()).collect()
    };
    // Relative to the same place, or both absolute.
    let whole = |path: &Path| match from.is_absolute() == to.is_absolute() {
        true => path.to_path_buf(),
        false => std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
    };
    let (from, to) = (parts(&whole(from)), parts(&whole(to)));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let ups = std::iter::repeat_n("..".to_string(), from.len() - common);
    ups.chain(to[common..].iter().cloned()).map(|part| part + "/").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_from_the_text_to_the_figure() {
        assert_eq!(link(Path::new(""), Path::new("docs/results")), "docs/results/");
        assert_eq!(link(Path::new("./a"), Path::new("docs")), "../docs/");
        assert_eq!(link(Path::new("docs"), Path::new("docs")), "");
    }

    fn found() -> Found {
        let figure =
            Block::Figure { file: "mine".into(), caption: "Mine".into(), svg: String::new(), narrow: String::new() };
        let row = |cells: [&str; 2]| cells.map(String::from).to_vec();
        let rows = vec![row(["1.5", "identical"]), row(["2.5", "differs"])];
        let table = Block::Table { head: row(["published", "verdict"]), rows };
        let numbers = [("solved; NMU; U[1,2)".to_string(), "18 of 20".to_string())].into();
        let other = Block::Table { head: vec!["other".into()], rows: vec![vec!["2".into()]] };
        Found { blocks: vec![figure, table, other], numbers, ..Found::default() }
    }

    fn fill(text: &str) -> Result<(String, usize)> {
        filled(text, &[("mine", &found())], "docs/")
    }

    #[test]
    fn blocks_and_numbers_are_filled_in() {
        let text = "# A\n<!-- nalm:mine figure -->\nold\n<!-- /nalm:mine figure -->\nb\n<!-- nalm:other -->\nkept\n<!-- /nalm:other -->\n\
            It solves <!-- nalm:mine; solved; NMU; U[1,2) -->3<!-- /nalm --> and <!-- nalm:other; n; x; y -->4<!-- /nalm --> more.\n";
        let want = text
            .replace("old", "![Mine](docs/mine.svg)\n\nMine ([data](docs/mine.csv))")
            .replace("-->3<", "-->18 of 20<");
        assert_eq!(fill(text).unwrap(), (want.clone(), 2));
        assert_eq!(fill(&want).unwrap(), (want, 2));
        assert_eq!(fill("nothing here\n").unwrap(), ("nothing here\n".into(), 0));
        let (results, places) = fill("<!-- nalm:mine results -->\n<!-- /nalm:mine results -->\n").unwrap();
        assert!(results.contains("| other |\n|---:|\n| 2 |") && places == 1, "{results}");
        let table = |which: &str| fill(&format!("<!-- nalm:mine{which} -->\n<!-- /nalm:mine{which} -->\n")).unwrap().0;
        assert!(table(" table").contains("| 1.5 |") && table(" table").contains("| 2.5 |"));
        let one = table(" table identical");
        assert!(one.contains("| 1.5 | identical |") && !one.contains("2.5"), "{one}");
    }

    #[test]
    fn anything_else_is_refused() {
        for (text, hint) in [
            (
                "Put <!-- nalm:mine --> there.\n\nA chapter.\n\n<!-- /nalm:mine -->\n",
                "line 1: a marker stands neither alone",
            ),
            ("<!-- nalm:mine -->\nA chapter.\n", "line 1: mine begins and never ends"),
            ("a\n<!-- /nalm:mine -->\n", "line 2: mine ends, and never began"),
            ("<!-- nalm:mine -->\n<!-- /nalm:other -->\n", "line 2: other ends, but mine began in line 1"),
            ("<!-- nalm:mine -->\n<!-- nalm:other -->\n", "line 2: other begins within mine"),
            (
                "<!-- nalm:mine -->\n<!-- /nalm:mine -->\n<!-- nalm:mine -->\n<!-- /nalm:mine -->\n",
                "mine is there twice",
            ),
            ("<!-- nalm:mine -->\nSee <!-- /nalm:mine -->\n", "line 2: a marker within a block"),
            ("x <!-- nalm:mine; solved; NMU; U[1,3) -->1<!-- /nalm -->\n", "did you mean 'solved; NMU; U[1,2)'"),
            ("x <!-- nalm:mine -->1<!-- /nalm -->\n", "'mine' asks for no number"),
            ("x <!-- nalm:mine; n; NMU; U[1,2) -->1\n", "neither alone"),
        ] {
            let message = fill(text).unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }
}
