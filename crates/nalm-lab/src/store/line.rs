//! One line of a segment: JSON, a tab, and the CRC-32C of the JSON as eight hexadecimal digits.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// A whole line: its JSON, whose checksum holds, and that checksum.
pub(super) fn parse(line: &[u8]) -> Option<(&[u8], u32)> {
    let line = line.strip_suffix(b"\n")?;
    let tab = line.iter().rposition(|byte| *byte == b'\t')?;
    let sum = u32::from_str_radix(std::str::from_utf8(&line[tab + 1..]).ok()?, 16).ok()?;
    (crc32c::crc32c(&line[..tab]) == sum).then_some((&line[..tab], sum))
}

/// A value as a line.
pub(super) fn format(value: &Value) -> String {
    let text = value.to_string();
    let sum = crc32c::crc32c(text.as_bytes());
    format!("{text}\t{sum:08x}\n")
}

/// What has to be known of a line to know what it is; the rest of it is only looked at when somebody needs it.
#[derive(Deserialize)]
pub(super) struct Head<'a> {
    #[serde(borrow, default)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) status: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) version: Cow<'a, str>,
    pub(super) schema: Option<u32>,
    pub(super) sealed: Option<IgnoredAny>,
    pub(super) rows: Option<usize>,
    /// The names of a row's metrics; a row of an earlier version has them elsewhere.
    #[serde(borrow)]
    pub(super) metrics: Option<Names<'a>>,
}

/// The names in an object; its values are passed over.
pub(super) struct Names<'a>(pub(super) Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Names<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A text that is not copied.
        #[derive(Deserialize)]
        #[serde(transparent)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Names<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("metrics")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Names<'de>, A::Error> {
                let mut names = Vec::with_capacity(16);
                while let Some((Name(name), IgnoredAny)) = object.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

impl Head<'_> {
    /// A row's identity as a number; nothing if it is none of ours.
    pub(super) fn number(&self) -> Option<u128> {
        let plain = self.id.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c));
        (self.id.len() == 32 && plain).then(|| u128::from_str_radix(&self.id, 16).ok())?
    }
}
