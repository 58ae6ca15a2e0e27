//! `nalm predict`: a saved formula's values for other rows, one at a time, however many there are.

use super::fit::open;
use crate::arguments::Predict;
use anyhow::{Context, Result};
use nalm::table::{Record, Records};
use nalm_lab::Registry;
use nalm_lab::files;
use nalm_lab::fit::{Model, Models};
use std::fs::File;
use std::io::{BufWriter, Write};

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
            let places = places.with_context(|| format!("the formula of '{}' needs it", model.target))?;
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

pub(crate) fn run(registry: &Registry, arguments: &Predict) -> Result<()> {
    let models = Models::load(&*registry.files, &arguments.model)?;
    let file = open(registry, &arguments.file)?;
    let mut records = Records::open(file, &arguments.file.display().to_string(), &arguments.dialect.dialect())?;
    if arguments.units.is_some() {
        records.next_record()?;
    }
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
        }
    }
    if missing > 0 {
        say!("note: {missing} values could not be computed, because a number is missing or the formula has none there");
    }
    Ok(())
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
            let text = value.map_or(String::new(), |value| format!("{value:?}"));
            let text = text.strip_suffix(".0").unwrap_or(&text);
            line.push(if decimal == ',' { text.replace('.', ",") } else { text.into() });
        }
        writer.write_record(&line)?;
    }
    writer.flush()?;
    Ok(Ok(()))
}
