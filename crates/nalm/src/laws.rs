//! Laws that hold for every module, and a function that holds a module against them.
//!
//! The listed modules are tested by this function and nothing else is needed for a new one. A module outside this crate is checked in the
//! same way: by a [`Spec`] for each number type.
//!
//! ```
//! use nalm::{laws, module};
//!
//! laws::check(&module::find("nau")?, &module::find("nau")?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::batch::{BatchLayout, to_lanes};
use crate::expression::Expression;
use crate::lane::{InstructionSet, flat};
use crate::loss::Loss;
use crate::module::{Options, Pass, Shape, Spec};
use crate::rng::{Purpose, Rng};
use crate::setting::{Setting, Value};
use crate::style::Style;
use crate::{Error, Lane, Network, Operation, Real, gradcheck};
use std::fmt::{self, Display};

/// A law that a module breaks, and how.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{module} breaks the law \"{law}\": {how}")]
#[non_exhaustive]
pub struct Broken {
    /// The module's name.
    pub module: &'static str,
    /// The law.
    pub law: Law,
    /// What was found, and where.
    pub how: String,
}

/// What holds for every module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Law {
    /// Modules are built in the shape asked for and have the name of their [`Spec`].
    Built,
    /// The gradients of parameters and inputs are those of central differences in `f64`.
    Gradients,
    /// The same for batches of 1 to 40 rows: a batch that fills no whole lane counts no row twice.
    Rows,
    /// [`crate::Module::backward`] adds to `dp`, and what it writes to `dx` does not depend on what was there.
    Accumulation,
    /// Evaluation gives the same bits again, also after training; a pass without noise gives them, too.
    Determinism,
    /// [`Pass::Replay`] gives the bits of the training pass before it.
    Replay,
    /// Rows beyond the batch change no bit of the parameters' gradient.
    Padding,
    /// Initial parameters are in their box, projected ones too; what is inside is not moved, and a NaN stays.
    Boxes,
    /// Gold parameters exist for what is claimed and for nothing else, and compute it.
    Gold,
    /// At the gold parameters of sums, products and quotients the sparsity error is 0; where it depends on the parameters, NaNs are not hidden.
    Sparsity,
    /// The penalty's gradient is that of its value.
    Penalty,
    /// `f32` and `f64` give the same outputs and gradients, but for rounding.
    Precision,
    /// The module over `f64` that [`crate::Module::as_f64`] makes is the one that is built over `f64`.
    Widening,
    /// The formula, where there is one, computes what the module does, and its names are those of its inputs.
    Formula,
    /// Name, shape and options say all there is to know: the module that is built from them computes the same.
    Options,
    /// Every instruction set gives the same bits.
    InstructionSets,
}

impl Law {
    /// All laws, in the order in which they are checked.
    pub const ALL: [Law; 16] = [
        Law::Built,
        Law::Gradients,
        Law::Rows,
        Law::Accumulation,
        Law::Determinism,
        Law::Replay,
        Law::Padding,
        Law::Boxes,
        Law::Gold,
        Law::Sparsity,
        Law::Penalty,
        Law::Precision,
        Law::Widening,
        Law::Formula,
        Law::Options,
        Law::InstructionSets,
    ];

    /// The law in a few words.
    pub fn name(self) -> &'static str {
        match self {
            Law::Built => "modules are built as asked for",
            Law::Gradients => "gradients agree with central differences",
            Law::Rows => "gradients are right for any number of rows",
            Law::Accumulation => "backward adds to dp and overwrites dx",
            Law::Determinism => "evaluation is deterministic",
            Law::Replay => "replay repeats training",
            Law::Padding => "padding has no influence",
            Law::Boxes => "parameters stay in their box",
            Law::Gold => "gold parameters compute what is claimed",
            Law::Sparsity => "gold parameters are sparse",
            Law::Penalty => "penalties have the gradient of their value",
            Law::Precision => "single and double precision agree",
            Law::Widening => "as_f64 is the same module",
            Law::Formula => "the formula computes what the module does",
            Law::Options => "name, shape and options make the module again",
            Law::InstructionSets => "every instruction set gives the same bits",
        }
    }
}

