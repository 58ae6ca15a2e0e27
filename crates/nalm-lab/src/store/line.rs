//! One line of a segment: JSON, a tab, and the CRC-32C of the JSON as eight hexadecimal digits.

use serde_json::Value;

/// The JSON of a line whose checksum holds.
pub(super) fn parse(line: &[u8]) -> Option<Value> {
    let line = line.strip_suffix(b"\n")?;
    let tab = line.iter().rposition(|byte| *byte == b'\t')?;
    let sum = u32::from_str_radix(std::str::from_utf8(&line[tab + 1..]).ok()?, 16).ok()?;
    (crc32c::crc32c(&line[..tab]) == sum).then(|| serde_json::from_slice(&line[..tab]).ok())?
}

/// A value as a line.
pub(super) fn format(value: &Value) -> String {
    let text = value.to_string();
    format!("{text}\t{:08x}\n", crc32c::crc32c(text.as_bytes()))
}
