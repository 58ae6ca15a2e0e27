//! `nalm gradcheck`: the worst relative error of every module's gradients.

use anyhow::{Result, ensure};
use nalm::module::{Options, Shape, Spec};
use nalm::{Network, gradcheck};
use nalm_lab::Registry;
use nalm_lab::stats::shown::two;
use serde_json::json;
use std::io::Write;

const SHAPES: [(usize, usize); 4] = [(2, 1), (1, 1), (3, 2), (5, 3)];
const POINTS: u64 = 20;
const TOLERANCE: f64 = 1e-6;

pub(crate) fn run(registry: &Registry, module: Option<&str>, json: bool) -> Result<()> {
    let catalogue = &registry.catalogue;
    let specs: Vec<&Spec<f64>> = match module {
        Some(name) => vec![&catalogue.module(name)?.double],
        None => catalogue.modules().iter().map(|entry| &entry.double).collect(),
    };
    let rows = specs.iter().map(|spec| Ok((spec.name, check(spec)?))).collect::<Result<Vec<_>>>()?;
    if json {
        let list = rows.iter().map(|(module, worst)| json!({"module": module, "worst_relative_error": worst}));
        super::print_json(&list.collect::<Vec<_>>())?;
    } else {
        let mut out = std::io::stdout().lock();
        rows.iter().try_for_each(|(module, worst)| writeln!(out, "{module:12} {}", two(*worst)))?;
    }
    let is_wrong = |worst: f64| worst > TOLERANCE || worst.is_nan();
    let wrong: Vec<&str> = rows.iter().filter(|(_, worst)| is_wrong(*worst)).map(|(module, _)| *module).collect();
    ensure!(wrong.is_empty(), "gradients of {} are off by more than {TOLERANCE:e}", wrong.join(", "));
    Ok(())
}

/// The worst relative error of a module over all shapes that it takes.
fn check(spec: &Spec<f64>) -> Result<f64> {
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
    Ok(worst)
}
