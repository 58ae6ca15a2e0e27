//! A neural multiplication unit learns a * b from numbers between 1 and 2, beside an ordinary network that does not.
//!
//! `cargo run --release --example learn_a_product [STEPS] [FIGURE.svg]`

use nalm::{Config, Error, Mlp, Network, Nmu, SingleModule, train};
use std::fmt::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let steps = arguments.first().map_or(Ok(50_000), |text| text.parse())?;
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0)?;
    let nmu = Network::<f32>::single(Nmu::new(2, 1)?);
    let mlp = Network::<f32>::single(Mlp::new(2, 100, 1)?);

    println!("Two networks learn a * b from U[1,2) and are tested on U[2,6); {steps} steps.\n");
    println!("{:>10} {:>12} {:>12} {:>12}", "", "inside", "outside", "parameters");
    let mut learned = Vec::new();
    for (name, network) in [("NMU", &nmu), ("MLP (100)", &mlp)] {
        let outcome = train(network, &task, 0, &Config::published(network).steps(steps), &mut ())?;
        let (inside, outside) = (outcome.validation_error, outcome.test_error);
        println!("{name:>10} {inside:12.1e} {outside:12.1e} {:>12}", network.param_len());
        learned.push(outcome.params);
    }

    println!("\nThe NMU's weights are {:?}: it selects both inputs and multiplies them.\n", learned[0]);
    println!("{:>16} {:>14} {:>14} {:>14}", "a * b", "exact", "NMU", "MLP (100)");
    for [a, b] in [[1.5, 1.2], [3.0, 4.0], [-7.0, 11.0], [123.0, 456.0]] {
        let y = |network: &Network<f32>, p: &[f32]| network.predict(p, &[a, b]).map(|y| y[0]);
        let (one, other) = (y(&nmu, &learned[0])?, y(&mlp, &learned[1])?);
        println!("{:>16} {:14.2} {one:14.2} {other:14.2}", format!("{a} * {b}"), a * b);
    }
    if let Some(file) = arguments.get(1) {
        let curve = |network: &Network<f32>, p: &[f32]| -> Result<Vec<(f32, f32)>, Error> {
            let a: Vec<f32> = (-60..=60).map(|k| k as f32 / 10.0).collect();
            let rows: Vec<f32> = a.iter().flat_map(|&a| [a, a]).collect();
            Ok(a.into_iter().zip(network.predict(p, &rows)?).collect())
        };
        std::fs::write(file, figure(&curve(&nmu, &learned[0])?, &curve(&mlp, &learned[1])?))?;
    }
    Ok(())
}

/// Both networks along a = b, where the exact answer is a parabola.
fn figure(nmu: &[(f32, f32)], mlp: &[(f32, f32)]) -> String {
    let place = |a: f32, y: f32| (60.0 + (a + 6.0) * 40.0, 250.0 - (y + 4.0) * 5.5);
    let path = |points: &[(f32, f32)]| {
        let mut d = String::new();
        for (k, &(a, y)) in points.iter().enumerate() {
            let (px, py) = place(a, y);
            write!(d, "{}{px:.1} {py:.1}", if k == 0 { "M" } else { "L" }).expect("a string takes everything");
        }
        d
    };
    let mut ticks = String::new();
    for a in [-6, -4, -2, 0, 2, 4, 6] {
        let (x, y) = place(a as f32, -4.0);
        write!(ticks, r##"<text x="{x}" y="{}" text-anchor="middle">{a}</text>"##, y + 18.0).expect("a string");
    }
    for v in [0, 10, 20, 30, 40] {
        let (x, y) = place(-6.0, v as f32);
        write!(
            ticks,
            r##"<path d="M{x} {y}h480" stroke="#ddd"/><text x="{}" y="{}" text-anchor="end">{v}</text>"##,
            x - 6.0,
            y + 4.0
        )
        .expect("a string");
    }
    let ((left, top), (right, bottom)) = (place(1.0, 38.0), place(2.0, -4.0));
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 290" font-family="sans-serif" font-size="13">
<title>Prediction of a * a by an NMU and by an MLP, trained for a between 1 and 2</title>
<style>@media (prefers-color-scheme:dark){{.paper{{fill:#14171c}}text{{fill:#e3e6ea}}[stroke="#ddd"]{{stroke:#3a3f47}}[stroke="#0072b2"]{{stroke:#56b4e9}}[stroke="#8e44ff"]{{stroke:#c59bff}}}}</style>
<rect class="paper" width="700" height="290" fill="white"/>
{ticks}
<rect x="{left}" y="{top}" width="{}" height="{}" fill="#0072b2" opacity="0.12"/>
<path d="{}" fill="none" stroke="#8e44ff" stroke-width="2.5"/>
<path d="{}" fill="none" stroke="#999" stroke-width="6" opacity="0.45"/>
<path d="{}" fill="none" stroke="#0072b2" stroke-width="2"/>
<text x="300" y="285" text-anchor="middle">a (both inputs are a)</text>
<g transform="translate(560 60)">
<path d="M0 0h24" stroke="#999" stroke-width="6" opacity="0.45"/><text x="32" y="5">exact a * a</text>
<path d="M0 28h24" stroke="#0072b2" stroke-width="2"/><text x="32" y="33">NMU</text>
<path d="M0 56h24" stroke="#8e44ff" stroke-width="2.5"/><text x="32" y="61">MLP (100)</text>
<rect y="76" width="24" height="16" fill="#0072b2" opacity="0.12"/><text x="32" y="89">training data</text>
</g>
</svg>
"##,
        right - left,
        bottom - top,
        path(mlp),
        path(&nmu.iter().map(|&(a, _)| (a, a * a)).collect::<Vec<_>>()),
        path(nmu),
    )
}
