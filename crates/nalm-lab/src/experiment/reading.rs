//! The one way to what people write in TOML: experiment files, defaults, layers and values on the command line. What is wrong is said in one line.
//!
//! How deep brackets are nested is counted before anything is parsed: the parser takes some kilobytes of the stack for every bracket that is
//! open, and its own limit can be passed by brackets that are closed where none was opened.

use crate::error::{Error, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Deeper than anybody needs, and as deep as the parser lets well-formed files be.
const DEEPEST: usize = 80;

/// Reads a text; `name` is what it is called in errors, such as its file.
pub fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T> {
    if let Some(line) = too_deep(text) {
        bail!("{name}, line {line}: more than {DEEPEST} brackets are open, one inside the other");
    }
    toml::from_str(text).map_err(|error| Error::Request(format!("{name}{}", said(text, &error))))
}

/// A single value, if the text is one.
pub fn value(text: &str) -> Option<Value> {
    let text = text.trim();
    let parsed = too_deep(text).is_none().then(|| text.parse::<toml::Value>().ok()).flatten();
    // Numbers that are none would be lost, and be shown as what nobody typed.
    parsed.and_then(|value| serde_json::to_value(value).ok()).filter(|value| !has_null(value))
}

/// Whether something in a value is nan or infinite, which TOML has and records have not.
fn has_null(value: &Value) -> bool {
    let within = |value: &Value| match value {
        Value::Array(all) => all.iter().any(has_null),
        Value::Object(all) => all.values().any(has_null),
        _ => false,
    };
    value.is_null() || within(value)
}

/// An error of the reader as one sentence, after the line that it is about.
fn said(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(span) = error.span() else { return format!(": {message}") };
    let before = text.get(..span.start).unwrap_or(text);
    let written = text.lines().nth(before.matches('\n').count()).unwrap_or_default().trim();
    let message = repaired(written, &message).unwrap_or(message);
    format!(", line {}: {message}", before.matches('\n').count() + 1)
}

/// What is wrong with the type of a value, in the words of people who write such files, and what would be right.
fn repaired(written: &str, message: &str) -> Option<String> {
    let written = written.split(" #").next().unwrap_or_default().trim_end();
    // Nobody wants to read a long line again.
    if written.len() > 200 {
        return None;
    }
    let value = written.split_once('=').map_or("", |(_, value)| value.trim());
    if value.starts_with(char::is_alphabetic) && !["true", "false", "nan", "inf"].contains(&value) {
        let key = written.split('=').next().unwrap_or_default().trim();
        return Some(format!("text stands in quotes; write {key} = \"{value}\""));
    }
    if let Some((key, known)) = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected "))
    {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        // A model's options are easily taken for its own keys.
        let inside =
            if known.contains(&"options") { "; a module's options stand in options = { NAME = … }" } else { "" };
        return Some(format!("{}{inside}", nalm::Error::unknown("key", key, &known)));
    }
    if let Some(key) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        let instead = if key == "phase" { "[[schedule.NAME.phase]]".into() } else { format!("{key} = \"…\"") };
        return Some(format!("{key} is missing here; write {instead}"));
    }
    let message = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, wanted) = message.split_once(", expected ")?;
    if let Some(table) = written.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
        let name = table.trim_matches(['[', ' ']);
        return Some(match (written.starts_with("[["), wanted) {
            (false, "a sequence") => format!("a file may have several of these; write [[{name}]], with two brackets"),
            (true, _) => format!("these have names; write [{name}.NAME], with one bracket"),
            _ => return None,
        });
    }
    let (key, value) = written.split_once('=').map(|(key, value)| (key.trim(), value.trim()))?;
    Some(match wanted {
        "a sequence" if ["model", "section", "expect", "phase"].contains(&key) => {
            let table = if key == "phase" { "schedule.NAME.phase" } else { key };
            format!("{key} is a table of its own; write [[{table}]]")
        }
        "a sequence" => format!("{key} is a list; write {key} = [{value}]"),
        "a map" if key == "steps" => format!("a model's steps go by preset; write steps = {{ PRESET = {value} }}"),
        "a map" => format!("{key} is a table; write {key} = {{ NAME = … }}"),
        // A key that belongs into a table with a name.
        table if table.starts_with('[') => format!("{key} stands in a table with a name; write {table} above it"),
        wanted => format!("{key} is {}; it must be {}", plainly(found), meant(wanted)),
    })
}

/// What was found, as it was written.
fn plainly(found: &str) -> String {
    let kinds = ["integer ", "floating point ", "boolean ", "string "];
    let written = kinds.iter().find_map(|kind| found.strip_prefix(kind)).map(|text| text.trim_matches('`').to_string());
    written.unwrap_or_else(|| match found {
        "sequence" => "a list".into(),
        "map" => "a table".into(),
        other => other.into(),
    })
}

/// What was wanted, in words.
fn meant(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// The first line in which more than [`DEEPEST`] brackets are open.
fn too_deep(text: &str) -> Option<usize> {
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        at += match byte {
            b'#' => text[at..].find('\n').unwrap_or(text.len() - at),
            b'"' | b'\'' => string(&text.as_bytes()[at..]),
            _ => 1,
        };
        match byte {
            b'{' | b'[' => open.push(byte),
            // What closes something else closes nothing.
            b'}' => drop(open.pop_if(|last| *last == b'{')),
            b']' => drop(open.pop_if(|last| *last == b'[')),
            _ => {}
        }
        if open.len() > DEEPEST {
            return Some(text[..at].lines().count());
        }
    }
    None
}

