//! `nalm describe`: what a unit or a stack is made of.

use crate::cli::Describe;
use anyhow::Result;
use nalm::module::{self, Options, Shape};
use std::io::Write;

pub(crate) fn run(arguments: &Describe) -> Result<()> {
    let names: Vec<&str> = match arguments.model.strip_prefix("nau-") {
        Some(top) => vec!["nau", top],
        None => vec![&arguments.model],
    };
    let specs = names.iter().map(|name| module::find::<f32>(name)).collect::<Result<Vec<_>, _>>()?;
    Shape::new(arguments.inputs, 2)?;
    let mut out = std::io::stdout().lock();
    let (mut inputs, mut total) = (arguments.inputs, 0);
    writeln!(out, "x [{inputs}]")?;
    for (k, spec) in specs.iter().enumerate() {
        let outputs = if k + 1 == specs.len() { 1 } else { 2 };
        let unit = (spec.build)(Shape::new(inputs, outputs)?, &Options::default())?;
        total += unit.param_len();
        writeln!(out, " │")?;
        writeln!(out, " ▼  {} {inputs}→{outputs}, {} parameters", spec.label, unit.param_len())?;
        writeln!(out, " │  {}", spec.formula)?;
        writeln!(out, " │  {}; {}", spec.parameters, spec.allowed)?;
        writeln!(out, " │  {}", spec.citation)?;
        inputs = outputs;
    }
    writeln!(out, " ▼")?;
    writeln!(out, "y [{inputs}], {total} parameters in all")?;
    Ok(())
}
