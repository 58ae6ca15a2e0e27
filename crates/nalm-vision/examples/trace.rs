//! One training step of a task with all that goes into it and comes out of it, as a safetensors file for other implementations.
//!
//!   cargo run --release -p nalm-vision --example trace isolated trace.safetensors [SAMPLES]
//!   python3 scripts/compare_with_pytorch.py isolated trace.safetensors

use nalm_vision::product::{self, View};
use nalm_vision::{Error, Mnist, Start, checkpoint, sequential};
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = arguments.first().map_or("isolated", String::as_str);
    let file = arguments.get(1).map_or("trace.safetensors", String::as_str);
    let samples = arguments.get(2).and_then(|text| text.parse().ok()).unwrap_or(16);
    let mnist = Arc::new(Mnist::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist"))?);
    let product = |view, mnist| {
        let config = product::Config { samples: 1, ..product::Config::published(view, "snmu", 2) };
        product::Run::new(config, mnist)?.trace(samples)
    };
    let tensors = match task {
        "isolated" => product(View::Isolated { halved: false }, mnist)?,
        "colour" => product(View::Colour { start: Start::Reset }, mnist)?,
        "sequential" => sequential::Run::new(sequential::Config::published("snmu", 0), mnist)?.trace(samples)?,
        other => {
            let (what, got) = ("task", other.to_string());
            return Err(Error::Value { what, got, want: "give isolated, colour or sequential" }.into());
        }
    };
    std::fs::write(file, checkpoint::to_bytes(&tensors, task)?)?;
    println!("{} tensors in {file}", tensors.len());
    Ok(())
}
