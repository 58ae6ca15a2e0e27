//! A trained network read as arithmetic, or written as the source text of a function.

pub use crate::style::Style;

use crate::expression::{Expression, Language, is_word};
use crate::style::MOST_WRITTEN;
use crate::{Error, Network, Real};
use std::collections::HashSet;
use std::fmt::Write;

/// Formulas of more operations than this are nothing to read.
const MOST_READ: usize = 400;
/// Networks of more parameters than this are not read.
const MOST_PARAMS: usize = 4_000;

/// The formula of a network, a line for every unit: `h1 = x1 + x2`, `y = h1 * x3`. Inputs have these names, or x1, x2 and so on without any.
///
/// Nothing if there is no simple one: a unit of the network has none, or it would be too long to read.
///
/// ```
/// use nalm::{Network, Nmu, formula};
///
/// let network = Network::<f32>::single(Nmu::new(3, 1)?);
/// let lines = formula::read(&network, &[1.0, 0.0, 0.998], &["price", "colour", "pieces"])?;
/// assert_eq!(lines.unwrap(), ["y = price * pieces"]);
/// # Ok::<(), nalm::Error>(())
/// ```
pub fn read<R: Real>(network: &Network<R>, params: &[R], names: &[&str]) -> Result<Option<Vec<String>>, Error> {
    let inputs = network.shape().inputs;
    if !names.is_empty() {
        Error::sizes("names of inputs", names.len(), inputs)?;
    }
    if network.param_len() > MOST_PARAMS {
        return Ok(None);
    }
    let name = |i: usize| names.get(i).map_or_else(|| format!("x{}", i + 1), ToString::to_string);
    let Some(steps) = steps(network, params, (0..inputs).map(name).collect(), Style::Read)? else { return Ok(None) };
    let size: usize = steps.iter().map(|(_, expression)| expression.size()).sum();
    Ok((size <= MOST_READ).then(|| steps.iter().map(|(name, expression)| format!("{name} = {expression}")).collect()))
}

/// The network as the source text of a function over `f64`, which needs nothing but its language.
///
/// The function takes one row. With one output it returns a number; with more of them an array (Rust), a list (Python), or it fills `y` (C).
///
/// ```
/// use nalm::{Network, Nmu, expression::Language, formula};
///
/// let network = Network::<f32>::single(Nmu::new(2, 1)?);
/// let source = formula::source(&network, &[1.0, 0.5], "area", Language::Python)?;
/// assert!(source.ends_with("def area(x):\n    y = x[0] * (0.5 * x[1] + 0.5)\n    return y\n"));
/// # Ok::<(), nalm::Error>(())
/// ```
pub fn source<R: Real>(network: &Network<R>, params: &[R], name: &str, language: Language) -> Result<String, Error> {
    check_name(name, language)?;
    if !matches!(language, Language::Rust | Language::C | Language::Python) {
        return Err(Error::Unsupported {
            what: format!("a function in {language:?}"),
            when: "because it has none that take a row".into(),
            instead: "take Rust, C or Python, or formula::read".into(),
        });
    }
    let shape = network.shape();
    let names = (0..shape.inputs).map(|i| format!("x[{i}]")).collect();
    let steps = steps(network, params, names, Style::Exact)?.ok_or_else(|| Error::Unsupported {
        what: format!("source text of {}", network.name()),
        when: "because a unit of it has no formula, or one that is too long to compile".into(),
        instead: "define Module::formula for a unit of your own, or save the network".into(),
    })?;
    Ok(function(&needed(&steps, shape.outputs), name, shape.inputs, shape.outputs, &network.name(), language))
}