impl Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Holds a module, described over both number types, against all laws; the first that it breaks is the error.
///
/// It is built in several shapes, of which it may refuse all but two inputs and one output, and with the defaults of its options; but one
/// called `hidden` is set to 7, because gradients are compared parameter by parameter.
pub fn check(single: &Spec<f32>, double: &Spec<f64>) -> Result<(), Broken> {
    for law in Law::ALL {
        let held = match law {
            Law::Built => built(single, double),
            Law::Gradients => gradients(double),
            Law::Rows => any_rows(double),
            Law::Accumulation => accumulation(double),
            Law::Determinism => determinism(single),
            Law::Replay => replay(double),
            Law::Padding => padding(double),
            Law::Boxes => boxes(single),
            Law::Gold => gold(single).and_then(|()| gold(double)),
            Law::Sparsity => sparsity(double),
            Law::Penalty => penalty(double),
            Law::Precision => precision(single, double),
            Law::Widening => widening(single, double),
            Law::Formula => formula(double),
            Law::Options => options(double),
            Law::InstructionSets => instruction_sets(single),
        };
        held.map_err(|How(how)| Broken { module: single.name, law, how })?;
    }
    Ok(())
}

/// Inputs and outputs of the modules that are built. Only the first shape must not be refused.
const SHAPES: [(usize, usize); 6] = [(2, 1), (1, 1), (3, 2), (4, 2), (5, 3), (6, 1)];
/// The largest relative error of a gradient.
const GRADIENT_ERROR: f64 = 1e-6;
/// The same at many more points, of which some are hard on differences. A row that is left out or counted twice shows as percents.
const ROWS_ERROR: f64 = 1e-3;
/// Random points at which the gradients of one shape are compared.
const POINTS: u64 = 20;
/// Rows that take a whole lane and part of another.
const ROWS: usize = 19;

/// How a law is broken.
struct How(String);

impl From<Error> for How {
    fn from(error: Error) -> Self {
        How(error.to_string())
    }
}

fn ensure(holds: bool, how: impl FnOnce() -> String) -> Result<(), How> {
    if holds { Ok(()) } else { Err(How(how())) }
}

/// The shape in words.
fn size<R: Real>(network: &Network<R>) -> String {
    let Shape { inputs, outputs } = network.shape();
    format!("inputs: {inputs}, outputs: {outputs}")
}

/// The module alone in a network, in every shape that it allows.
fn networks<R: Real>(spec: &Spec<R>) -> Result<Vec<Network<R>>, How> {
    let mut options = Options::new();
    if spec.options.iter().any(|declared| declared.name == "hidden") {
        options.set("hidden", 7usize);
    }
    let mut all = Vec::new();
    for (k, (inputs, outputs)) in SHAPES.into_iter().enumerate() {
        let shape = Shape::new(inputs, outputs)?;
        match (spec.build)(shape, &options) {
            Ok(unit) if unit.shape() != shape => {
                return Err(How(format!("asked for {shape:?}, built was {:?}", unit.shape())));
            }
            Ok(unit) => all.push(Network::new(vec![unit])?),
            Err(error) if k == 0 => return Err(error.into()),
            Err(_) => {}
        }
    }
    Ok(all)
}

/// Row-major inputs, the same for both number types but for rounding.
fn rows<R: Real>(network: &Network<R>, rows: usize, low: f64, high: f64) -> Vec<R> {
    let mut rng = Rng::fast("inputs", Purpose::Data);
    (0..rows * network.shape().inputs).map(|_| R::of(rng.uniform(low, high))).collect()
}

fn initial<R: Real>(network: &Network<R>) -> Vec<R> {
    let mut p = vec![R::ZERO; network.param_len()];
    network.init(&mut p, &mut Rng::fast("init", Purpose::Init));
    p
}

