//! Tables as people really have them, broken or odd: each gives the right formula or a sentence that says what is wrong with it, in bounded time and memory.

mod common;

use common::{json, nalm, succeed};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Rows of two columns and what is made of them.
fn rows() -> impl Iterator<Item = (usize, f64, f64)> {
    (0..60u32).map(|k| (k as usize, 1.5 + f64::from(k * 37 % 101) / 8.0, 1.0 + f64::from(k * 53 % 17)))
}

/// A header and a line for every row.
fn table(header: &str, line: impl Fn(usize, f64, f64) -> String) -> String {
    rows().fold(format!("{header}\n"), |mut text, (k, a, b)| {
        writeln!(text, "{}", line(k, a, b)).unwrap();
        text
    })
}

fn good() -> String {
    table("a,b,t", |_, a, b| format!("{a},{b},{}", a * b))
}

/// What is to come of a table.
enum Want {
    /// `t = a * b`, exactly, and this among the notes.
    Product(&'static str),
    /// An answer that is not called exact.
    NothingExact,
    /// A failure with this in its sentence.
    Sentence(&'static str),
}

use Want::{NothingExact, Product, Sentence};

fn utf16(text: &str, mark: bool, big: bool) -> Vec<u8> {
    let units = mark.then_some(0xfeff).into_iter().chain(text.encode_utf16());
    units.flat_map(|unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

/// Bytes that are no text.
fn noise(count: usize) -> impl Iterator<Item = u8> {
    (0..count).map(|k| (k * 7_919 + k * k * 31) as u8)
}

fn cases() -> Vec<(&'static str, Vec<u8>, Want)> {
    let good = good();
    let body = good.split_once('\n').unwrap().1;
    let with = |more: &str| format!("{good}{more}").into_bytes();
    let text = |header: &str, line: &dyn Fn(usize, f64, f64) -> String| table(header, line).into_bytes();
    vec![
        ("plain", good.clone().into(), Product("")),
        ("byte order mark", format!("\u{feff}{good}").into(), Product("")),
        ("UTF-16, little end first", utf16(&good, true, false), Product("")),
        ("UTF-16, big end first", utf16(&good, true, true), Product("")),
        ("UTF-16 without a mark", utf16(&good, false, false), Sentence("line 1: there is a zero byte")),
        ("named separator", format!("sep=;\r\n{}", good.replace(',', ";").replace('\n', "\r\n")).into(), Product("")),
        ("decimal commas", good.replace(',', ";").replace('.', ",").into(), Product("")),
        ("tabs", good.replace(',', "\t").into(), Product("")),
        ("carriage returns alone", good.replace('\n', "\r").into(), Product("")),
        ("spaces around cells", text("a , b, t", &|_, a, b| format!(" {a} , {b} , {} ", a * b)), Product("")),
        ("empty columns at the end", good.replace('\n', ",,\n").into(), Product("")),
        ("quotes", text("\"a\",\"b\",t", &|_, a, b| format!("\"{a}\",\"{b}\",{}", a * b)), Product("")),
        (
            "line ends within quotes",
            text("note,a,b,t", &|k, a, b| format!("\"two\nlines, {k}\",{a},{b},{}", a * b)),
            Product("the column 'note' holds text ('two lines, 0', line 2)"),
        ),
        (
            "a quote that is never closed",
            with("\"3,4,5\n1,2,3\n"),
            Sentence("line 62: a quote is opened and never closed"),
        ),
        (
            "groups of thousands",
            text("a;b;t", &|_, a, b| format!("1,{:03}.5;{b};{}", (a * 8.0) as u32, (1_000.5 + (a * 8.0).floor()) * b)),
            Product(""),
        ),
        ("decimal points and commas", with("\"2,75\",1,2.75\n"), Sentence("'2,75' is not a finite number")),
        ("typographic minus", text("a,b,t", &|_, a, b| format!("\u{2212}{a},{b},\u{2212}{}", a * b)), Product("")),
        ("missing cells", with("NA,2,3\n4,,5\n7,8,#N/A\n"), Product("3 rows with missing cells are left out")),
        ("one missing cell", with("NaN,2,3\n"), Product("1 row with a missing cell is left out")),
        ("errors of a spreadsheet", with("#DIV/0!,2,3\n#REF!,1,2\n1,#NAME?,1\n"), Product("3 rows with missing cells")),
        (
            "a column that is mostly empty",
            text("a,b,c,t", &|k, a, b| format!("{a},{b},{},{}", if k % 9 == 0 { "7" } else { "" }, a * b)),
            Product("most cells of the column 'c' are empty"),
        ),
        ("no names", body.into(), Sentence("the first line holds numbers; the first line must name the columns")),
        ("two columns of one name", good.replacen("a,b", "a,a", 1).into(), Sentence("'a' is also that of column 1")),
        (
            "a column without a name",
            text(",a,b,t", &|k, a, b| format!("{k},{a},{b},{}", a * b)),
            Product("a column has no name and is called 'column 1'"),
        ),
        (
            "a column of text",
            text("who,a,b,t", &|k, a, b| format!("p{k},{a},{b},{}", a * b)),
            Product("the column 'who' holds text ('p0', line 2)"),
        ),
        (
            "dates",
            text("day,a,b,t", &|k, a, b| format!("2024-01-{:02},{a},{b},{}", k % 28 + 1, a * b)),
            Product("the column 'day' holds text"),
        ),
        ("prices with their currency", text("a,b,t", &|_, a, b| format!("${a},{b},{}", a * b)), NothingExact),
        ("one word among numbers", with("six,3,18\n"), Sentence("line 62, column 'a': 'six' is not a finite number")),
        ("a line of sums at the end", with("Total,,1234\n"), Sentence("line 62, column 'a': 'Total'")),
        ("a target of text", text("a,b,t", &|_, a, b| format!("{a},{b},yes")), Sentence("name another target")),
        ("a target of one value", text("a,b,t", &|_, a, b| format!("{a},{b},7")), Sentence("'t' is 7 in all rows")),
        ("a column of one value", text("a,k,b,t", &|_, a, b| format!("{a},3,{b},{}", a * b)), Product("")),
        ("a column twice", text("a,a2,b,t", &|_, a, b| format!("{a},{a},{b},{}", a * b)), Product("")),
        ("rows twice", with(body), Product("60 rows are repetitions of others in the columns that are used")),
        ("one column", text("t", &|_, a, _| a.to_string()), Sentence("there is no input besides the target 't'")),
        ("too few rows", "a,b,t\n1,2,2\n2,3,6\n4,5,20\n".into(), Sentence("3 rows are too few; at least 5 are needed")),
        ("nothing", Vec::new(), Sentence("there is nothing in it; the first line must name the columns")),
        ("a byte order mark alone", "\u{feff}".into(), Sentence("there is nothing in it")),
        ("a header alone", "a,b,t\n".into(), Sentence("there are no rows below the header")),
        ("a line too short", with("1,2\n"), Sentence("line 62: 2 cells where the header has 3 cells")),
        ("a line too long", with("1,2,3,4\n"), Sentence("line 62: 4 cells where the header has 3 cells")),
        ("a zero byte", with("1,2\0,3\n"), Sentence("line 62: there is a zero byte")),
        ("zero bytes", vec![0; 10_000], Sentence("line 1: there is a zero byte")),
        ("a picture", b"\x89PNG\r\n\x1a\n".iter().copied().chain(noise(20_000)).collect(), Sentence("picture.csv")),
        ("a workbook", b"PK\x03\x04".iter().copied().chain(noise(20_000)).collect(), Sentence("save the table as CSV")),
        ("an old workbook", b"\xd0\xcf\x11\xe0".iter().copied().chain(noise(9)).collect(), Sentence("as CSV")),
        ("Latin-1", b"gr\xf6\xdfe,t\n1,2\n".into(), Sentence("the cell is not UTF-8; save the file as UTF-8")),
        ("a number too large", with("1e400,2,3\n"), Sentence("line 62, column 'a': '1e400' is not a finite number")),
        ("infinity", with("1,inf,3\n"), Sentence("line 62, column 'b': 'inf' is not a finite number")),
        (
            "a huge cell of digits",
            with(&format!("1,2,{}\n", "9".repeat(5_000_000))),
            Sentence("9999…' is not a finite"),
        ),
        ("a huge cell of text", with(&format!("1,2,{}\n", "x".repeat(5_000_000))), Sentence("xxxx…' is not a finite")),
        ("a comment on top", format!("# mine\n{good}").into(), Sentence("line 2: 3 cells where the header has 1 cell")),
        ("JSON", br#"{"a":[1,2,3]}"#.into(), Sentence("there are no rows below the header")),
        (
            "whole numbers of twenty digits",
            text("a,b,z,t", &|k, a, b| format!("{a},{b},1234567890123456789{k},{}", a * b)),
            Product(""),
        ),
        ("tiny and huge numbers", text("a,b,t", &|_, a, b| format!("{a}e200,{b}e200,{}", a * b)), NothingExact),
    ]
}

/// Every one of these comes with a right answer or a sentence, and no sentence is longer than a screen.
#[test]
fn each_is_answered_or_refused_in_a_sentence() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let cases = cases();
    assert!(cases.len() >= 50);
    for (name, bytes, want) in cases {
        let file = format!("{}.csv", name.rsplit(' ').next().unwrap());
        std::fs::write(here.join(&file), bytes).unwrap();
        let output = bounded(here, &["fit", &file, "--json"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.len() < 2_000 && !said.contains("panicked"), "{name}: {said}");
        let code = output.status.code();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        match want {
            Product(note) => {
                assert_eq!(code, Some(0), "{name}: {said}");
                assert_eq!(
                    (&answer["verdict"], &answer["formula"]["text"]),
                    (&"exact".into(), &"a * b".into()),
                    "{name}"
                );
                assert!(said.contains(note), "{name}: {said}");
            }
            NothingExact => {
                assert_eq!(code, Some(0), "{name}: {said}");
                assert_ne!(answer["verdict"], "exact", "{name}: {answer}");
            }
            Sentence(part) => {
                assert_eq!(code, Some(2), "{name}: {said}");
                assert!(said.contains(part), "{name}: {said}");
            }
        }
    }
}

/// The binary with a gigabyte of memory.
fn bounded(folder: &Path, arguments: &[&str]) -> std::process::Output {
    if !cfg!(target_os = "linux") {
        return nalm(folder, arguments);
    }
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1000000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_nalm")]);
    command.args(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn ten_thousand_columns_are_too_many_and_some_of_them_can_be_chosen() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let names: Vec<String> = (0..10_000).map(|k| format!("c{k}")).collect();
    let mut text = names.join(",") + ",t\n";
    for (k, a, b) in rows() {
        let cells: Vec<String> = (0..10_000)
            .map(|c| match c {
                7 => a.to_string(),
                9_000 => b.to_string(),
                c => format!("{}", 1 + (k * 31 + c * 17 + k * k * c) % 97),
            })
            .collect();
        writeln!(text, "{},{}", cells.join(","), a * b).unwrap();
    }
    std::fs::write(here.join("wide.csv"), text).unwrap();
    let output = bounded(here, &["fit", "wide.csv"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("10000 inputs are too many; at most 500"), "{said}");
    let answer = json(here, &["fit", "wide.csv", "--inputs", "c7,c9000,c33", "--json"]);
    assert_eq!(answer["formula"]["text"], "c7 * c9000");
}

/// Of many rows a sample is kept, the same one every time.
#[test]
fn of_many_rows_a_sample_is_kept() {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let mut text = String::from("a,b,t\n");
    for k in 0..30_000u32 {
        let (a, b) = (1.0 + f64::from(k * 37 % 1_009) / 8.0, 1.0 + f64::from(k * 53 % 617));
        writeln!(text, "{a},{b},{}", a * b).unwrap();
    }
    std::fs::write(here.join("long.csv"), text).unwrap();
    let arguments = ["fit", "long.csv", "--most-rows", "200"];
    let output = nalm(here, &arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said, "note: of 30000 rows, 200 were drawn at random, the same ones every time\n");
    let answer = json(here, &[&arguments[..], &["--json"]].concat());
    let rows = answer["rows_inside"].as_u64().unwrap() + answer["rows_outside"].as_u64().unwrap();
    assert_eq!((rows, &answer["formula"]["text"]), (200, &"a * b".into()));
    // All rows are checked, however many there are.
    succeed(here, &[&arguments[..], &["--save", "m.json"]].concat());
    let checked = json(here, &["check", "m.json", "long.csv", "--json"]);
    assert_eq!((checked[0]["rows"].as_u64(), checked[0]["broken"].as_u64()), (Some(30_000), Some(0)));
}
