//! `nalm bench growth`: how the time of a training step grows with the batch, the inputs, the layers and the threads, as a figure.

use super::bench::{Size, measure};
use anyhow::Result;
use nalm_lab::Registry;
use nalm_lab::figure::growth::{Line, draw};
use nalm_lab::figure::svg::Paper;
use nalm_lab::files;
use std::io::Write;
use std::path::Path;

const UNITS: [(&str, &str); 2] = [("NMU", "nmu"), ("sNMU", "snmu")];
const STACK: &str = "NAU-NMU";
/// Products of a thousand numbers from here are neither 0 nor infinite.
const SIZE: Size = Size { batch: 128, threads: 1, range: (0.9, 1.1) };

pub(crate) fn run(registry: &Registry, figure: &Path) -> Result<()> {
    let mut lines = Vec::new();
    let mut add = |what, network, sizes: &[usize], layers: &dyn Fn(usize) -> Vec<String>, size: fn(usize) -> Size| {
        let mut points = Vec::new();
        for &k in sizes {
            let layers = layers(k);
            let layers: Vec<&str> = layers.iter().map(String::as_str).collect();
            let ns = measure(&layers, size(k))?;
            writeln!(std::io::stdout().lock(), "{what:8} {k:5}  {network:8} {ns:12.1} ns")?;
            points.push((k as f64, ns));
        }
        lines.push(Line { what, network, points });
        anyhow::Ok(())
    };
    let batches = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
    let inputs = [2, 4, 10, 20, 50, 100, 200, 500, 1000];
    let depths = [1, 2, 3, 4, 6, 8];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads: Vec<usize> = (0..).map(|k| 1 << k).take_while(|k| *k < cores).collect();
    threads.push(cores);

    let stack = |inputs: usize| vec![format!("nau {inputs}->2"), "nmu".into()];
    let unit = |name: &'static str| move |inputs: usize| vec![format!("{name} {inputs}->1")];
    for (label, name) in UNITS {
        add("batch", label, &batches, &|_| unit(name)(2), |k| Size { batch: k, ..SIZE })?;
    }
    add("batch", STACK, &batches, &|_| stack(100), |k| Size { batch: k, ..SIZE })?;
    for (label, name) in UNITS {
        // The noise of more inputs has a product that is infinite in single precision.
        let sizes = if name == "snmu" { &inputs[..6] } else { &inputs[..] };
        add("inputs", label, sizes, &unit(name), |_| SIZE)?;
    }
    add("inputs", STACK, &inputs[1..], &stack, |_| SIZE)?;
    let deep =
        |depth: usize| vec!["nau 10->10".to_owned(); depth - 1].into_iter().chain(["nmu 10->1".into()]).collect();
    add("layers", STACK, &depths, &deep, |_| SIZE)?;
    for (label, name) in UNITS {
        add("threads", label, &threads, &|_| unit(name)(2), |k| Size { threads: k, ..SIZE })?;
    }
    add("threads", STACK, &threads, &|_| stack(100), |k| Size { threads: k, ..SIZE })?;

    let drawn = draw(&lines, Paper::Page);
    files::replace(&*registry.files, figure, drawn.svg.as_bytes())?;
    writeln!(std::io::stdout().lock(), "{}", figure.display())?;
    Ok(())
}