fn noise() -> Rng {
    Rng::fast("noise", Purpose::Noise)
}

fn bits<R: Real>(numbers: &[R]) -> Vec<u64> {
    numbers.iter().map(|v| v.bits()).collect()
}

fn lane_bits<R: Real>(lanes: &[Lane<R>]) -> Vec<u64> {
    bits(flat(lanes))
}

fn built(single: &Spec<f32>, double: &Spec<f64>) -> Result<(), How> {
    let (single_networks, double_networks) = (networks(single)?, networks(double)?);
    let names = single_networks.iter().map(|network| (network.name(), single.name));
    for (got, want) in names.chain(double_networks.iter().map(|network| (network.name(), double.name))) {
        ensure(got == want, || format!("the module built is called {got} instead of {want}"))?;
    }
    ensure(single.name == double.name, || format!("it is called {} over f64", double.name))?;
    // Other laws compare the two, shape by shape.
    let shapes = single_networks.iter().map(Network::shape).eq(double_networks.iter().map(Network::shape));
    ensure(shapes, || "f32 and f64 refuse different shapes".into())
}

fn gradients(spec: &Spec<f64>) -> Result<(), How> {
    for network in networks(spec)? {
        let found = gradcheck::check_many(&network, spec.smooth_at_zero, POINTS);
        let gradcheck::Check { worst_relative_error: worst, compared, kinks } = found;
        let right = worst <= GRADIENT_ERROR;
        ensure(right, || format!("the worst relative error is {worst:.1e} ({})", size(&network)))?;
        ensure(kinks * 10 <= compared, || format!("{kinks} kinks in {compared} gradients ({})", size(&network)))?;
    }
    Ok(())
}

fn any_rows(spec: &Spec<f64>) -> Result<(), How> {
    // Two shapes will do: what differs here is the number of rows.
    for network in networks(spec)?.iter().take(3).step_by(2) {
        for rows in 1..=40 {
            let worst = gradcheck::check_rows(network, rows, spec.smooth_at_zero, rows as u64).worst_relative_error;
            let right = worst <= ROWS_ERROR;
            ensure(right, || format!("the worst relative error with {rows} rows is {worst:.1e} ({})", size(network)))?;
        }
    }
    Ok(())
}

fn formula(spec: &Spec<f64>) -> Result<(), How> {
    for network in networks(spec)? {
        let unit = &network.layers()[0];
        let inputs: Vec<Expression> = (0..unit.shape().inputs).map(|i| Expression::variable(format!("{i}"))).collect();
        for seed in 0..8 {
            // Beyond their box, too, where a module moves its parameters itself.
            let mut rng = Rng::fast(&format!("formula {seed}"), Purpose::Data);
            let mut p: Vec<f64> = (0..network.param_len()).map(|_| rng.uniform(-1.5, 1.5)).collect();
            network.project(&mut p);
            let Some(outputs) = unit.formula(&p, &inputs, Style::Exact) else { continue };
            let same = outputs.len() == unit.shape().outputs;
            ensure(same, || format!("the formula has {} outputs ({})", outputs.len(), size(&network)))?;
            let row: Vec<f64> = inputs.iter().map(|_| rng.uniform(-2.0, 2.0)).collect();
            let value = |name: &str| name.parse().ok().and_then(|i: usize| row.get(i)).map_or(f64::NAN, |x| *x);
            let got: Vec<f64> = outputs.iter().map(|output| output.evaluate(&value)).collect();
            for (got, want) in got.iter().zip(network.predict(&p, &row)?) {
                let close = (got - want).abs() <= 1e-10 * want.abs().max(1e-3);
                ensure(close, || format!("it gives {got} where {want} is computed ({})", size(&network)))?;
            }
        }
    }
    Ok(())
}

