//! A trained network read as arithmetic.

use crate::module::nac;
use crate::{Dispatch, Network, Real};

/// Weights this close to -1, 0 or 1 read as that.
const NEAR: f64 = 5e-3;

/// The formula of a network, line by line; nothing for networks that do not read as one, or if these are not its parameters.
pub fn read<R: Real>(network: &Network<R>, params: &[R]) -> Option<Vec<String>> {
    if params.len() != network.param_len() {
        return None;
    }
    let layers = network.layers();
    let mut names: Vec<String> = (1..=network.shape().inputs).map(|i| format!("x{i}")).collect();
    let mut lines = Vec::new();
    for (k, layer) in layers.iter().enumerate() {
        let own: Vec<f64> = network.layer_params(params, k).iter().map(|w| w.to_f64()).collect();
        let last = k + 1 == layers.len();
        let right = outputs(layer.as_ref(), &own, &names)?;
        let single = right.len() == 1;
        names = (1..=right.len())
            .map(|o| match (last, single) {
                (true, true) => "y".into(),
                (true, false) => format!("y{o}"),
                (false, _) => format!("{}{o}", if k == 0 { "h".into() } else { format!("h{k}_") }),
            })
            .collect();
        lines.extend(names.iter().zip(&right).map(|(name, right)| format!("{name} = {right}")));
    }
    Some(lines)
}

/// What each output of a layer is, in terms of the names of its inputs.
fn outputs<R: Real>(layer: &dyn Dispatch<R>, p: &[f64], names: &[String]) -> Option<Vec<String>> {
    let shape = layer.shape();
    let of = |line: fn(&[f64], &[String]) -> String, weights: &[f64]| {
        Some(weights.chunks_exact(shape.inputs).take(shape.outputs).map(|row| line(row, names)).collect())
    };
    let effective = || nac::effective(p, shape.weights(), 1.0).collect::<Vec<f64>>();
    match layer.name() {
        "nau" => of(sum, p),
        "nac-add" => of(sum, &effective()),
        "nmu" | "snmu" | "snmu-exp" => of(product, p),
        "stg-nmu" => of(product, &p.iter().map(|w| w.clamp(0.0, 1.0)).collect::<Vec<f64>>()),
        "nac-mul" => of(powers, &effective()),
        "mul" => Some(vec![names.join(" * "); shape.outputs]),
        _ => None,
    }
}

fn snap(w: f64) -> f64 {
    if (w - w.round()).abs() < NEAR { w.round() } else { w }
}

/// w1 a + w2 b; neighbours with the weight 1 are drawn together.
fn sum(weights: &[f64], names: &[String]) -> String {
    let weights: Vec<f64> = weights.iter().map(|&w| snap(w)).collect();
    let mut terms = Vec::new();
    let mut k = 0;
    while k < weights.len() {
        let run = weights[k..].iter().take_while(|w| **w == weights[k]).count();
        match weights[k] {
            0.0 => {}
            w if w.abs() == 1.0 && run > 3 => {
                let sign = if w < 0.0 { "-" } else { "" };
                terms.push(format!("{sign}({} + … + {})", names[k], names[k + run - 1]));
            }
            w => terms.extend(names[k..k + run].iter().map(|name| match w {
                1.0 => name.clone(),
                -1.0 => format!("-{name}"),
                _ => format!("{w:.3} {name}"),
            })),
        }
        k += run;
    }
    if terms.is_empty() { "0".into() } else { terms.join(" + ").replace("+ -", "- ") }
}

/// (w1 a + 1 - w1)(w2 b + 1 - w2); factors that are 1 are left out.
fn product(weights: &[f64], names: &[String]) -> String {
    let factors = weights.iter().zip(names).filter_map(|(&w, name)| match snap(w) {
        0.0 => None,
        1.0 => Some(name.clone()),
        w => Some(format!("({w:.3} {name} + {:.3})", 1.0 - w)),
    });
    let factors: Vec<String> = factors.collect();
    if factors.is_empty() { "1".into() } else { factors.join(" * ") }
}

/// |a|^w1 |b|^w2.
fn powers(weights: &[f64], names: &[String]) -> String {
    let factors = weights.iter().zip(names).filter_map(|(&w, name)| match snap(w) {
        0.0 => None,
        1.0 => Some(format!("|{name}|")),
        w => Some(format!("|{name}|^{w:.3}")),
    });
    let factors: Vec<String> = factors.collect();
    if factors.is_empty() { "1".into() } else { factors.join(" * ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mlp, NacAdd, NacMul, Nau, Nmu};

    #[test]
    fn stacks_read_as_sums_and_products() {
        let network =
            Network::<f32>::new(vec![Box::new(Nau::new(6, 2).unwrap()), Box::new(Nmu::new(2, 1).unwrap())]).unwrap();
        let p = [1.0, 1.0, 0.999, 1.0, 0.0, 0.001, 0.0, 0.0, 0.0, 0.25, -1.0, 1.0, 1.0, 1.0];
        let want = ["h1 = (x1 + … + x4)", "h2 = 0.250 x4 - x5 + x6", "y = h1 * h2"];
        assert_eq!(read(&network, &p).unwrap(), want);
    }

    #[test]
    fn units_that_have_not_decided_say_so() {
        let nmu = Network::<f32>::single(Nmu::new(3, 1).unwrap());
        assert_eq!(read(&nmu, &[1.0, 0.5, 0.0]).unwrap(), ["y = x1 * (0.500 x2 + 0.500)"]);
        assert_eq!(read(&nmu, &[0.0; 3]).unwrap(), ["y = 1"]);
        assert_eq!(read(&nmu, &[0.0; 2]), None);
        // tanh(10) sigmoid(10) is as good as 1, and tanh(0) is 0.
        let nac = Network::<f64>::single(NacAdd::new(2, 1).unwrap());
        assert_eq!(read(&nac, &[10.0, 0.0, 10.0, 10.0]).unwrap(), ["y = x1"]);
        // sigmoid(0) is a half.
        let powers = Network::<f64>::single(NacMul::new(3, 1).unwrap());
        assert_eq!(read(&powers, &[10.0, 10.0, 0.0, 0.0, 10.0, 10.0]).unwrap(), ["y = |x1|^0.500 * |x2|"]);
        assert_eq!(read(&powers, &[0.0; 6]).unwrap(), ["y = 1"]);
        let mlp = Network::<f32>::single(Mlp::new(2, 1, 1).unwrap());
        assert_eq!(read(&mlp, &vec![0.0; mlp.param_len()]), None);
    }
}
