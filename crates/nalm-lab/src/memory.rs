//! How much memory runs may take. What would need more is refused before anything is allocated, with the figure.

use crate::error::{Result, ensure};
use crate::files::{self, Files};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number of bytes that may be taken.
#[derive(Debug)]
pub struct Budget(AtomicU64);

impl Default for Budget {
    /// Half of what the machine has, or four gigabytes where it does not tell.
    fn default() -> Self {
        Self(AtomicU64::new(of_machine().map_or(4 << 30, |all| all / 2)))
    }
}

/// Bytes of memory, where the system tells it.
fn of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(1024 * line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?)
}

impl Budget {
    /// Changes it.
    pub fn set(&self, bytes: u64) {
        self.0.store(bytes, Relaxed);
    }

    /// The bytes of a file of which whoever reads it makes so many bytes of memory for each of its own. Devices and pipes are refused, and what
    /// is too large.
    pub fn read(&self, files: &dyn Files, path: &Path, each: f64) -> Result<Vec<u8>> {
        let size = path.metadata().map_or(0, |about| if about.is_file() { about.len() } else { 0 });
        self.ensure(&path.display().to_string(), each * size as f64)?;
        files::read(files, path)
    }

    /// Refuses what takes more, with what it would take.
    pub fn ensure(&self, what: &str, bytes: f64) -> Result<()> {
        let most = self.0.load(Relaxed) as f64;
        let (needed, most_shown) = (show(bytes), show(most));
        // What is no number does not fit, either.
        let fits = bytes.is_finite() && bytes <= most;
        let enough = needed.replace(' ', "");
        ensure!(
            fits,
            "{what} needs about {needed} of memory, and may take {most_shown}; make it smaller, or say --memory {enough}"
        );
        Ok(())
    }
}

/// Bytes for people.
fn show(bytes: f64) -> String {
    let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let place = ((libm::log10(bytes.max(1.0)) / 3.0) as usize).min(units.len() - 1);
    let number = bytes / libm::pow(1e3, place as f64);
    // Rounded up, so that what is named is enough.
    format!("{} {}", (10.0 * number).ceil() / 10.0, units[place])
}

/// Bytes from a text such as 8GB.
pub fn parse(text: &str) -> std::result::Result<u64, String> {
    let wrong = || format!("{text} is no size; write it like 8GB");
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let place = ["", "k", "m", "g", "t"].iter().position(|known| {
        let unit = unit.trim().to_ascii_lowercase();
        unit.strip_suffix('b').unwrap_or(&unit) == *known
    });
    let bytes = number.parse::<f64>().map_err(|_| wrong())? * libm::pow(1e3, place.ok_or_else(wrong)? as f64);
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Bytes as [`parse`] reads them, in the largest unit that leaves no rest.
pub fn written(bytes: u64) -> String {
    let units = [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB")];
    let found = units.into_iter().find(|(size, _)| bytes > 0 && bytes.is_multiple_of(*size));
    found.map_or(bytes.to_string(), |(size, unit)| format!("{}{unit}", bytes / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_refused_with_the_figure() {
        assert_eq!(
            ["8GB", "1.5 tb", "300", "20k"].map(|text| parse(text).unwrap()),
            [8_000_000_000, 1_500_000_000_000, 300, 20_000]
        );
        assert!(["", "GB", "8XB", "-3GB", "1e9", "0"].into_iter().all(|text| parse(text).is_err()));
        let budget = Budget::default();
        budget.set(2_000_000_000);
        budget.ensure("it", 2e9).unwrap();
        let text = budget.ensure("it", 16.01e12).unwrap_err().to_string();
        assert_eq!(
            text,
            "it needs about 16.1 TB of memory, and may take 2 GB; make it smaller, or say --memory 16.1TB"
        );
        // Whatever is beyond the largest unit is told in it.
        assert_eq!([0.0, 999.0, 1e3, 5e18, 5e21].map(show), ["0 B", "999 B", "1 KB", "5 EB", "5000 EB"]);
        for (text, bytes) in [("8GB", "8GB"), ("1.5 tb", "1500GB"), ("300", "300"), ("20k", "20KB")] {
            assert_eq!((written(parse(text).unwrap()).as_str(), parse(bytes)), (bytes, parse(text)));
        }
        budget.set(parse("16.1TB").unwrap());
        budget.ensure("it", 16.01e12).unwrap();
    }
}