fn options(spec: &Spec<f64>) -> Result<(), How> {
    for chosen in choices(spec) {
        for (inputs, outputs) in [SHAPES[0], SHAPES[2]] {
            // Not every value makes sense, and not every shape.
            let Ok(unit) = (spec.build)(Shape::new(inputs, outputs)?, &chosen) else { continue };
            let network = Network::new(vec![unit])?;
            let unit = &network.layers()[0];
            let options = unit.options().check(spec.name, spec.options)?;
            let missing = spec.options.iter().find(|declared| options.get(declared.name).is_none());
            ensure(missing.is_none(), || format!("{} does not say {}", unit.layer(), missing.map_or("", |m| m.name)))?;
            let again = Network::new(vec![(spec.build)(unit.shape(), &options)?])?;
            let same = again.layers()[0].options() == unit.options() && again.param_len() == network.param_len();
            ensure(same, || format!("{} is not {}", again.layers()[0].layer(), unit.layer()))?;
            let alike = again.layers()[0].recipe() == unit.recipe();
            ensure(alike, || format!("{} is trained otherwise", unit.layer()))?;
            let (p, x) = (initial(&network), rows(&network, ROWS, 0.5, 2.0));
            ensure(bits(&initial(&again)) == bits(&p), || format!("{} starts elsewhere", unit.layer()))?;
            let trained = |network: &Network<f64>| -> Result<Vec<u64>, Error> {
                let mut dp = vec![0.0; network.param_len()];
                let y = bits(network.forward_rows(&p, &x, Pass::Train(&mut noise()), &mut network.row_workspace())?);
                network.layers()[0].penalty(&p, 1.0, &mut dp);
                Ok([y, bits(&dp)].concat())
            };
            ensure(trained(&again)? == trained(&network)?, || format!("{} computes something else", unit.layer()))?;
        }
    }
    Ok(())
}

/// The defaults, and one after the other every option that is a number or a flag with another value.
fn choices(spec: &Spec<f64>) -> Vec<Options> {
    let other = |setting: &Setting| {
        let half = |x: f64| 0.5 * x + 0.01;
        Some(match setting.parse(setting.default).ok()? {
            Value::Flag(flag) => Value::Flag(!flag),
            Value::Whole(n) => Value::Whole(n / 2 + 1),
            Value::Number(x) => Value::Number(half(x)),
            Value::Wholes(all) => Value::Wholes(all.iter().map(|n| n + 1).collect()),
            Value::Numbers(all) => Value::Numbers(all.into_iter().map(half).collect()),
            Value::Text(_) => return None,
        })
    };
    let others = spec.options.iter().filter_map(|setting| Some(Options::new().with(setting.name, other(setting)?)));
    std::iter::once(Options::new()).chain(others).collect()
}

fn accumulation(spec: &Spec<f64>) -> Result<(), How> {
    for network in networks(spec)? {
        let p = initial(&network);
        let at = BatchLayout::new(ROWS)?;
        let x = to_lanes(&rows(&network, ROWS, 0.5, 2.0), at)?;
        let mut work = network.workspace(at);
        network.forward(&p, &x, &mut work, Pass::Train(&mut noise()));
        let backward = |dx: f64, dp: &mut [f64]| {
            // A module may use up its tape.
            let mut work = work.clone();
            work.output_gradient().fill(Lane::splat(1.0));
            let mut dx = vec![Lane::splat(dx); x.len()];
            network.backward(&p, &x, &mut work, Some(&mut dx), dp);
            lane_bits(&dx)
        };
        let (mut once, mut twice) = (vec![0.0; p.len()], vec![0.0; p.len()]);
        let first = backward(0.0, &mut once);
        backward(0.0, &mut twice);
        let second = backward(7.0, &mut twice);
        for (k, (a, b)) in once.iter().zip(&twice).enumerate() {
            let holds = (2.0 * a - b).abs() <= 1e-12 * a.abs().max(1.0);
            ensure(holds, || format!("dp[{k}] is {a} after one pass and {b} after two ({})", size(&network)))?;
        }
        ensure(first == second, || format!("dx depends on what was there before ({})", size(&network)))?;
    }
    Ok(())
}

