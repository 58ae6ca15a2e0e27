//! Every page and figure of the repository, read by other people's readers: pictures are pictures, links lead somewhere, SVG is XML.

use pulldown_cmark::{Event, Options, Parser, Tag};
use std::path::{Path, PathBuf};

fn files(folder: &Path, extension: &str, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, extension, into),
            false if path.extension().is_some_and(|e| e == extension) => into.push(path),
            false => {}
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The places that a page's pictures and links name.
fn targets(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut pictures, mut links) = (Vec::new(), Vec::new());
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => pictures.push(dest_url.to_string()),
            Event::Start(Tag::Link { dest_url, .. }) => links.push(dest_url.to_string()),
            _ => {}
        }
    }
    (pictures, links)
}

#[test]
fn pictures_are_pictures_and_links_lead_somewhere() {
    let mut pages: Vec<PathBuf> =
        ["README.md", "METHOD.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root().join(name)).into();
    files(&root().join("docs"), "md", &mut pages);
    files(&root().join("record"), "md", &mut pages);
    assert!(pages.len() > 30, "{}", pages.len());
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        let (pictures, links) = targets(&text);
        let written = text.lines().filter(|line| line.starts_with("![")).count();
        assert_eq!(pictures.len(), written, "{}: a picture became something else", page.display());
        for target in pictures.iter().chain(&links).filter(|target| !target.contains("://") && !target.starts_with('#'))
        {
            let file = target.split('#').next().unwrap().replace("%20", " ");
            assert!(page.parent().unwrap().join(&file).exists(), "{}: {target} leads nowhere", page.display());
        }
    }
}

#[test]
fn every_figure_is_xml() {
    let mut figures = Vec::new();
    files(&root().join("docs"), "svg", &mut figures);
    assert!(figures.len() > 50, "{}", figures.len());
    for figure in figures {
        let text = std::fs::read_to_string(&figure).unwrap();
        let read = roxmltree::Document::parse(&text);
        let document = read.unwrap_or_else(|error| panic!("{}: {error}", figure.display()));
        assert_eq!(document.root_element().tag_name().name(), "svg");
        let known = ["svg", "title", "style", "g", "rect", "path", "text"];
        let mut elements = document.descendants().filter(|node| node.is_element()).map(|node| node.tag_name().name());
        assert_eq!(elements.find(|name| !known.contains(name)), None, "{}", figure.display());
    }
}

/// What experiments are called may hold anything that can be typed.
#[test]
fn odd_names_break_neither_pages_nor_figures() {
    let registry = nalm_lab::Registry::default();
    let text = "title = \"A | b [c](d) <e> & 'f' *g* _h_ `i`\"\ntask = \"single-module\"\n[preset.a]\nseeds = 1\nsteps = 10\nranges = [\"U[1,2)\"]\n\
        [[model]]\nmodule = \"nmu\"\nlabel = \"x | [y](z) <w>\"\n";
    let names = registry.names();
    let overrides = nalm_lab::experiment::Overrides::default();
    let path = Path::new("odd #1 \"name\".toml");
    let experiment =
        nalm_lab::experiment::check(&registry.catalogue, &names, "odd #1 \"name\"", path, text, &overrides).unwrap();
    let mut contents = nalm_lab::store::Contents::default();
    let order = nalm_lab::pool::Order { runs: &experiment.runs, ..nalm_lab::pool::Order::default() };
    nalm_lab::pool::carry_out(&registry.catalogue, &order, &nalm_lab::pool::Quiet::default(), |finished| {
        finished.into_iter().for_each(|finished| contents.insert(finished.row));
        Ok(())
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    registry.report(&experiment, &contents, folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("odd #1 \"name\".md")).unwrap();
    let (pictures, links) = targets(&page);
    let (contents, links): (Vec<_>, Vec<_>) = links.into_iter().partition(|link| link.starts_with('#'));
    let headings = page.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!((pictures.len(), links.len(), contents.len()), (1, 1, headings), "{page}");
    assert_eq!(pictures[0], "odd%20%231%20%22name%22.svg");
    let cells =
        Parser::new_ext(&page, Options::ENABLE_TABLES).filter(|event| matches!(event, Event::Start(Tag::TableCell)));
    assert_eq!(cells.count() % 9, 0, "{page}");
    let svg = std::fs::read_to_string(folder.path().join("odd #1 \"name\".svg")).unwrap();
    roxmltree::Document::parse(&svg).unwrap();
    let html = std::fs::read_to_string(folder.path().join("odd #1 \"name\".html")).unwrap();
    assert!(html.contains("href=\"odd%20%231%20%22name%22.csv\""), "{html}");
    // Words first, then figures.
    assert!(
        html.find("<h1").unwrap() < html.find("<pre").unwrap()
            && html.find("<pre").unwrap() < html.find("<figure").unwrap()
    );
}

#[test]
fn the_index_begins_with_the_headline_of_the_claims() {
    let (registry, folder) = (nalm_lab::Registry::default(), tempfile::tempdir().unwrap());
    let found = [nalm_lab::report::Found { title: "A".into(), name: "a".into(), ..Default::default() }];
    let index = || {
        nalm_lab::report::write_index(&found, &*registry.files, folder.path()).unwrap();
        std::fs::read_to_string(folder.path().join("index.md")).unwrap()
    };
    assert!(!index().contains("nalm:"), "without claims there is no headline");
    let headline = "Of 2 statements of the paper: 1 identical, 1 differs.";
    std::fs::write(folder.path().join("claims.md"), format!("# Claims\n\n{headline}\n\nThe rule.\n")).unwrap();
    let first = format!("<!-- nalm:claims; headline -->{headline}<!-- /nalm -->");
    assert_eq!(index().lines().nth(2), Some(first.as_str()));
}

/// A report of some experiments keeps the links to pages of others that are there, as long as these are.
#[test]
fn the_index_keeps_the_pages_of_earlier_reports() {
    let (registry, folder) = (nalm_lab::Registry::default(), tempfile::tempdir().unwrap());
    let found = |name: &str, title: &str| nalm_lab::report::Found {
        title: title.into(),
        name: name.into(),
        ..Default::default()
    };
    let write = |found: &[nalm_lab::report::Found]| {
        nalm_lab::report::write_index(found, &*registry.files, folder.path()).unwrap();
        let read = |ending: &str| std::fs::read_to_string(folder.path().join("index").with_extension(ending)).unwrap();
        (read("md"), read("html"))
    };
    let page = |name: &str, title: &str| {
        let text = format!("<title>{title}</title><h2>Where the numbers come from</h2>");
        std::fs::write(folder.path().join(name).with_extension("html"), text).unwrap();
    };
    page("a b", "A &amp; [B]");
    page("c", "C");
    write(&[found("a b", "A & [B]"), found("c", "C"), found("gone", "Gone")]);
    // Not linked before, or not made by this program.
    page("d", "D");
    std::fs::write(folder.path().join("own.html"), "<title>Own</title>").unwrap();
    let (md, html) = write(&[found("e", "E"), found("c", "C anew")]);
    let links: Vec<&str> = md.lines().filter(|line| line.starts_with("* ")).collect();
    assert_eq!(links, ["* [E](e.md)", "* [C anew](c.md)", "* [A & \\[B\\]](a%20b.md)"]);
    assert!(html.contains("<a href=\"a%20b.html\">A &amp; [B]</a>") && !html.contains("Gone"), "{html}");
    // And so on: what was kept is kept.
    let (again, _) = write(&[found("e", "E")]);
    assert!(again.contains("(a%20b.md)") && again.contains("(c.md)"), "{again}");
}
