//! Files that a page writes beside itself, and what they may take the place of: files of an earlier page of that name, and nothing else.

use super::page::{has_figure, page_file};
use super::{INDEX, ORIGIN};
use crate::error::{Error, Result, ensure};
use crate::experiment::Experiment;
use crate::files::{self, Files};
use std::path::{Path, PathBuf};

/// The forms of a page.
const PAGES: [&str; 2] = ["html", "md"];
/// How the names of a figure's files end.
const FIGURES: [&str; 3] = ["svg", "csv", "png"];

/// Refuses pages whose files would take the place of a table that an experiment reads, or of a file that no earlier page of that name made;
/// the page of several experiments also has an index. `option` is how somebody chose the place.
pub(crate) fn ensure_free(files: &dyn Files, experiments: &[Experiment], folder: &Path, option: &str) -> Result<()> {
    let pages = Pages { files, folder };
    for experiment in experiments {
        ensure_no_table(experiment, folder, option)?;
        pages.ensure_own(&experiment.name, ORIGIN, option)?;
        pages.ensure_figures(&experiment.name, option)?;
    }
    if experiments.len() > 1 { pages.ensure_own("index", INDEX, option) } else { Ok(()) }
}

fn ensure_no_table(experiment: &Experiment, folder: &Path, option: &str) -> Result<()> {
    for input in &experiment.inputs {
        let own = input.file_name().is_some_and(|file| is_of(&experiment.name, &file.to_string_lossy()));
        let beside = input.file_name().is_some_and(|file| files::is_same(&folder.join(file), input));
        let file = input.display();
        ensure!(
            !own || !beside,
            "{file} is the table of this experiment, and the page would write a file of that name; give another {option}"
        );
    }
    Ok(())
}

/// Files of figures that an earlier page of this name made and that the new one, which has these figures, does not. They would be refused
/// the next time, when no page names them any more.
pub(super) fn stale(files: &dyn Files, name: &str, figures: &[String], folder: &Path) -> Result<Vec<PathBuf>> {
    let pages = Pages { files, folder };
    let own = pages.text(name)?;
    let mut stale = Vec::new();
    for (figure, file) in pages.figures(name) {
        let is_gone = has_figure(&own, &figure) && !figures.contains(&figure);
        if is_gone && !pages.is_of_another(name, &figure)? {
            stale.push(folder.join(file));
        }
    }
    Ok(stale)
}

/// The pages of a folder, which tell by the links below their figures which files are theirs.
struct Pages<'a> {
    files: &'a dyn Files,
    folder: &'a Path,
}

