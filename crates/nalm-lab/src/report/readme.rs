//! Figure and table of an experiment between two markers of a text that people write.

use super::Found;
use super::page::{Block, markdown};
use crate::error::{Error, Result, bail};
use std::path::{Component, Path, PathBuf};

/// What may stand between markers.
const PARTS: [(&str, bool, bool); 3] = [("", true, true), (" figure", true, false), (" table", false, true)];

/// Replaces what stands between `<!-- nalm:NAME -->` and `<!-- /nalm:NAME -->`: the first figure and the published values. With
/// `nalm:NAME figure` or `nalm:NAME table` it is one of the two. Says whether there was a place.
pub fn splice(file: &Path, name: &str, found: &Found, out: &Path) -> Result<bool> {
    let text = std::fs::read_to_string(file).map_err(Error::file("cannot read", file))?;
    let folder = link(file.parent().unwrap_or(Path::new("")), out);
    let (mut new, mut places) = (text.clone(), 0);
    for (part, figure, table) in PARTS {
        let (open, close) = (format!("<!-- nalm:{name}{part} -->"), format!("<!-- /nalm:{name}{part} -->"));
        match (new.find(&open), new.find(&close)) {
            (Some(start), Some(end)) if start < end => {
                let body = markdown(&blocks(found, &folder, figure, table));
                new = format!("{}{open}\n{body}{}", &new[..start], &new[end..]);
                places += 1;
            }
            (None, None) => {}
            _ => bail!("{}: {open} and {close} must both be there, in this order", file.display()),
        }
    }
    if new != text {
        std::fs::write(file, new).map_err(Error::file("cannot write", file))?;
    }
    Ok(places > 0)
}

/// The first figure of a report and its table of published values.
fn blocks(found: &Found, folder: &str, figure: bool, table: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    for block in &found.blocks {
        match block {
            Block::Figure { file, caption, .. } if figure && blocks.is_empty() => blocks.push(Block::Figure {
                file: format!("{folder}{file}"),
                caption: caption.clone(),
                svg: String::new(),
            }),
            Block::Table { head, rows } if table && head.iter().any(|column| column == "published") => {
                blocks.push(Block::Table { head: head.clone(), rows: rows.clone() });
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
    let whole = |path: &Path| if from.is_absolute() == to.is_absolute() { path.to_path_buf() } else { absolute(path) };
    let (from, to) = (parts(&whole(from)), parts(&whole(to)));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let ups = std::iter::repeat_n("..".to_string(), from.len() - common);
    ups.chain(to[common..].iter().cloned()).map(|part| part + "/").collect()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
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
}