fn determinism(spec: &Spec<f32>) -> Result<(), How> {
    for network in networks(spec)? {
        let p = initial(&network);
        let at = BatchLayout::new(37)?;
        let x = to_lanes(&rows(&network, 37, -2.0, 2.0), at)?;
        let fresh = lane_bits(network.forward(&p, &x, &mut network.workspace(at), Pass::Eval));
        let mut used = network.workspace(at);
        network.forward(&p, &x, &mut used, Pass::Train(&mut noise()));
        let after = lane_bits(network.forward(&p, &x, &mut used, Pass::Eval));
        ensure(fresh == after, || format!("evaluation differs after training ({})", size(&network)))?;
        let noiseless = lane_bits(network.forward(&p, &x, &mut used, Pass::Noiseless));
        ensure(fresh == noiseless, || format!("a pass without noise is not evaluation ({})", size(&network)))?;
    }
    Ok(())
}

fn replay(spec: &Spec<f64>) -> Result<(), How> {
    for network in networks(spec)? {
        let p = initial(&network);
        let at = BatchLayout::new(ROWS)?;
        let x = to_lanes(&rows(&network, ROWS, 1.0, 2.0), at)?;
        let mut work = network.workspace(at);
        let trained = lane_bits(network.forward(&p, &x, &mut work, Pass::Train(&mut noise())));
        let replayed = lane_bits(network.forward(&p, &x, &mut work, Pass::Replay));
        ensure(trained == replayed, || format!("replayed outputs differ ({})", size(&network)))?;
    }
    Ok(())
}

fn padding(spec: &Spec<f64>) -> Result<(), How> {
    for network in networks(spec)? {
        let p = initial(&network);
        let at = BatchLayout::new(ROWS)?;
        let rows = rows(&network, ROWS, 0.5, 2.0);
        let gradient = |spoil: f64| -> Result<Vec<f64>, How> {
            let mut x = to_lanes(&rows, at)?;
            for last in x.iter_mut().skip(at.lanes() - 1).step_by(at.lanes()) {
                last.0[at.rows_in(at.lanes() - 1)..].fill(spoil);
            }
            let mut work = network.workspace(at);
            network.forward(&p, &x, &mut work, Pass::Train(&mut noise()));
            let (y, dy) = work.output_and_gradient();
            Loss::Mse.gradient(y, &vec![Lane::splat(0.7); y.len()], dy, at);
            let mut dp = vec![0.0; p.len()];
            network.backward(&p, &x, &mut work, None, &mut dp);
            Ok(dp)
        };
        let same = bits(&gradient(0.7)?) == bits(&gradient(1.9)?);
        ensure(same, || format!("dp depends on the padding ({})", size(&network)))?;
        let finite = gradient(1e3)?.iter().all(|g| g.is_finite());
        ensure(finite, || format!("large numbers in the padding make dp infinite or NaN ({})", size(&network)))?;
    }
    Ok(())
}

fn boxes(spec: &Spec<f32>) -> Result<(), How> {
    for network in networks(spec)? {
        let unit = &network.layers()[0];
        let mut p = vec![0.0; unit.param_len()];
        let inside = |what: &str, p: &[f32]| -> Result<(), How> {
            for (k, &v) in p.iter().enumerate() {
                let (low, high) = unit.bounds(k);
                ensure(low <= v && v <= high, || format!("{what} parameter {k} is {v} ({})", size(&network)))?;
            }
            Ok(())
        };
        for seed in 0..20 {
            unit.init(&mut p, &mut Rng::fast(&format!("init {seed}"), Purpose::Init));
            inside("initial", &p)?;
        }
        let kept = bits(&p);
        unit.project(&mut p);
        ensure(bits(&p) == kept, || format!("parameters inside are moved ({})", size(&network)))?;
        p.iter_mut().enumerate().for_each(|(k, v)| *v = if k % 2 == 0 { 7.0 } else { -7.0 });
        unit.project(&mut p);
        inside("projected", &p)?;
        if let Some(first) = p.first_mut() {
            *first = f32::NAN;
            unit.project(&mut p);
            ensure(p[0].is_nan(), || format!("projection hides a NaN ({})", size(&network)))?;
        }
    }
    Ok(())
}

