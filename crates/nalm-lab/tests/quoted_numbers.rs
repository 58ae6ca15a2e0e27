//! Numbers in the chapters about results come from the records: they stand between markers, which `scripts/pages.sh` fills in, or on a list
//! of exceptions with a reason each. Other chapters have numbers of the protocol, of tests and of benchmarks.

use std::path::Path;

/// Chapters about results, by their headings; whatever is deeper belongs to them.
const CHAPTERS: [(&str, &[&str]); 2] =
    [("README.md", &["## Results"]), ("METHOD.md", &["## What the record says", "### What the recorded runs say"])];

/// What may stand there all the same, and why.
const EXCEPTIONS: [(&str, &str); 18] = [
    ("n = 3", "the setting of a control"),
    ("number 3", "the same setting"),
    ("[0.5, 0.9]", "the setting of a control: where weights start"),
    ("1 or 5", "the setting of a control: noise that has two values"),
    ("mean 3", "the setting of a control: gamma noise"),
    ("rms 1", "the setting of a control: normalised inputs"),
    ("n1 n2", "names of variables"),
    ("noise above 1", "a range of noise"),
    ("noise below 1", "a range of noise"),
    ("distribution above 1", "a range of noise"),
    ("w' = n w / (1 + (n-1) w)", "a formula"),
    ("n w / (1 + (n-1) w)", "a formula"),
    ("w / (n - (n-1) w)", "a formula"),
    ("31 x 31", "the size of a grid, a setting"),
    ("14 x 14", "the size of pictures, a setting"),
    ("28 x 28", "the size of pictures, a setting"),
    ("Table 1", "a name"),
    ("near w = 1 noise damps the gradient by 1/n", "mathematics"),
];

/// Weights and ends of intervals that a sentence speaks about, and which nobody measures.
const WHOLE: [&str; 9] =
    ["(1, 1)", "(1,1)", "(0, 0)", "(0,0)", "weights nearer to 1", "nearer to 1", "to 1", "to 0", "subtracting 1"];

/// The lines of a chapter, with their numbers.
fn chapter<'a>(text: &'a str, heading: &str) -> Vec<(usize, &'a str)> {
    let level = heading.chars().take_while(|c| *c == '#').count();
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| *line != heading);
    let first = lines.next().unwrap_or_else(|| panic!("there is no chapter {heading}"));
    let ends = |line: &str| line.starts_with('#') && line.chars().take_while(|c| *c == '#').count() <= level;
    std::iter::once(first).chain(lines.take_while(|(_, line)| !ends(line))).map(|(k, line)| (k + 1, line)).collect()
}

/// What is left of a text without all that begins and ends so.
fn without(text: &str, begin: &str, end: &str) -> String {
    let (mut left, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(begin) {
        left += &rest[..start];
        let after = &rest[start + begin.len()..];
        rest = after.find(end).map_or("", |stop| &after[stop + end.len()..]);
    }
    left + rest
}

/// What a reader might take for a number, line by line.
fn typed(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
    let (mut found, mut block, mut code) = (Vec::new(), false, false);
    for &(number, line) in lines {
        let marker =
            line.trim().strip_prefix("<!-- ").is_some_and(|rest| !rest.contains("<!--") && rest.ends_with("-->"));
        if marker {
            block = line.contains("<!-- nalm:");
            continue;
        }
        code ^= line.starts_with("```");
        if block || code {
            continue;
        }
        // Numbers in markers, code, addresses of links, ranges.
        let mut rest = without(line, "<!-- nalm:", "<!-- /nalm -->");
        for (begin, end) in [("`", "`"), ("](", ")"), ("U[", "]")] {
            rest = without(&rest, begin, end);
        }
        for text in EXCEPTIONS.iter().map(|(text, _)| *text).chain(WHOLE) {
            rest = rest.replace(text, "");
        }
        if rest.chars().any(|c| c.is_ascii_digit()) {
            found.push((number, rest));
        }
    }
    found
}

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

#[test]
fn numbers_about_results_come_from_the_records() {
    let mut all = String::new();
    for (name, headings) in CHAPTERS {
        let text = read(name);
        for heading in headings {
            let lines = chapter(&text, heading);
            let wrong = typed(&lines);
            assert!(
                wrong.is_empty(),
                "{name}, {heading}: typed by hand, neither in a marker nor an exception: {wrong:#?}"
            );
            all += &lines.iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
        }
    }
    for (text, reason) in EXCEPTIONS {
        assert!(all.contains(text), "nobody needs the exception for '{text}' ({reason})");
    }
}

#[test]
fn a_number_typed_by_hand_is_noticed() {
    let check = |line: &str| typed(&[(1, line)]).len();
    assert_eq!(check("It solves 18 of 20."), 1);
    assert_eq!(
        check("It solves <!-- nalm:a; solved; NMU; U[1,2) -->18 of 20<!-- /nalm --> on `U[1,2)` with noise U[1,5]."),
        0
    );
    assert_eq!(check("<!-- nalm:a; n; b -->1<!-- /nalm --> and 2"), 1);
    assert_eq!(typed(&[(1, "<!-- nalm:a -->"), (2, "| 3 |"), (3, "<!-- /nalm:a -->"), (4, "7")]).len(), 1);
    assert_eq!(check("[page](a1.md) and a constant n = 3"), 0);
    let text = "# A\n## B\nx\n### C\ny\n## D\nz";
    assert_eq!(chapter(text, "## B").iter().map(|(k, _)| *k).collect::<Vec<_>>(), [2, 3, 4, 5]);
}
