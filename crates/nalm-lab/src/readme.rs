//! Figure and table of an experiment between two markers of a text that people write.

use crate::page::{Block, markdown};
use crate::report::Found;
use anyhow::{Context, Result, bail};
use std::path::{Component, Path, PathBuf};

/// Replaces what stands between `<!-- nalm:NAME -->` and `<!-- /nalm:NAME -->`.
pub(crate) fn splice(file: &Path, name: &str, found: &Found, out: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (open, close) = (format!("<!-- nalm:{name} -->"), format!("<!-- /nalm:{name} -->"));
    let (Some(start), Some(end)) = (text.find(&open), text.find(&close)) else {
        bail!("{} has no place for {name}; put the lines {open} and {close} where it belongs", file.display());
    };
    if end < start {
        bail!("{}: {close} stands before {open}", file.display());
    }
    let folder = link(file.parent().unwrap_or(Path::new("")), out);
    let mut blocks = Vec::new();
    for block in &found.blocks {
        match block {
            Block::Figure { file, caption, .. } if blocks.is_empty() => blocks.push(Block::Figure {
                file: format!("{folder}{file}"),
                caption: caption.clone(),
                svg: String::new(),
            }),
            Block::Table { head, rows } if head.iter().any(|column| column == "published") => {
                blocks.push(Block::Table { head: head.clone(), rows: rows.clone() });
            }
            _ => {}
        }
    }
    let body = markdown(&blocks);
    let new = format!("{}{open}\n{body}{close}{}", &text[..start], &text[end + close.len()..]);
    if new != text {
        std::fs::write(file, new).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
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