fn gold<R: Real>(spec: &Spec<R>) -> Result<(), How> {
    for network in networks(spec)? {
        let Shape { inputs, outputs } = network.shape();
        if inputs < 2 {
            continue;
        }
        for operation in Operation::ALL {
            let gold = network.layers()[0].gold(operation);
            if (inputs, outputs) == SHAPES[0] && gold.is_some() != spec.claims.contains(&operation) {
                let [claims, has] = [spec.claims.contains(&operation), gold.is_some()];
                return Err(How(format!("{operation} is claimed: {claims}; gold parameters are there: {has}")));
            }
            let Some(p) = gold else { continue };
            let low = if spec.gold_positive { 0.5 } else { -3.0 };
            let mut x = rows(&network, 200, low, 3.0);
            if spec.gold_error == 0.0 {
                // Whole numbers, where exactness is claimed: their products have no rounding of their own.
                let whole = |v: f64| if v < 0.0 { -1.0 } else { 1.0 } * (1.0 + v.abs().floor());
                x.iter_mut().for_each(|v| *v = R::of(whole(v.to_f64())));
            }
            let y = network.predict(&p, &x)?;
            for (x, y) in x.chunks(inputs).zip(y.chunks(outputs)) {
                let t = operation.apply(x[0], x[1]).to_f64();
                for y in y {
                    let error = (y.to_f64() - t).abs() / t.abs().max(1e-3);
                    ensure(error <= spec.gold_error, || {
                        let name = R::NAME;
                        format!("{operation} of {x:?} is {y} in {name}, an error of {error:.1e} ({})", size(&network))
                    })?;
                }
            }
        }
    }
    Ok(())
}

fn sparsity(spec: &Spec<f64>) -> Result<(), How> {
    for network in networks(spec)? {
        let unit = &network.layers()[0];
        for &operation in spec.claims {
            let (a, b) = operation.exponents();
            // The exponents of a square or a root are not among those that count as sparse.
            let Some(p) = unit.gold(operation).filter(|_| [a, b].iter().all(|e| [-1.0, 0.0, 1.0].contains(e))) else {
                continue;
            };
            let Some(error) = unit.sparsity_error(&p) else { continue };
            ensure(error < 1e-9, || format!("{error} for {operation} ({})", size(&network)))?;
        }
        let error_at = |v: f64| unit.sparsity_error(&vec![v; unit.param_len()]);
        ensure(error_at(f64::NAN).is_none_or(f64::is_nan), || {
            format!("NaNs have an error that is a number ({})", size(&network))
        })?;
    }
    Ok(())
}

