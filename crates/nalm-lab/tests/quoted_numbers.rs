//! Numbers in the chapters about results come from the records: they stand between markers, which `scripts/pages.sh` fills in, or on a list
//! of exceptions with a reason each. Other chapters have numbers of the protocol, of tests and of benchmarks.

use std::path::Path;

/// Chapters about results, by their headings; whatever is deeper belongs to them, but for the title, which ends at the first heading. What is
/// no heading is how a passage begins.
const CHAPTERS: [(&str, &[&str]); 3] = [
    ("README.md", &["# nalm", "## Results"]),
    (
        "METHOD.md",
        &[
            "## What reproduces exactly",
            "Row 13 is our reading",
            "## What the record says",
            "**Checks.** Gradients agree",
            "### What a run costs",
            "### What the recorded runs say",
        ],
    ),
    ("docs/second-order.md", &["## What was found", "One attempt, ten seeds", "| range | 2 inputs: Adam"]),
];

/// What may stand there all the same, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("n = 3", "the setting of a control"),
    ("number 3", "the same setting"),
    ("[0.5, 0.9]", "the setting of a control: where weights start"),
    ("1 or 5", "the setting of a control: noise that has two values"),
    ("mean 3", "the setting of a control: gamma noise"),
    ("rms 1", "the setting of a control: normalised inputs"),
    ("n1 n2", "names of variables"),
    ("noise above 1", "a range of noise"),
    ("noise below 1", "a range of noise"),
    ("w' = n w / (1 + (n-1) w)", "a formula"),
    ("n w / (1 + (n-1) w)", "a formula"),
    ("w / (n - (n-1) w)", "a formula"),
    ("31 x 31", "the size of a grid, a setting"),
    ("14 x 14", "the size of pictures, a setting"),
    ("28 x 28", "the size of pictures, a setting"),
    ("Table 1", "a name"),
    ("near w = 1 noise damps the gradient by 1/n", "mathematics"),
    ("2,000,000 steps", "a setting: how long runs are"),
    ("5,000,000 steps", "a setting: how long runs are"),
    ("it gives the NMU 5,000,000.", "a setting: how long runs are"),
    ("and 5,000,000 to the NMU", "a setting: how long runs are"),
    ("after 5,000,000 (the same seeds)", "a setting: how long runs are"),
    (
        "within 5,000 steps",
        "bounds of the solved-at of experiment own-seeds, which its page has; own-seeds.toml has them, too",
    ),
    (
        "the penalty sets in at 1,000,000",
        "bounds of the solved-at of experiment own-seeds, which its page has; own-seeds.toml has them, too",
    ),
    (
        "missed 10 of 120, length 9 in six of six",
        "counted over the rows of version 1 of experiment mnist-sequential, which are in the record; pages and their numbers are of one version, the latest",
    ),
    ("In fold 0", "the name of a fold"),
    ("is of fold 2", "the name of a fold"),
    ("step of 1/31", "the size of a grid, a setting"),
    (
        "165 epochs, which end 994 updates",
        "settings of the preset, and products of them; mnist-isolated-full.toml has them",
    ),
    (
        "loses 6 of 25 seeds with the larger end and gains none: exact McNemar p = 0.031, and 0.28 after Holm",
        "follows from the output of the example above it, which has the counts",
    ),
    ("to 1e-5 or better (measured: 1e-8", "what tests of crates/nalm-vision hold gradients to"),
    ("to 2e-6 of the size", "what tests of crates/nalm-vision hold a step to"),
    ("f32 outputs", "the name of a number type"),
    ("damping 1e-9", "the setting of an ablation"),
    ("instead of 1e-3", "the setting of an ablation"),
    ("2 inputs", "the setting of an experiment"),
    ("10 inputs", "the setting of an experiment"),
    ("a factor w x + 1 - w changes its sign on the way from 0 to 1", "a formula"),
    ("overflow f32", "the name of a number type"),
    ("98.33 %", "printed by the example that is named there; no row has it"),
    ("helps on one of the two", "in words; the p-values before it say it"),
    ("where 0.15 was published", "what the paper says"),
    ("published 0.1)", "what the paper says"),
    (
        "The difference is -0.03 [-0.11, +0.05]",
        "follows from the output of the example above it and the published rate",
    ),
    ("the same variance, 4/3", "mathematics"),
    ("two-point noise, with the same ends", "in words; the settings say it"),
    ("solves two of the four ranges", "in words; the numbers behind it say it"),
    ("eta = 10 hurts", "the setting of an experiment"),
    ("Rust 1.89", "a version of a program"),
    ("Debian 13, Ubuntu 24.04", "a version of a program"),
    ("trained between 1 and 2", "the setting of a figure"),
    (
        "NMU 4.6E-14 ± 0 and 9.9E-13 ± 0, 100 %, best step 1.0E+04 ± 2.8E+02; MLP(1) 2.3E-01 ± 7.7E-02 and 1.9E+02 ± 2.9E+01",
        "printed in the paper; crates/nalm/tests/published_values.rs holds our runs against it",
    ),
    ("printed mean of 0.23", "printed in the paper; crates/nalm/tests/published_values.rs holds our runs against it"),
    ("Of the 25 MLP(1), 15 end with a dead", "an observation of single runs, which the printed mean follows from"),
    ("0.379 = Var(t) and 10 at 0.0066", "an observation of single runs, which the printed mean follows from"),
    ("counted 14 and 11", "an observation of single runs, which the printed mean follows from"),
    ("25 seeds, nine ranges", "a setting, and a count of comparisons"),
    ("one of 54 numbers", "a setting, and a count of comparisons"),
    (
        "after 1,000 to 3,000 steps to 2e-7",
        "how long and how close a test of crates/nalm/tests/published_values.rs looks",
    ),
    (
        "18 of 20 with seeds 1 and 8 failing, mean solved-at 4222; 20 of 20 and 4400",
        "what others computed, which the output of the example above it is held against",
    ),
    ("Madsen and Johansen 2020", "what others computed, which the output of the example above it is held against"),
    ("94 % (+3/-6), solved at 1.4e4", "what others computed, which the output of the example above it is held against"),
    ("Row 13", "the number of a row of a table, and of seeds of an example"),
    ("Seeds of 25 that solve", "the number of a row of a table, and of seeds of an example"),
    ("1.85 isolated, 1.25 sequential, 1.9 colour", "processor time, measured once on one machine; no row has it"),
    ("1.7, 1.8 and 1.9", "processor time, measured once on one machine; no row has it"),
    (
        "| isolated | 77 s | 44 s | 18 h | 188 MiB | 5 h |",
        "processor time, measured once on one machine; no row has it",
    ),
    (
        "| colour | 51 s | 36 s | 13 h | 208 MiB | 10.5 h |",
        "processor time, measured once on one machine; no row has it",
    ),
    (
        "| sequential | 8.7 s | 3.4 s | 2.1 h | 98 MiB | 2:00 to 3:10 h, 679 MiB |",
        "processor time, measured once on one machine; no row has it",
    ),
    ("GTX 1080", "the name of a graphics card"),
    (
        "71 updates instead of 704",
        "settings of the preset, and products of them; mnist-isolated.toml has the same under scale",
    ),
    (
        "after 10,011 updates instead of 21,120",
        "settings of the preset, and products of them; mnist-isolated.toml has the same under scale",
    ),
    (
        "710 instead of 7,040",
        "settings of the preset, and products of them; mnist-isolated.toml has the same under scale",
    ),
    (
        "3,479 instead of 675,840",
        "settings of the preset, and products of them; mnist-isolated.toml has the same under scale",
    ),
    ("95 %)", "the confidence of all intervals"),
    ("takes 4.8 µs", "processor time, measured once on one machine; no row has it"),
    (", 0.48 s;", "processor time, measured once on one machine; no row has it"),
    ("5,000,000 steps", "a setting, or a product of settings"),
    ("2,560,000 different ones", "a setting, or a product of settings"),
    ("1,024 in the fit", "a setting, or a product of settings"),
    ("24,800 steps", "a setting, or a product of settings"),
    ("100,000 steps", "a setting, or a product of settings"),
    ("20,000 steps", "a setting, or a product of settings"),
    ("error for 80,000", "a setting, or a product of settings"),
    ("1,200,000 steps", "a setting, or a product of settings"),
    (
        "| 1 | 15 | 0.18 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
    (
        "| 1 | 22 | 0.18 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
    (
        "| 1; one seed 2 | 118 | 0.33 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
    (
        "| 1 | 33 | 0.21 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
    (
        "| 1; one seed 2 | 1 | 0.17 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
    (
        "| 1 | 35 | 0.20 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
    (
        "| 1; one seed 2 | 19 | 0.23 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
    (
        "| 1 | 110 | 0.53 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
    (
        "| 1 | 19 | 0.20 |",
        "attempts, median iterations and median processor seconds, measured once, when the recipe was made",
    ),
];

/// Weights and ends of intervals that a sentence speaks about, and which nobody measures.
const WHOLE: [&str; 9] =
    ["(1, 1)", "(1,1)", "(0, 0)", "(0,0)", "weights nearer to 1", "nearer to 1", "to 1", "to 0", "subtracting 1"];

/// The lines of a chapter, with their numbers. A passage is a paragraph and the one behind it.
fn chapter<'a>(text: &'a str, heading: &str) -> Vec<(usize, &'a str)> {
    let level = heading.chars().take_while(|c| *c == '#').count();
    let begins = |line: &str| if level > 0 { line == heading } else { line.starts_with(heading) };
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !begins(line));
    let first = lines.next().unwrap_or_else(|| panic!("there is no chapter {heading}"));
    let (mut code, mut blank) = (false, 0);
    let ends = |line: &str| {
        code ^= line.starts_with("```");
        blank += usize::from(line.is_empty() && !code);
        match level {
            0 => blank == 2,
            // Comments in code look like titles.
            1 => line.starts_with('#') && !code,
            _ => line.starts_with('#') && !code && line.chars().take_while(|c| *c == '#').count() <= level,
        }
    };
    let mut ends = ends;
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

/// Numbers in words, as far as results were ever said in them.
const WORDS: &str = "none one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen \
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred";

/// Whether somebody counts in words: so many of so many.
fn counts_in_words(text: &str) -> bool {
    let is_number = |word: &str| WORDS.split(' ').any(|known| known == word);
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.windows(4).chain(words.last_chunk::<3>().map(|last| &last[..])).any(|words| {
        let article = ["a", "the", "all"].contains(&words[2]);
        let second = if article { words.get(3) } else { words.get(2) };
        is_number(words[0]) && words[1] == "of" && second.is_some_and(|word| is_number(word))
    })
}

/// What a reader might take for a number, line by line.
fn typed(lines: &[(usize, &str)]) -> Vec<(usize, String)> {
    let (mut found, mut block, mut code) = (Vec::new(), false, false);
    // What a command prints can be had again by anybody, if the block says by which; languages are given to blocks of things to type.
    let mut printed = false;
    for &(number, line) in lines {
        let marker =
            line.trim().strip_prefix("<!-- ").is_some_and(|rest| !rest.contains("<!--") && rest.ends_with("-->"));
        if marker {
            block = line.contains("<!-- nalm:");
            continue;
        }
        if line.starts_with("```") {
            (code, printed) = (!code, line != "```");
            continue;
        }
        printed |= code && line.starts_with("$ ");
        if block || (code && printed) {
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
        if rest.chars().any(|c| c.is_ascii_digit()) || counts_in_words(&rest) {
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
        assert!(!reason.is_empty(), "{text}");
        assert!(all.contains(text), "nobody needs the exception for '{text}' ({reason})");
    }
}

#[test]
fn a_number_typed_by_hand_is_noticed() {
    let check = |line: &str| typed(&[(1, line)]).len();
    assert_eq!(check("It solves 18 of 20."), 1);
    for line in
        ["It solves ten of twenty.", "Three of the six lie outside.", "None of a hundred is solved", "Nine of ten"]
    {
        assert_eq!(check(line), 1, "{line}");
    }
    assert_eq!(check("One of them, of ten inputs, is one of a kind; some of the nine ranges, and a hundred seeds."), 0);
    assert_eq!(
        check("It solves <!-- nalm:a; solved; NMU; U[1,2) -->18 of 20<!-- /nalm --> on `U[1,2)` with noise U[1,5]."),
        0
    );
    assert_eq!(check("<!-- nalm:a; n; b -->1<!-- /nalm --> and 2"), 1);
    assert_eq!(typed(&[(1, "<!-- nalm:a -->"), (2, "| 3 |"), (3, "<!-- /nalm:a -->"), (4, "7")]).len(), 1);
    assert_eq!(check("[page](a1.md) and a constant n = 3"), 0);
    // Output without the command that prints it.
    let shown = |first: &str, line: &str| typed(&[(1, first), (2, line), (3, "18 of 20"), (4, "```")]).len();
    assert_eq!([shown("```", "unit"), shown("```", "$ nalm demo"), shown("```sh", "nalm demo")], [1, 0, 0]);
    let text = "# A\nw\n## B\nx\n### C\ny\n## D\nz\n\n```\n# 1\n\n2\n```\nv\n\nu";
    let lines = |heading: &str| chapter(text, heading).iter().map(|(k, _)| *k).collect::<Vec<_>>();
    assert_eq!(lines("## B"), [3, 4, 5, 6]);
    assert_eq!(lines("# A"), [1, 2]);
    assert_eq!(lines("z"), (8..=15).collect::<Vec<_>>());
}
