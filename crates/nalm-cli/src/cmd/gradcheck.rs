//! `nalm gradcheck`: the worst relative error of every module's gradients.

use crate::cli::Gradcheck;
use anyhow::{Result, ensure};
use nalm::module::{self, Options, Shape, Spec};
use nalm::{Network, gradcheck};
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

pub(crate) fn run(arguments: &Gradcheck) -> Result<()> {
    let specs = match &arguments.module {
        Some(name) => vec![module::find::<f64>(name)?],
        None => module::list::<f64>(),
    };
    let rows = specs.iter().map(check).collect::<Result<Vec<_>>>()?;
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
    let mut worst = 0.0f64;
    for (inputs, outputs) in SHAPES {
        let unit = (spec.build)(Shape::new(inputs, outputs)?, &Options { hidden: 7, ..Options::default() })?;
        let check = gradcheck::check_many(&Network::new(vec![unit])?, spec.smooth_at_zero, POINTS);
        let error = check.worst_relative_error;
        worst = if error > worst || error.is_nan() { error } else { worst };
    }
    Ok(Row { module: spec.name, worst_relative_error: worst })
}
