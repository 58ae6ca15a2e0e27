//! Formulas in every language compute what the expression computes: random ones over columns with odd names, read back from their own text, and compiled or run where there is a compiler.

use nalm::expression::{Expression, Function, Language};
use nalm::formula::source_of;
use nalm::rng::{Purpose, Rng};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

const COLUMNS: [&str; 6] = ["volts", "net price", "lambda", "m_0", "exp", "Größe (m²)"];
const ROWS: usize = 4;

fn any_expression() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        (0..COLUMNS.len()).prop_map(|k| Expression::variable(COLUMNS[k])),
        (0..COLUMNS.len()).prop_map(|k| Expression::variable(COLUMNS[k])),
        (1..40i64, 1..9i64).prop_map(|(over, under)| Expression::fraction(over, under)),
        (-50i32..50).prop_map(|x| Expression::number(f64::from(x) / 8.0 + 0.01)),
        Just(Expression::Pi),
        Just(Expression::root(Expression::number(2.0))),
        Just(Expression::number(6.626e-34)),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let powers = [-3.0, -2.0, -1.0, -0.5, 0.5, 1.5, 2.0, 3.0, 1.0 / 3.0];
        let functions = [Function::Exp, Function::Ln, Function::Sin, Function::Cos, Function::Tanh, Function::Cosh];
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::sum),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Expression::product),
            (inner.clone(), 0..powers.len()).prop_map(move |(base, k)| base.power(powers[k])),
            (inner.clone(), 0..functions.len()).prop_map(move |(of, k)| of.call(functions[k])),
            inner.clone().prop_map(|of| Expression::sum([of.clone().call(Function::Abs), Expression::number(1.0)])),
            inner.prop_map(|of| of.call(Function::Asin)),
        ]
    })
}

/// Constants that are no numbers have no text.
fn is_a_formula(expression: &Expression) -> bool {
    let text = expression.write_for(Language::Plain, &COLUMNS);
    !text.contains("NaN") && !text.contains("inf")
}

fn rows(key: &str) -> Vec<[f64; 6]> {
    let mut rng = Rng::fast(key, Purpose::Data);
    (0..ROWS).map(|_| [0; 6].map(|_| rng.uniform(0.3, 3.0))).collect()
}

fn value(expression: &Expression, row: &[f64; 6]) -> f64 {
    expression.evaluate(&|name| row[COLUMNS.iter().position(|column| *column == name).unwrap()])
}

/// How large the parts of a value are: what cancels takes digits with it, in any language.
fn size(expression: &Expression, row: &[f64; 6]) -> f64 {
    match expression {
        Expression::Sum(terms) => terms.iter().map(|term| size(term, row)).sum(),
        Expression::Product(factors) => factors.iter().map(|factor| size(factor, row)).product(),
        // A power or a function passes on what its argument has lost.
        Expression::Power(base, exponent) => {
            let (of, loss) = (value(base, row), size(base, row));
            value(expression, row).abs() * (1.0 + exponent.abs() * loss / of.abs())
        }
        Expression::Call(function, of) => {
            let (z, loss) = (value(of, row), size(of, row));
            let f = |z: f64| Expression::Call(*function, Box::new(Expression::number(z))).evaluate(&|_| 0.0);
            let step = 1e-6 * z.abs().max(1e-6);
            let slope = (f(z + step) - f(z - step)).abs() / (2.0 * step);
            value(expression, row).abs() + slope * loss
        }
        other => value(other, row).abs(),
    }
}

