//! A store of as many rows as asked for, made up and of about a kilobyte each, to see what commands need for it.
//!
//!   cargo run --release -p nalm-lab --example synthetic_store STORE 1000000 [old]
//!
//! With `old`, rows have the form in which they were written before there was one form for all.

use nalm_lab::run::{Row, Spec, Status};
use nalm_lab::store::{Segment, Store};
use nalm_lab::task::Finished;
use serde_json::{Value, json};
use std::io::Write;

fn spec(seed: u64) -> Spec {
    let value = json!({"task": "single-module", "operation": "mul", "inputs": 2, "range": "U[1,2)", "test_range": "U[2,6)",
        "module": "nmu", "options": {}, "seed": seed, "stream": "fast", "steps": 50_000, "numerics": 1});
    serde_json::from_value(value).expect("a specification")
}

/// Numbers without a pattern, from a multiplicative generator.
fn number(k: u64) -> f32 {
    (k.wrapping_mul(6_364_136_223_846_793_005) >> 40) as f32 / 16_777_216.0
}

fn row(seed: u64) -> Row {
    let spec = spec(seed);
    let hash = format!("{:016x}{:016x}", seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), seed);
    let mut row = Row::new(&spec, Status::Completed, None, hash);
    let solved = !seed.is_multiple_of(3);
    let at = if solved { json!(1_000 * (seed % 40)) } else { Value::Null };
    for suffix in ["", "_simulated"] {
        row.metrics.insert(format!("solved{suffix}"), solved.into());
        row.metrics.insert(format!("solved_at{suffix}"), at.clone());
        row.metrics.insert(format!("last_row_solved{suffix}"), solved.into());
        row.metrics.insert(format!("stays_solved{suffix}"), json!(f64::from(number(seed + 3))));
    }
    for (k, name) in ["validation_error", "test_error", "sparsity_error"].into_iter().enumerate() {
        row.metrics.insert(name.into(), f64::from(number(seed + k as u64)).into());
    }
    row.metrics.insert("best_step".into(), 50_000.into());
    row.artefacts.insert("weights".into(), (0..24).map(|k| number(seed * 24 + k)).collect::<Vec<_>>().into());
    row
}

/// The same row as it was written before.
fn old(row: &Row) -> Value {
    let mut value = serde_json::to_value(&row.spec).expect("a specification");
    let pair = |name: &str| json!({"flat": row.metrics[name], "simulated": row.metrics[&format!("{name}_simulated")]});
    for name in ["solved", "solved_at", "last_row_solved", "stays_solved"] {
        value[name] = pair(name);
    }
    for name in ["best_step", "validation_error", "test_error", "sparsity_error"] {
        value[name] = row.metrics[name].clone();
    }
    value["weights"] = row.artefacts["weights"].clone();
    value["id"] = row.id.clone().into();
    value["status"] = "completed".into();
    value["version"] = row.version.clone().into();
    value["result_hash"] = row.result_hash.clone().into();
    value
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().ok_or("say where the store is to be")?;
    let rows: u64 = arguments.get(1).map_or(Ok(1_000), |text| text.parse())?;
    if arguments.get(2).is_some_and(|form| form == "old") {
        let seg = std::path::Path::new(folder).join("seg");
        std::fs::create_dir_all(&seg)?;
        let mut out = std::io::BufWriter::new(std::fs::File::create(seg.join("1.jsonl"))?);
        let mut line = |value: &Value| {
            let text = value.to_string();
            writeln!(out, "{text}\t{:08x}", crc32c::crc32c(text.as_bytes()))
        };
        line(&json!({"schema": 1, "version": env!("CARGO_PKG_VERSION")}))?;
        (0..rows).try_for_each(|seed| line(&old(&row(seed))))?;
        return Ok(());
    }
    let mut segment = Segment::create(&Store::at(folder), &[])?;
    for seed in 0..rows {
        segment.keep(Some(&Finished { row: row(seed).normalised(), tensors: None }))?;
    }
    segment.seal()?;
    Ok(())
}
