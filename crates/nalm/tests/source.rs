//! Trained networks as source text: what a compiler of the language makes of it computes what the network computes.

use nalm::expression::Language;
use nalm::module::{self, Dispatch};
use nalm::{Nau, Network, Nmu, Npu, Options, Recurrent, Rng, Shape, Snmu, formula, rng::Purpose};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const ROWS: usize = 5;

/// A network with parameters, and rows with their outputs.
struct Case {
    network: Network<f64>,
    params: Vec<f64>,
    rows: Vec<f64>,
    outputs: Vec<f64>,
}

fn cases() -> Vec<Case> {
    let unit = |name: &str, inputs, outputs| {
        let spec = module::find::<f64>(name).unwrap();
        let hidden = Options::new().with("hidden", 5usize);
        let options = if name == "mlp" { hidden } else { Options::new() };
        Network::new(vec![(spec.build)(Shape::new(inputs, outputs).unwrap(), &options).unwrap()]).unwrap()
    };
    let names: Vec<&str> = module::list::<f64>().iter().map(|spec| spec.name).collect();
    let mut networks: Vec<Network<f64>> = names.iter().map(|name| unit(name, 2, 1)).collect();
    networks.extend(names.iter().map(|name| unit(name, 3, 2)));
    let stack: Vec<Box<dyn Dispatch<f64>>> =
        vec![Box::new(Nau::new(4, 3).unwrap()), Box::new(Npu::new(3, 2).unwrap()), Box::new(Nmu::new(2, 1).unwrap())];
    networks.push(Network::new(stack).unwrap());
    networks.push(Network::single(Recurrent::every_state(Box::new(Snmu::new(3, 1).unwrap()), 3, 0.5).unwrap()));
    let case = |network: Network<f64>| {
        let mut rng = Rng::fast(&network.name(), Purpose::Data);
        let mut params: Vec<f64> = (0..network.param_len()).map(|_| rng.uniform(-1.2, 1.2)).collect();
        network.project(&mut params);
        let rows: Vec<f64> = (0..ROWS * network.shape().inputs).map(|_| rng.uniform(-2.0, 2.0)).collect();
        let outputs = network.predict(&params, &rows).unwrap();
        Case { network, params, rows, outputs }
    };
    let mut all: Vec<Case> = networks.into_iter().map(case).collect();
    // Weights that mean an operation, on rows so large that gates are far from undecided.
    for spec in module::list::<f64>() {
        let network = unit(spec.name, 2, 1);
        let Some(params) = network.layers()[0].gold(nalm::Operation::Mul) else { continue };
        let rows = vec![4.0, 5.0, 0.5, 30.0, 7.0, 0.125, 1.0, 1.0, 20.0, 9.0];
        let outputs = network.predict(&params, &rows).unwrap();
        all.push(Case { network, params, rows, outputs });
    }
    let (inputs, wide) = (300, Network::single(Nau::new(300, 1).unwrap()));
    all.push(Case {
        params: vec![0.5; inputs],
        rows: vec![1.0; ROWS * inputs],
        outputs: vec![150.0; ROWS],
        network: wide,
    });
    all
}

/// All functions as one program, which prints every output; `call` writes the statement that prints one row.
fn program(language: Language, head: &str, tail: (&str, &str), call: impl Fn(usize, &str, usize) -> String) -> String {
    let (mut text, mut main) = (head.to_owned(), tail.0.to_owned());
    for (k, case) in cases().iter().enumerate() {
        let source = formula::source(&case.network, &case.params, &format!("f{k}"), language).unwrap();
        // Helpers are part of every text, and may be there once.
        for line in source.lines() {
            if !line.starts_with("static double ") || !text.contains(line) {
                let _ = writeln!(text, "{line}");
            }
        }
        for row in case.rows.chunks(case.network.shape().inputs) {
            let numbers: Vec<String> = row.iter().map(|x| format!("{x:?}")).collect();
            let _ = writeln!(main, "{}", call(k, &numbers.join(", "), case.network.shape().outputs));
        }
    }
    text + &main + tail.1
}

fn compare(printed: &str) {
    let mut got = printed.split_whitespace().map(|number| number.parse::<f64>().unwrap());
    for case in cases() {
        for (k, want) in case.outputs.iter().enumerate() {
            let got = got.next().expect("an output for each row");
            let close = (got - want).abs() <= 1e-12 * want.abs().max(1e-3);
            assert!(close, "{} gives {want}, its text {got} (number {k})", case.network.name());
        }
    }
    assert_eq!(got.next(), None);
}

fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn rust() {
    let call = |k, row: &str, outputs| match outputs {
        1 => format!("    println!(\"{{:?}}\", f{k}([{row}]));"),
        _ => format!("    f{k}([{row}]).iter().for_each(|y| println!(\"{{y:?}}\"));"),
    };
    let text = program(Language::Rust, "", ("fn main() {\n", "}\n"), call);
    let folder = folder("rust");
    std::fs::write(folder.join("main.rs"), text).unwrap();
    let compiler = std::env::var("RUSTC").unwrap_or("rustc".into());
    let compile = ["--edition", "2021", "-D", "warnings", "main.rs", "-o", "program"];
    run(Command::new(compiler).args(compile).current_dir(&folder)).expect("the compiler that built this test");
    compare(&run(&mut Command::new(folder.join("program"))).unwrap());
}

#[test]
fn c() {
    let call = |k, row: &str, outputs| match outputs {
        1 => format!("    {{ double x[] = {{{row}}}; printf(\"%.17g\\n\", f{k}(x)); }}"),
        n => format!(
            "    {{ double x[] = {{{row}}}, y[{n}]; f{k}(x, y); for (int i = 0; i < {n}; i++) printf(\"%.17g\\n\", y[i]); }}"
        ),
    };
    let text = program(Language::C, "#include <stdio.h>\n", ("int main(void) {\n", "    return 0;\n}\n"), call);
    let folder = folder("c");
    std::fs::write(folder.join("main.c"), text).unwrap();
    let compile = ["-std=c99", "-Wall", "-Werror", "-ffp-contract=off", "main.c", "-o", "program", "-lm"];
    if run(Command::new("cc").args(compile).current_dir(&folder)).is_none() {
        return eprintln!("skipped: there is no cc on this machine");
    }
    compare(&run(&mut Command::new(folder.join("program"))).unwrap());
}

#[test]
fn python() {
    let call = |k, row: &str, outputs| match outputs {
        1 => format!("print(repr(float(f{k}([{row}]))))"),
        _ => format!("print(*(repr(float(y)) for y in f{k}([{row}])))"),
    };
    let text = program(Language::Python, "", ("", ""), call);
    let folder = folder("python");
    std::fs::write(folder.join("main.py"), text).unwrap();
    match run(Command::new("python3").arg(folder.join("main.py"))) {
        Some(printed) => compare(&printed),
        None => eprintln!("skipped: there is no python3 on this machine"),
    }
}