fn close(got: f64, expression: &Expression, row: &[f64; 6]) -> bool {
    let (want, size) = (value(expression, row), size(expression, row));
    // Where a value is none, or hangs on the last digits of another, languages may differ.
    !want.is_finite()
        || !size.is_finite()
        || size > 1e3 * want.abs()
        || want.abs() > 1e200
        || (got - want).abs() <= 1e-12 * size
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_text_reads_as_what_was_written(expression in any_expression()) {
        let text = expression.write_for(Language::Plain, &COLUMNS);
        prop_assume!(is_a_formula(&expression));
        let again: Expression = text.parse().map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        for row in rows(&text) {
            prop_assert!(close(value(&again, &row), &expression, &row), "{text}: {} {}", value(&again, &row), value(&expression, &row));
        }
        // Once read, it is written as it was read.
        let twice = again.write_for(Language::Plain, &COLUMNS);
        let thrice = twice.parse::<Expression>().unwrap().write_for(Language::Plain, &COLUMNS);
        prop_assert_eq!(twice, thrice);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9 .+*/^()`,e-]{0,40}") {
        if let Ok(expression) = text.parse::<Expression>() {
            let _ = expression.evaluate(&|_| 1.0);
            let plain = expression.renamed(&|name| Language::Plain.names(&[name]).remove(0)).write(Language::Plain);
            prop_assert!(plain.parse::<Expression>().is_ok() || plain.contains("inf") || plain.contains("NaN"), "{text}: {plain}");
        }
    }
}

fn formulas() -> Vec<Expression> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let drawn = (0..120).map(|_| any_expression().new_tree(&mut runner).unwrap().current());
    let mut all: Vec<Expression> = drawn.filter(|e| e.size() < 60 && is_a_formula(e)).collect();
    for text in
        ["`net price` * volts / 3", "-volts^2 + `exp`", "m_0 / sqrt(1 - lambda^2 / 100)", "4 / 3 * pi * volts^3"]
    {
        all.push(text.parse().unwrap());
    }
    all
}

fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn compare(printed: &str) {
    let mut got = printed.split_whitespace().map(|number| number.parse::<f64>().unwrap());
    for (k, expression) in formulas().iter().enumerate() {
        for row in rows(&k.to_string()) {
            let got = got.next().expect("a value for every row");
            assert!(close(got, expression, &row), "{expression}: {got} instead of {}", value(expression, &row));
        }
    }
    assert_eq!(got.next(), None);
}

/// A program with all formulas as functions; `call` prints the value for one row.
fn program(language: Language, (head, main, end): (&str, &str, &str), call: impl Fn(usize, &str) -> String) -> String {
    let (mut text, mut body) = (head.to_string(), main.to_string());
    for (k, expression) in formulas().iter().enumerate() {
        let source = source_of(expression, &format!("formula_{k}"), &COLUMNS, language).unwrap();
        source.lines().filter(|line| !line.starts_with("#include")).for_each(|line| writeln!(text, "{line}").unwrap());
        for row in rows(&k.to_string()) {
            let numbers = row.map(|x| format!("{x:?}")).join(", ");
            writeln!(body, "{}", call(k, &numbers)).unwrap();
        }
    }
    text + &body + end
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn c() {
    let around = ("#include <stdio.h>\n#include <math.h>\n", "int main(void) {\n", "return 0;\n}\n");
    let text = program(Language::C, around, |k, row| format!("printf(\"%.17g\\n\", formula_{k}({row}));"));
    let folder = folder("formulas-c");
    std::fs::write(folder.join("main.c"), text).unwrap();
    let compile = ["-std=c99", "-Wall", "-Werror", "-ffp-contract=off", "main.c", "-o", "program", "-lm"];
    if run(Command::new("cc").args(compile).current_dir(&folder)).is_none() {
        return eprintln!("skipped: there is no cc on this machine");
    }
    compare(&run(&mut Command::new(folder.join("program"))).unwrap());
}

#[test]
fn rust() {
    let around = ("#![allow(unused_parens, clippy::all, unused_variables)]\n", "fn main() {\n", "}\n");
    let text = program(Language::Rust, around, |k, row| format!("println!(\"{{:?}}\", formula_{k}({row}));"));
    let folder = folder("formulas-rust");
    std::fs::write(folder.join("main.rs"), text).unwrap();
    let compiler = std::env::var("RUSTC").unwrap_or("rustc".into());
    let compile = ["--edition", "2021", "-D", "warnings", "main.rs", "-o", "program"];
    run(Command::new(compiler).args(compile).current_dir(&folder)).expect("the compiler that built this test");
    compare(&run(&mut Command::new(folder.join("program"))).unwrap());
}

/// As the JSON of an answer promises: an expression that `eval` takes with a handful of names in scope.
#[test]
fn python() {
    let mut text = String::from(
        "import math\nscope = {n: getattr(math, n) for n in 'sqrt exp log sin cos pi asin sinh cosh tanh'.split()}\n",
    );
    text += "def value(formula, row):\n    try:\n        y = eval(formula, dict(scope), row)\n        return float('nan') if isinstance(y, complex) else float(y)\n";
    text += "    except (ValueError, OverflowError, ZeroDivisionError):\n        return float('nan')\n";
    let names = Language::Python.names(&COLUMNS);
    for (k, expression) in formulas().iter().enumerate() {
        for row in rows(&k.to_string()) {
            let row: Vec<String> = names.iter().zip(row).map(|(name, x)| format!("{name:?}: {x:?}")).collect();
            let formula = expression.write_for(Language::Python, &COLUMNS);
            writeln!(text, "print(repr(value({formula:?}, {{{}}})))", row.join(", ")).unwrap();
        }
    }
    let folder = folder("formulas-python");
    std::fs::write(folder.join("main.py"), text).unwrap();
    match run(Command::new("python3").arg(folder.join("main.py"))) {
        Some(printed) => compare(&printed),
        None => eprintln!("skipped: there is no python3 on this machine"),
    }
}
