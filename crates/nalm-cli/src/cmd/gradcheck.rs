//! `nalm gradcheck`: the worst relative error of every module's gradients.

use crate::arguments::Gradcheck;
use anyhow::{Result, ensure};
use nalm::module::{Options, Shape, Spec};
use nalm::{Network, gradcheck};
use nalm_lab::Registry;
use serde::Serialize;
use std::io::Write;

const SHAPES: [(usize, usize); 4] = [(2, 1), (1, 1), (3, 2), (5, 3)];
const POINTS: u64 = 20;
const TOLERANCE: f64 = 1e-6;

#[derive(Serialize)]
struct Row {
    module: &'static str,
    worst_relative_error: f64,
}

pub(crate) fn run(registry: &Registry, arguments: &Gradcheck) -> Result<()> {
    let catalogue = &registry.catalogue;
    let specs: Vec<&Spec<f64>> = match &arguments.module {
        Some(name) => vec![&catalogue.module(name)?.double],
        None => catalogue.modules().iter().map(|entry| &entry.double).collect(),
    };
    let rows = specs.into_iter().map(check).collect::<Result<Vec<_>>>()?;
    if arguments.json {
        super::print_json(&rows)?;
    } else {
        let mut out = std::io::stdout().lock();
        for row in &rows {
            writeln!(out, "{:12} {:.1e}", row.module, row.worst_relative_error)?;
        }
    }
    let is_wrong = |row: &&Row| row.worst_relative_error > TOLERANCE || row.worst_relative_error.is_nan();
    let wrong: Vec<&str> = rows.iter().filter(is_wrong).map(|row| row.module).collect();
    ensure!(wrong.is_empty(), "gradients of {} are off by more than {TOLERANCE:e}", wrong.join(", "));
    Ok(())
}

fn check(spec: &Spec<f64>) -> Result<Row> {
    let has_hidden = spec.options.iter().any(|option| option.name == "hidden");
    let options = if has_hidden { Options::new().with("hidden", 7usize) } else { Options::new() };
    let mut worst = 0.0f64;
    for (inputs, outputs) in SHAPES {
        let unit = match (spec.build)(Shape::new(inputs, outputs)?, &options) {
            Ok(unit) => unit,
            // A module may take other shapes only, but not refuse the usual one.
            Err(_) if (inputs, outputs) != SHAPES[0] => continue,
            Err(error) => return Err(error.into()),
        };
        let check = gradcheck::check_many(&Network::new(vec![unit])?, spec.smooth_at_zero, POINTS);
        let error = check.worst_relative_error;
        worst = if error > worst || error.is_nan() { error } else { worst };
    }
    Ok(Row { module: spec.name, worst_relative_error: worst })
}
