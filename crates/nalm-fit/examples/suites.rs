//! Runs a suite and prints what came of every table: `cargo run --release -p nalm-fit --example suites -- feynman 200 0 [ID…]`. `nalm bench fit` does more of this.

use nalm_fit::suite::{Settings, Suite, run, summary};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let at = |k: usize, usual: &str| arguments.get(k).cloned().unwrap_or(usual.into());
    let suite = Suite::named(&at(0, "feynman"))?;
    let settings = Settings { rows: at(1, "200").parse()?, noise: at(2, "0").parse()?, seed: 0 };
    let start = Instant::now();
    let mut outcomes = Vec::new();
    let wanted = arguments.get(3..).unwrap_or_default();
    let cases: Vec<_> = suite.cases.iter().filter(|case| wanted.is_empty() || wanted.contains(&case.id)).collect();
    for case in &cases {
        let outcome = run(case, settings, &mut || start.elapsed().as_secs_f64(), &mut ())?;
        let mark = if outcome.false_exact {
            "FALSE"
        } else if outcome.right {
            "right"
        } else {
            "-"
        };
        println!(
            "{:32} {mark:6} {:12} {:8.3} s  {}",
            outcome.id,
            outcome.verdict.name(),
            outcome.seconds,
            outcome.formula.as_deref().unwrap_or("")
        );
        outcomes.push(outcome);
    }
    println!("{:#?}", summary(cases, &outcomes.iter().collect::<Vec<_>>()));
    Ok(())
}