fn penalty(spec: &Spec<f64>) -> Result<(), How> {
    for network in networks(spec)? {
        let unit = &network.layers()[0];
        let p: Vec<f64> = (0..unit.param_len()).map(|k| (0.13 + 0.071 * k as f64) % 0.97).collect();
        let mut dp = vec![0.0; p.len()];
        unit.penalty(&p, 1.7, &mut dp);
        for k in 0..p.len() {
            let at = |h: f64| {
                let mut p = p.clone();
                p[k] += h;
                unit.penalty(&p, 1.7, &mut vec![0.0; p.len()])
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            let holds = (difference - dp[k]).abs() < 1e-6;
            ensure(holds, || format!("dp[{k}] is {}, the difference {difference} ({})", dp[k], size(&network)))?;
        }
    }
    Ok(())
}

/// Outputs to 1e-5 of the largest one, gradients to 1e-4.
fn precision(single: &Spec<f32>, double: &Spec<f64>) -> Result<(), How> {
    for (a, b) in networks(single)?.iter().zip(&networks(double)?) {
        let p64: Vec<f64> = initial(b).iter().map(|v| f64::from((*v as f32).clamp(-2.0, 2.0))).collect();
        let p32: Vec<f32> = p64.iter().map(|v| *v as f32).collect();
        let x32 = rows(a, 33, 0.5, 2.0);
        let x64: Vec<f64> = x32.iter().map(|v| f64::from(*v)).collect();
        let (y32, dp32) = outputs_and_gradient(a, &p32, &x32)?;
        let (y64, dp64) = outputs_and_gradient(b, &p64, &x64)?;
        for (what, got, want, tolerance) in [("an output", y32, y64, 1e-5), ("a gradient", dp32, dp64, 1e-4)] {
            let scale = want.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
            for (g, w) in got.iter().zip(&want) {
                let holds = (g - w).abs() <= tolerance * scale;
                ensure(holds, || format!("{what} is {g} in f32 and {w} in f64 ({})", size(a)))?;
            }
        }
    }
    Ok(())
}

/// Outputs in evaluation, and the parameters' gradient of the sum of the outputs in training.
fn outputs_and_gradient<R: Real>(network: &Network<R>, p: &[R], x: &[R]) -> Result<(Vec<f64>, Vec<f64>), How> {
    let at = BatchLayout::new(x.len() / network.shape().inputs)?;
    let x = to_lanes(x, at)?;
    let mut work = network.workspace(at);
    let y = flat(network.forward(p, &x, &mut work, Pass::Eval)).iter().map(|v| v.to_f64()).collect();
    let mut dp = vec![R::ZERO; p.len()];
    // The reference stream draws the same 24-bit noise for both number types.
    network.forward(p, &x, &mut work, Pass::Train(&mut Rng::torch(3)));
    work.output_gradient().fill(Lane::splat(R::ONE));
    network.backward(p, &x, &mut work, None, &mut dp);
    Ok((y, dp.iter().map(|v| v.to_f64()).collect()))
}

fn widening(single: &Spec<f32>, double: &Spec<f64>) -> Result<(), How> {
    for (a, b) in networks(single)?.iter().zip(&networks(double)?) {
        let Some(wide) = a.layers()[0].as_f64() else { continue };
        ensure(wide.name() == double.name, || format!("as_f64 is called {}", wide.name()))?;
        let (p, x) = (initial(b), rows(b, ROWS, 0.5, 2.0));
        let y = Network::new(vec![wide])?.predict(&p, &x)?;
        ensure(bits(&y) == bits(&b.predict(&p, &x)?), || format!("outputs differ ({})", size(a)))?;
    }
    Ok(())
}

fn instruction_sets(spec: &Spec<f32>) -> Result<(), How> {
    for network in networks(spec)? {
        let p = initial(&network);
        let pass = |set: InstructionSet| -> Result<[Vec<u64>; 3], How> {
            let at = BatchLayout::on(set, 77)?;
            let x = to_lanes(&rows(&network, 77, -2.0, 2.0), at)?;
            let mut work = network.workspace(at);
            let y = lane_bits(network.forward(&p, &x, &mut work, Pass::Train(&mut noise())));
            work.output_gradient().fill(Lane::splat(0.25));
            let (mut dp, mut dx) = (vec![0.0; p.len()], x.clone());
            network.backward(&p, &x, &mut work, Some(&mut dx), &mut dp);
            Ok([y, lane_bits(&dx), bits(&dp)])
        };
        let portable = pass(InstructionSet::PORTABLE)?;
        for set in InstructionSet::available() {
            let differs = pass(set)?.iter().zip(&portable).position(|(a, b)| a != b);
            if let Some(k) = differs {
                let what = ["y", "dx", "dp"][k];
                return Err(How(format!("{what} differs on {} ({})", set.name(), size(&network))));
            }
        }
    }
    Ok(())
}