impl Pages<'_> {
    /// A page in its forms, as far as they say what the program's own say.
    fn text(&self, name: &str) -> Result<String> {
        let mut all = String::new();
        for ending in PAGES {
            all += &self.own(&page_file(name, ending), ORIGIN)?.unwrap_or_default();
        }
        Ok(all)
    }

    /// The text of a file; nothing if it is not there, and an empty one if it does not say `mark`. Pipes and devices are no files.
    fn own(&self, file: &str, mark: &str) -> Result<Option<String>> {
        let path = self.folder.join(file);
        if !path.is_file() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&files::read(self.files, &path)?).into_owned();
        Ok(Some(if text.contains(mark) { text } else { String::new() }))
    }

    fn ensure_own(&self, name: &str, mark: &str, option: &str) -> Result<()> {
        for ending in PAGES {
            let file = page_file(name, ending);
            let theirs = self.own(&file, mark)?.is_some_and(|text| text.is_empty());
            ensure!(
                !theirs,
                "{} is there, and nalm did not write it; move it away, or give another {option}",
                self.shown(&file)
            );
        }
        Ok(())
    }

    fn ensure_figures(&self, name: &str, option: &str) -> Result<()> {
        let own = self.text(name)?;
        for (figure, file) in self.figures(name) {
            ensure!(
                has_figure(&own, &figure) || self.is_of_another(name, &figure)?,
                "{} is there, and no page here names it; the page would write such files, so move it away, or give another {option}",
                self.shown(&file)
            );
        }
        Ok(())
    }

    /// Files that are called as those of the figures of a page are, with the names of these.
    fn figures(&self, name: &str) -> Vec<(String, String)> {
        let entries = std::fs::read_dir(self.folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut found: Vec<String> =
            names.filter(|file| is_of(name, file) && self.folder.join(file).is_file()).collect();
        found.sort();
        let parts = found.into_iter().filter_map(|file| {
            let (figure, ending) = file.rsplit_once('.')?;
            FIGURES.contains(&ending).then(|| (figure.to_string(), file.clone()))
        });
        parts.collect()
    }

    /// Whether a figure is that of another page: `a-b-c` may be one of the pages `a` and `a-b`, or that of `a-b-c`.
    fn is_of_another(&self, name: &str, figure: &str) -> Result<bool> {
        let ends = figure.match_indices('-').map(|(end, _)| end).chain([figure.len()]);
        for other in ends.map(|end| &figure[..end]).filter(|other| *other != name) {
            if has_figure(&self.text(other)?, figure) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn shown(&self, file: &str) -> String {
        let path = self.folder.join(file);
        path.strip_prefix(".").unwrap_or(&path).display().to_string()
    }
}

/// Removes files, as far as they are there.
pub(super) fn remove(files: &dyn Files, paths: &[PathBuf]) -> Result<()> {
    paths.iter().try_for_each(|path| files.remove(path).map_err(Error::file("cannot remove", path)))
}

/// Whether a page of this name may have a file of that one.
fn is_of(name: &str, file: &str) -> bool {
    let rest = file.strip_prefix(name).and_then(|rest| rest.rsplit_once('.'));
    let known = |ending: &str| PAGES.contains(&ending) || FIGURES.contains(&ending);
    rest.is_some_and(|(middle, ending)| known(ending) && (middle.is_empty() || middle.starts_with('-')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Disk;
    use crate::report::page::{Block, html, markdown};

    #[test]
    fn files_of_a_page_are_told_from_others() {
        for file in ["watts.csv", "watts.md", "watts-solved.svg", "watts-a-b.csv"] {
            assert!(is_of("watts", file), "{file}");
        }
        for file in ["watts.toml", "watts2.csv", "mywatts.csv", "watts", "watt.csv"] {
            assert!(!is_of("watts", file), "{file}");
        }
    }

    #[test]
    fn only_files_of_an_earlier_page_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let experiment = Experiment { name: "a b".into(), ..Experiment::default() };
        let several = [experiment.clone(), Experiment { name: "c".into(), ..Experiment::default() }];
        let free = || ensure_free(&Disk, std::slice::from_ref(&experiment), folder.path(), "--out");
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let remove = |name: &str| std::fs::remove_file(folder.path().join(name)).unwrap();
        let figure = |file: &str| Block::Figure {
            file: file.into(),
            caption: "c".into(),
            svg: String::new(),
            narrow: String::new(),
        };
        let page = |figures: &[&str]| {
            let mut blocks: Vec<Block> = figures.iter().map(|file| figure(file)).collect();
            blocks.push(Block::Heading(ORIGIN.into()));
            [html("x", &blocks), markdown(&blocks)]
        };
        assert!(free().is_ok());
        for file in ["a b.svg", "a b.csv", "a b.png", "a b-curves.svg", "a b-curves.csv"] {
            put(file, "1,2");
            let error = free().unwrap_err().to_string();
            assert!(error.contains(&format!("{file} is there, and no page here names it")), "{error}");
            put("a b.html", "somebody's page with href=\"a%20b.csv\"");
            assert!(free().is_err());
            // Each form alone says whose the files are.
            for (form, ending) in page(&["a b", "a b-curves"]).iter().zip(PAGES) {
                put("a b.html", &page(&[])[0]);
                put(&page_file("a b", ending), form);
                assert!(free().is_ok(), "{file} {ending}");
            }
            remove("a b.html");
            remove("a b.md");
            // That of a page whose name is longer.
            put("a b-curves.md", &page(&["a b-curves"])[1]);
            assert_eq!(free().is_ok(), file.contains("curves"), "{file}");
            remove("a b-curves.md");
            remove(file);
        }
        for file in ["a b.html", "a b.md"] {
            put(file, "my notes");
            assert!(free().unwrap_err().to_string().contains("nalm did not write it"), "{file}");
            remove(file);
        }
        for file in ["index.html", "index.md"] {
            put(file, "my site");
            let error = ensure_free(&Disk, &several, folder.path(), "--out").unwrap_err().to_string();
            assert!(free().is_ok() && error.contains(&format!("{file} is there")), "{error}");
            put(file, INDEX);
            assert!(ensure_free(&Disk, &several, folder.path(), "--out").is_ok());
        }
    }

    /// What the earlier page made and nobody else names goes; tables that its text speaks of stay.
    #[test]
    fn figures_that_a_page_has_no_more_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let figure = |file: &str| Block::Figure {
            file: file.into(),
            caption: "c".into(),
            svg: String::new(),
            narrow: String::new(),
        };
        let mut blocks = vec![Block::Prose("[data](a-mine.csv)".into()), Block::Heading(ORIGIN.into())];
        blocks.extend(["a", "a-b", "a-c"].map(figure));
        put("a.md", &markdown(&blocks));
        put("a-c.md", &markdown(&[figure("a-c"), Block::Heading(ORIGIN.into())]));
        for file in ["a.svg", "a.csv", "a-b.svg", "a-b.csv", "a-b.png", "a-c.svg", "a-mine.csv", "a-other.svg"] {
            put(file, "x");
        }
        let found = stale(&Disk, "a", &["a".into()], folder.path()).unwrap();
        let names: Vec<_> = found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["a-b.csv", "a-b.png", "a-b.svg"]);
    }
}
