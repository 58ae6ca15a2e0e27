//! Runs a suite and prints what came of every table: `cargo run --release -p nalm-fit --example suites -- feynman 200 0 [seed=1] [only=arithmetic] [ID…]`. `nalm bench fit` does more of this.

use nalm_fit::suite::{Settings, Suite, run, summary};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let at = |k: usize, usual: &str| arguments.get(k).cloned().unwrap_or(usual.into());
    let suite = Suite::named(&at(0, "feynman"))?;
    let seed = arguments.iter().find_map(|a| a.strip_prefix("seed=")).unwrap_or("0").parse()?;
    let settings = Settings { rows: at(1, "200").parse()?, noise: at(2, "0").parse()?, seed };
    let start = Instant::now();
    let mut outcomes = Vec::new();
    let wanted: Vec<&String> = arguments.iter().skip(3).filter(|a| !a.contains('=')).collect();
    let arithmetic = arguments.iter().any(|a| a == "only=arithmetic");
    let cases = suite.cases.iter().filter(|case| wanted.is_empty() || wanted.contains(&&case.id));
    let cases: Vec<_> = cases.filter(|case| !arithmetic || case.class != "transcendental").collect();
    for case in &cases {
        let outcome = run(case, settings, &mut || start.elapsed().as_secs_f64(), &mut ())?;
        let mark = if outcome.false_exact {
            "FALSE"
        } else if outcome.right && !outcome.constants {
            "right~"
        } else if outcome.right {
            "right"
        } else {
            "-"
        };
        println!(
            "{:32} {mark:6} {:12} {:12} {:8.3} s  {}",
            outcome.id,
            outcome.verdict.name(),
            outcome.engine.unwrap_or(""),
            outcome.seconds,
            outcome.formula.as_deref().unwrap_or("")
        );
        outcomes.push(outcome);
    }
    println!("{:#?}", summary(cases, &outcomes.iter().collect::<Vec<_>>()));
    Ok(())
}