/// An expression as the source text of a function over `f64`, with an argument for each of these columns, in their order; [`Language::names`] has their names.
///
/// ```
/// use nalm::{expression::Language, formula};
///
/// let c = formula::source_of(&"volts * amperes".parse()?, "watts", &["volts", "amperes"], Language::C)?;
/// assert!(c.ends_with("double watts(double volts, double amperes) {\n    return volts * amperes;\n}\n"));
/// # Ok::<(), nalm::Error>(())
/// ```
pub fn source_of(expression: &Expression, name: &str, columns: &[&str], language: Language) -> Result<String, Error> {
    check_name(name, language)?;
    let mut unknown = None;
    expression.variables(&mut |name| {
        if !columns.contains(&name) {
            unknown.get_or_insert(name);
        }
    });
    if let Some(name) = unknown {
        return Err(Error::unknown("column", name, columns));
    }
    let names = language.names(columns);
    let text = expression.write_for(language, columns);
    let arguments = |before: &str, after: &str| {
        names.iter().map(|name| format!("{before}{name}{after}")).collect::<Vec<_>>().join(", ")
    };
    Ok(match language {
        Language::Rust => {
            // Columns may be called as they like.
            let odd = |name: &String| name.contains("__") || name.contains(|c: char| c.is_ascii_uppercase());
            let allow = if names.iter().any(odd) { "#[allow(non_snake_case)]\n" } else { "" };
            format!("{allow}pub fn {name}({}) -> f64 {{\n    {text}\n}}\n", arguments("", ": f64"))
        }
        Language::C => {
            let body = format!("double {name}({}) {{\n    return {text};\n}}\n", arguments("double ", ""));
            head(language, &body) + &body
        }
        Language::Python => {
            let body = format!("def {name}({}):\n    return {text}\n", arguments("", ""));
            head(language, &body) + &body
        }
        Language::Spreadsheet => format!("={text}\n"),
        _ => format!("{name} = {text}\n"),
    })
}

/// Refuses what is no name of a function in the language.
fn check_name(name: &str, language: Language) -> Result<(), Error> {
    if is_word(name) && !language.reserved().contains(&name) {
        return Ok(());
    }
    let got = format!("'{name}'");
    let want = "a word of letters, digits and _ that the language does not use itself";
    Err(Error::Value { what: "name of a function", got, want })
}

/// What stands before functions: what they import, and functions that the language lacks.
fn head(language: Language, body: &str) -> String {
    let words: HashSet<&str> = body.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let imports = match language {
        Language::C => "#include <math.h>\n\n".to_string(),
        Language::Python => {
            let math =
                ["acos", "asin", "atan", "cos", "cosh", "exp", "log", "pi", "sin", "sinh", "sqrt", "tan", "tanh"];
            let used: Vec<&str> = math.into_iter().filter(|name| words.contains(name)).collect();
            if used.is_empty() { String::new() } else { format!("from math import {}\n\n\n", used.join(", ")) }
        }
        _ => String::new(),
    };
    let used = language.helpers().iter().filter(|(call, _)| words.contains(call.trim_end_matches('(')));
    imports + &used.map(|(_, definition)| *definition).collect::<String>()
}

/// Every unit's output by name, in terms of those before it.
fn steps<R: Real>(
    network: &Network<R>,
    params: &[R],
    mut names: Vec<String>,
    style: Style,
) -> Result<Option<Vec<(String, Expression)>>, Error> {
    Error::sizes(&format!("parameters of {}", network.name()), params.len(), network.param_len())?;
    let layers = network.layers();
    let mut steps = Vec::new();
    for (k, layer) in layers.iter().enumerate() {
        let own: Vec<f64> = network.layer_params(params, k).iter().map(|w| w.to_f64()).collect();
        let inputs: Vec<Expression> = names.iter().map(Expression::variable).collect();
        let Some(outputs) = layer.formula(&own, &inputs, style) else { return Ok(None) };
        Error::sizes(&format!("outputs of the formula of {}", layer.name()), outputs.len(), layer.shape().outputs)?;
        if outputs.iter().map(Expression::size).sum::<usize>() > MOST_WRITTEN {
            return Ok(None);
        }
        let word = match (k + 1 == layers.len(), layers.len()) {
            (true, _) => "y".to_owned(),
            (false, 2) => "h".to_owned(),
            _ => format!("h{}_", k + 1),
        };
        names = match outputs.len() {
            1 => vec![word.trim_end_matches('_').to_owned()],
            n => (1..=n).map(|o| format!("{word}{o}")).collect(),
        };
        steps.extend(names.iter().cloned().zip(outputs));
    }
    Ok(Some(steps))
}