/// The length of the string that a text begins with. One that is not closed ends with its line, or with the text if it may have several.
fn string(text: &[u8]) -> usize {
    let quote = text[0];
    let long = text.starts_with(&[quote; 3]);
    let end = if long { &text[..3] } else { &text[..1] };
    let mut at = end.len();
    while at < text.len() {
        match text[at] {
            b'\n' if !long => return at,
            b'\\' if quote == b'"' && matches!(text.get(at + 1), Some(b'\\' | b'"')) => at += 2,
            _ if text[at..].starts_with(end) => return at + end.len(),
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line, with the place and the repair, whoever reads it.
    #[test]
    fn what_is_wrong_is_one_line() {
        let wrong = |text: &str| read::<toml::Table>("nalm.toml", text).unwrap_err().to_string();
        assert_eq!(
            wrong("a = 1\nstore = results\n"),
            "nalm.toml, line 2: text stands in quotes; write store = \"results\""
        );
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code, reason = "only its keys matter")]
        struct Model {
            module: String,
            options: toml::Table,
        }
        assert_eq!(
            read::<Model>("a.toml", "module = 'snmu'\nnoise = 'batch'").unwrap_err().to_string(),
            "a.toml, line 2: unknown key 'noise' (valid: module, options); a module's options stand in options = { NAME = … }"
        );
        #[derive(Debug, serde::Deserialize)]
        #[allow(dead_code, reason = "only its types matter")]
        struct Typed {
            title: String,
            n: Option<u32>,
            below: Option<f64>,
            phase: Option<Vec<Model>>,
        }
        for (text, want) in [
            ("title = 3", "title is 3; it must be text in quotes"),
            ("n = 3", "title is missing here; write title = \"…\""),
            ("title = 'x'\nn = 'x'", "n is \"x\"; it must be a whole number, 0 or more"),
            ("title = 'x'\nn = -1", "n is -1; it must be a whole number, 0 or more"),
            ("title = 'x'\nbelow = [1]", "below is a list; it must be a number"),
            ("title = 'x'\nphase = 3", "phase is a table of its own; write [[schedule.NAME.phase]]"),
            ("title = 'x'\nphase = [3]", "phase is 3; it must be a table"),
        ] {
            let error = read::<Typed>("a.toml", text).unwrap_err().to_string();
            let line = text.lines().count();
            assert_eq!(error, format!("a.toml, line {line}: {want}"));
        }
        let deep = wrong(&format!("store = {}", "{[]b=".repeat(300_000)));
        assert_eq!(deep, "nalm.toml, line 1: more than 80 brackets are open, one inside the other");
        assert!(["a", "a = ", "=", "[", "a = 1\na = 2"].into_iter().all(|text| wrong(text).lines().count() == 1));
        assert_eq!(value(" [1, 2.5] "), Some(serde_json::json!([1, 2.5])));
        assert_eq!([value("[nan, 1]"), value("inf"), value("-nan")], [None, None, None]);
        assert_eq!([value("U[1,2]"), value("nmu"), value(&"[".repeat(1_000_000))], [None, None, None]);
    }

    #[test]
    fn brackets_count_while_they_are_open() {
        let (deep, deeper) = ("[".repeat(DEEPEST), "[".repeat(DEEPEST + 1));
        assert_eq!([too_deep(&deep), too_deep(&deeper)], [None, Some(1)]);
        assert_eq!(too_deep(&format!("a = 1\n\nb = {deep}\n{{")), Some(4));
        assert_eq!(too_deep(&"x = [{}]\n[[y]]\n".repeat(1_000)), None);
        // Closed where none of the kind is open.
        assert_eq!(too_deep(&"{[]b=".repeat(DEEPEST + 1)), Some(1));
        assert_eq!(too_deep(&"{]".repeat(DEEPEST + 1)), Some(1));
        assert_eq!(too_deep(&"[}".repeat(DEEPEST + 1)), Some(1));
    }

    #[test]
    fn brackets_in_strings_and_comments_are_text() {
        let many = "[".repeat(DEEPEST + 1);
        let texts = [
            format!("a = \"{many}\""),
            format!("a = '{many}'"),
            format!("a = \"\\\"{many}\\\\\" # {many}"),
            format!("# {many}"),
            format!("a = \"\"\"\n\"{many}\n\\\"\"\"{many}\"\"\""),
            format!("a = '''\n{many}\n'{many}'''"),
            // A string that is not closed ends with its line.
            format!("a = \"{many}\nb = '{many}"),
        ];
        for text in texts {
            assert_eq!(too_deep(&text), None, "{text}");
            assert_eq!(too_deep(&format!("{text}\n{many}")), Some(text.lines().count() + 1), "{text}");
        }
        // A backslash means nothing between single quotes.
        assert_eq!(too_deep(&format!("a = '\\'{many}")), Some(1));
    }
}
