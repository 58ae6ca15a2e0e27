//! `nalm predict`: a saved formula's values for other rows, one at a time, however many there are.

use super::fit::{of_reading, open};
use crate::arguments::Predict;
use anyhow::Result;
use nalm::table::{Record, Records};
use nalm_lab::files;
use nalm_lab::fit::{Model, Models};
use nalm_lab::{Error, Registry};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A formula and where its columns are in a file.
pub(super) struct Placed<'a> {
    pub(super) model: &'a Model,
    places: Vec<usize>,
}

impl<'a> Placed<'a> {
    /// Finds the columns of every formula.
    pub(super) fn all<R: std::io::Read>(models: &'a Models, records: &Records<R>) -> Result<Vec<Self>> {
        let one = |model: &'a Model| -> Result<Self> {
            let places = model.columns.iter().map(|column| records.position(column)).collect::<Result<_, _>>();
            let needs = |error: nalm::Error| format!("{error}; the formula of '{}' needs it", model.target);
            let places = places.map_err(|error| Error::Request(needs(error)))?;
            Ok(Self { model, places })
        };
        models.models.iter().map(one).collect()
    }

    /// The value of the formula for a row; nothing if a number is missing.
    pub(super) fn value(&self, record: &Record<'_>) -> Result<Option<f64>, nalm::Error> {
        if self.places.iter().any(|&place| record.is_missing(place)) {
            return Ok(None);
        }
        let numbers = self.places.iter().map(|&place| record.number(place)).collect::<Result<Vec<f64>, _>>()?;
        let column = |name: &str| {
            let place = self.model.columns.iter().position(|column| column == name);
            place.map_or(f64::NAN, |place| numbers[place])
        };
        Ok(Some(self.model.value(&column)))
    }
}

/// Reads formulas. `file` is where the rows are.
pub(super) fn load(registry: &Registry, model: &Path, file: &Path) -> Result<Models> {
    let wrong = match Models::load(&*registry.files, model) {
        Ok(models) => return Ok(models),
        Err(error) => error,
    };
    // A pipe can be read but once.
    let swapped = wrong.io().is_none() && file.is_file() && Models::load(&*registry.files, file).is_ok();
    let text =
        || format!("{} holds no formula, and {} does; did you swap the two files?", model.display(), file.display());
    Err(if swapped { Error::Request(text()) } else { wrong })?
}

pub(crate) fn run(registry: &Registry, arguments: &Predict) -> Result<()> {
    super::ensure_apart([("--out", arguments.out.as_ref())], [arguments.model.as_path(), &arguments.file])?;
    let models = load(registry, &arguments.model, &arguments.file)?;
    let file = open(registry, &arguments.file)?;
    let mut records = Records::open(file, &arguments.file.display().to_string(), &arguments.dialect.dialect())?;
    if arguments.units.is_some()
        && let Some(line) = records.next_record()?
    {
        super::fit::ensure_units(line.iter().map(str::trim))?;
    }
    of_reading(records.notes());
    let placed = Placed::all(&models, &records)?;
    let mut missing = 0;
    match &arguments.out {
        None => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            write(&mut records, &placed, &mut out, &mut missing)??;
            out.flush()?;
        }
        Some(path) => {
            let mut wrong = None;
            files::write(&*registry.files, path, |out| {
                match write(&mut records, &placed, &mut BufWriter::new(out), &mut missing)? {
                    Ok(()) => Ok(()),
                    Err(error) => {
                        let text = error.to_string();
                        wrong = Some(error);
                        Err(std::io::Error::other(text))
                    }
                }
            })
            .map_err(|error| wrong.take().map_or(anyhow::Error::from(error), Into::into))?;
            say!("{} is written", path.display());
        }
    }
    let why = "could not be computed, because a number is missing or the formula has none there";
    match missing {
        0 => {}
        1 => say!("note: 1 value {why}"),
        many => say!("note: {many} values {why}"),
    }
    Ok(())
}

/// A number without the digits that rounding made: sums and products of decimals are off in the last two of seventeen, so fifteen are enough where they
/// leave out at least two. Whole numbers are exact, and stay.
pub(super) fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(value);
    let (all, fewer) = (format!("{value:?}"), format!("{rounded:?}"));
    let is_exact = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
    let text = if is_exact || !rounded.is_finite() || fewer.len() + 2 > all.len() { all } else { fewer };
    text.strip_suffix(".0").map_or(text.clone(), String::from)
}

/// Writes all rows, each with its predictions. The outer error is that of the output, the inner one that of the rows.
fn write(
    records: &mut Records<File>,
    placed: &[Placed<'_>],
    out: &mut dyn Write,
    missing: &mut u64,
) -> std::io::Result<Result<(), nalm::Error>> {
    let (separator, decimal) = (records.separator() as u8, records.decimal());
    let mut writer = csv::WriterBuilder::new().delimiter(separator).from_writer(out);
    let mut line: Vec<String> = records.headers().to_vec();
    for Placed { model, .. } in placed {
        let mut name = model.target.clone();
        while line.contains(&name) {
            name += " predicted";
        }
        line.push(name);
    }
    writer.write_record(&line)?;
    loop {
        let record = match records.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => return Ok(Err(error)),
        };
        line.clear();
        line.extend(record.iter().map(String::from));
        for placed in placed {
            let value = match placed.value(&record) {
                Ok(value) => value.filter(|value| value.is_finite()),
                Err(error) => return Ok(Err(error)),
            };
            *missing += u64::from(value.is_none());
            let text = value.map_or(String::new(), short);
            line.push(if decimal == ',' { text.replace('.', ",") } else { text });
        }
        writer.write_record(&line)?;
    }
    writer.flush()?;
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        for (value, text) in [
            (660.599_999_999_999_9, "660.6"),
            (0.1 + 0.2, "0.3"),
            (2.0, "2"),
            (-1.0 / 3.0, "-0.3333333333333333"),
            (40_000_001.0 * 40_000_003.0, "1600000160000003"),
            (f64::MAX, "1.7976931348623157e308"),
            (1e-300, "1e-300"),
            (123_456_789.123_456, "123456789.123456"),
        ] {
            assert_eq!(short(value), text);
            assert!((text.parse::<f64>().unwrap() - value).abs() <= 1e-14 * value.abs());
        }
    }
}