/// The steps that the last `outputs` ones depend on: compilers complain about the others.
fn needed(steps: &[(String, Expression)], outputs: usize) -> Vec<&(String, Expression)> {
    let mut wanted: HashSet<&str> = steps[steps.len() - outputs..].iter().map(|(name, _)| name.as_str()).collect();
    let mut kept: Vec<_> = steps
        .iter()
        .rev()
        .filter(|(name, expression)| {
            let needed = wanted.contains(name.as_str());
            if needed {
                expression.variables(&mut |name| {
                    wanted.insert(name);
                });
            }
            needed
        })
        .collect();
    kept.reverse();
    kept
}

fn function(
    steps: &[&(String, Expression)],
    name: &str,
    inputs: usize,
    outputs: usize,
    about: &str,
    language: Language,
) -> String {
    let mut constant = true;
    let mut look = |name: &str| constant &= !name.starts_with('x');
    steps.iter().for_each(|(_, expression)| expression.variables(&mut look));
    let x = if constant { "_x" } else { "x" };
    let (head, indent, binding, end) = match language {
        Language::Rust => (
            match outputs {
                1 => format!("/// {about}\npub fn {name}({x}: [f64; {inputs}]) -> f64 {{"),
                n => format!("/// {about}\npub fn {name}({x}: [f64; {inputs}]) -> [f64; {n}] {{"),
            },
            "    ",
            ("let ", ";"),
            "}\n",
        ),
        Language::C => (
            match outputs {
                1 => format!("/* {about} */\ndouble {name}(const double x[{inputs}]) {{"),
                n => format!("/* {about} */\nvoid {name}(const double x[{inputs}], double y[{n}]) {{"),
            },
            "    ",
            ("const double ", ";"),
            "}\n",
        ),
        Language::Python => (format!("# {about}\ndef {name}(x):"), "    ", ("", ""), ""),
        _ => (format!("{name}:"), "", ("", ""), ""),
    };
    let mut body = String::new();
    for (name, expression) in steps {
        let _ = writeln!(body, "{indent}{}{name} = {}{}", binding.0, expression.write(language), binding.1);
    }
    let mut out = format!("{}{head}\n{body}", self::head(language, &body));
    let last: Vec<&str> = steps[steps.len() - outputs..].iter().map(|(name, _)| name.as_str()).collect();
    match (language, outputs) {
        (Language::Rust, 1) => out.push_str("    y\n"),
        (Language::Rust, _) => out.push_str(&format!("    [{}]\n", last.join(", "))),
        (Language::C, 1) => out.push_str("    return y;\n"),
        (Language::C, _) => {
            last.iter().enumerate().for_each(|(k, name)| out.push_str(&format!("    y[{k}] = {name};\n")))
        }
        (Language::Python, 1) => out.push_str("    return y\n"),
        (Language::Python, _) => out.push_str(&format!("    return [{}]\n", last.join(", "))),
        _ => {}
    }
    out + end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mlp, NacAdd, NacMul, Nau, Nmu, Npu};

    fn lines<R: Real>(network: &Network<R>, p: &[f64]) -> Option<Vec<String>> {
        let p: Vec<R> = p.iter().map(|&w| R::of(w)).collect();
        read(network, &p, &[]).unwrap()
    }

    #[test]
    fn stacks_read_as_sums_and_products() {
        let network =
            Network::<f32>::new(vec![Box::new(Nau::new(6, 2).unwrap()), Box::new(Nmu::new(2, 1).unwrap())]).unwrap();
        let p = [1.0, 1.0, 0.999, 1.0, 0.0, 0.001, 0.0, 0.0, 0.0, 0.25, -1.0, 1.0, 1.0, 1.0];
        let want = ["h1 = (x1 + … + x4)", "h2 = 0.25 * x4 - x5 + x6", "y = h1 * h2"];
        assert_eq!(lines(&network, &p).unwrap(), want);
    }

    #[test]
    fn units_that_have_not_decided_say_so() {
        let nmu = Network::<f32>::single(Nmu::new(3, 1).unwrap());
        assert_eq!(lines(&nmu, &[1.0, 0.5, 0.0]).unwrap(), ["y = x1 * (0.5 * x2 + 0.5)"]);
        assert_eq!(lines(&nmu, &[0.0; 3]).unwrap(), ["y = 1"]);
        let error = read(&nmu, &[0.0; 2], &[]).unwrap_err();
        assert_eq!(error.to_string(), "parameters of nmu: got 2, but 3 is needed");
        let error = read(&nmu, &[0.0; 3], &["a", "b"]).unwrap_err();
        assert_eq!(error.to_string(), "names of inputs: got 2, but 3 is needed");
        // tanh(10) sigmoid(10) is as good as 1, and tanh(0) is 0.
        let nac = Network::<f64>::single(NacAdd::new(2, 1).unwrap());
        assert_eq!(lines(&nac, &[10.0, 0.0, 10.0, 10.0]).unwrap(), ["y = x1"]);
        let mlp = Network::<f32>::single(Mlp::new(2, 200, 1).unwrap());
        assert_eq!(lines(&mlp, &vec![0.3; mlp.param_len()]), None, "too long to read");
    }

    #[test]
    fn powers_and_signs_are_read() {
        let nac = Network::<f64>::single(NacMul::new(2, 1).unwrap());
        assert_eq!(lines(&nac, &[10.0, -10.0, 10.0, 10.0]).unwrap(), ["y = |x1| / |x2|"]);
        // sigmoid(0) is a half.
        let nac = Network::<f64>::single(NacMul::new(3, 1).unwrap());
        assert_eq!(lines(&nac, &[10.0, 10.0, 0.0, 0.0, 10.0, 10.0]).unwrap(), ["y = |x1|^0.5 * |x2|"]);
        assert_eq!(lines(&nac, &[0.0; 6]).unwrap(), ["y = 1"]);
        let npu = Network::<f64>::single(Npu::real(3, 1).unwrap());
        assert_eq!(lines(&npu, &[1.0, -2.0, 0.0, 1.0, 1.0, 0.5]).unwrap(), ["y = x1 / x2^2"]);
        let half = lines(&npu, &[0.5, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
        assert_eq!(half, ["y = sqrt(|x1|) * cos(1.571 * [x1 < 0])"]);
    }

    #[test]
    fn source_text_is_a_whole_function() {
        let network = Network::<f64>::single(Nau::new(2, 2).unwrap());
        let text = |language| source(&network, &[1.0, -1.0, 0.5, 0.0], "sums", language).unwrap();
        let rust = "/// nau\npub fn sums(x: [f64; 2]) -> [f64; 2] {\n    let y1 = x[0] - x[1];\n    let y2 = 0.5 * x[0];\n    [y1, y2]\n}\n";
        assert_eq!(text(Language::Rust), rust);
        let c = "#include <math.h>\n\n/* nau */\nvoid sums(const double x[2], double y[2]) {\n    const double y1 = x[0] - x[1];\n    const double y2 = 0.5 * x[0];\n    y[0] = y1;\n    y[1] = y2;\n}\n";
        assert_eq!(text(Language::C), c);
        let error = source(&network, &[0.0; 4], "a-b", Language::C).unwrap_err().to_string();
        let want = "a word of letters, digits and _ that the language does not use itself";
        assert_eq!(error, format!("name of a function is 'a-b'; it must be {want}"));
        assert!(source(&network, &[0.0; 4], "exp", Language::C).is_err());
        assert!(source(&network, &[0.0; 4], "lambda", Language::C).is_ok());
        assert!(source(&network, &[0.0; 4], "lambda", Language::Python).is_err());
        let error = source(&network, &[0.0; 4], "sums", Language::Latex).unwrap_err().to_string();
        assert!(error.contains("take Rust, C or Python"), "{error}");
    }
}
