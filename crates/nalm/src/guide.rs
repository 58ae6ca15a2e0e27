//! How to use the library: a layer in a loop of your own, data of your own, saving, a unit of your own, and the cargo features.
//!
//! | page | for |
//! |---|---|
//! | [`own_loop`] | a unit inside a model or training loop of your own |
//! | [`own_data`] | a table of numbers, and the formula behind one of its columns |
//! | [`saving`] | trained networks as files, and as source text in Rust, C and Python |
//! | [`own_unit`] | a unit that nobody has published yet |
//! | [`features`] | what can be switched on, and what that costs |

/// A unit inside a model or training loop of your own.
///
/// Parameters are one flat vector that you own. Inputs and outputs are plain slices, row after row. [`Network::forward_rows`] computes outputs;
/// [`Network::backward_rows`] takes the gradient of your loss with respect to these outputs, adds the parameters' gradient to a vector of yours, and
/// returns the gradient with respect to the inputs, which is what the layer before needs.
///
/// ```
/// use nalm::{Network, Nmu, Optimisation, Optimiser, Pass, Rng};
///
/// let network = Network::<f32>::single(Nmu::new(2, 1)?);
/// let mut params = vec![0.0; network.param_len()];
/// let mut rng = Rng::seeded(1);
/// network.init(&mut params, &mut rng);
/// let mut adam = Optimisation::new(Optimiser::adam(1e-2), params.len())?;
/// let mut work = network.row_workspace(); // kept, so that passes allocate nothing
///
/// for _ in 0..2_000 {
///     let x: Vec<f32> = (0..2 * 32).map(|_| rng.uniform(1.0, 2.0)).collect(); // 32 rows of two inputs
///     let y = network.forward_rows(&params, &x, Pass::Train(&mut rng), &mut work)?;
///     // Your loss; here the mean squared error of a product.
///     let dy: Vec<f32> = x.chunks(2).zip(y).map(|(x, y)| 2.0 * (y - x[0] * x[1]) / 32.0).collect();
///     let mut gradient = vec![0.0; params.len()];
///     let _dx = network.backward_rows(&params, &dy, &mut gradient, &mut work)?; // for the layer before
///     adam.step(&mut params, &gradient)?;
///     network.project(&mut params); // back into [0, 1]
/// }
/// assert!(params.iter().all(|w| *w > 0.999));
/// # Ok::<(), nalm::Error>(())
/// ```
///
/// * Any number of rows will do. How a batch is laid out inside is nothing to know about.
/// * A backward pass needs a forward pass in training before it ([`Pass::Train`], or [`Pass::Noiseless`] for stochastic units without their noise),
///   and each serves one. After [`Pass::Eval`] it is refused.
/// * [`Network::project`] moves parameters into the box that the unit's authors gave them. [`Network::penalty`] adds the gradient of their
///   sparsity penalties; [`crate::Config::published`] has their strengths and schedules.
/// * Keep the [`crate::RowWorkspace`]: a prediction of one row takes some dozens of nanoseconds with it, and hundreds with
///   [`Network::predict`], which allocates. Rows cost something over the library's own layout: each number moved in or out about a tenth of a nanosecond, so that a forward and a backward pass
///   take less than twice as long (`cargo bench -p nalm --bench rows`; what it printed is in `record/speed/rows.md`). [`crate::train()`] does not pay that.
/// * All of it works over `f64`, too.
/// * The example `own_loop` has a layer of its own before the unit, and trains it by the inputs' gradient.
///
/// [`Network::forward_rows`]: crate::Network::forward_rows
/// [`Network::backward_rows`]: crate::Network::backward_rows
/// [`Network::project`]: crate::Network::project
/// [`Network::penalty`]: crate::Network::penalty
/// [`Network::predict`]: crate::Network::predict
/// [`Pass::Train`]: crate::Pass::Train
/// [`Pass::Noiseless`]: crate::Pass::Noiseless
/// [`Pass::Eval`]: crate::Pass::Eval
pub mod own_loop {}

/// A table of numbers, and the formula behind one of its columns.
///
/// A [`Table`] has named columns; with the feature `csv` it reads them from text. A [`TableTask`] says which column is to be found from which
/// others, and how rows are split: at random, or with the extremes of a column as test rows, which asks for extrapolation. [`train_until`] trains until the
/// validation rows get no better, from several starts.
///
/// ```
/// use nalm::{Config, Network, Split, Stopping, TableTask, architecture::{Layer, network}, formula, module, train_until};
/// # let table = nalm::Table::new([
/// #     ("volts", (0..300).map(|k| 1.0 + f64::from(k * 7 % 101) / 101.0).collect()),
/// #     ("amperes", (0..300).map(|k| 1.0 + f64::from(k * 13 % 89) / 89.0).collect()),
/// #     ("watts", (0..300).map(|k| (1.0 + f64::from(k * 7 % 101) / 101.0) * (1.0 + f64::from(k * 13 % 89) / 89.0)).collect()),
/// # ])?;
/// // With the feature csv: let table = Table::from_csv(std::fs::File::open("power.csv")?, "power.csv", None)?;
/// let split = Split::Extremes { column: "watts".into(), validation: 0.2, test: 0.2 };
/// let task = TableTask::new(table, &["volts", "amperes"], "watts", split, TableTask::GOAL)?;
/// let layers: [Layer; 1] = ["snmu noise=U[1,2]".parse()?];
/// let network = network::<f32>(&layers, 2, &module::find)?;
/// let config = Config::published(&network).ramp(5_000, 10_000);
/// let outcome = train_until(&network, &task, 0, &config, &Stopping::default(), &mut ())?;
/// assert!(outcome.solved()); // on test rows beyond all that were trained on
/// assert_eq!(formula::read(&network, &outcome.params, &["volts", "amperes"])?.unwrap(), ["y = volts * amperes"]);
/// # Ok::<(), nalm::Error>(())
/// ```
///
/// * After [`train_until`], [`Outcome::params`] are those with the smallest validation error; test rows decide nothing. (After [`train()`] they are those at the end,
///   and [`Outcome::best_params`] have the smallest validation error.)
/// * The example `own_table` reads its table from text and prints all of the outcome.
/// * With the feature `second-order`, `second_order::follow` takes the same task and fits weights to rounding error where gradients alone do not get there.
/// * [`Table::natural_units`] and [`Table::in_units`] bring columns of very different sizes to about 1, without changing a digit. [`Table::row_major`] and
///   [`Table::pick`] hand rows to a loop of your own, [`TableTask::parts`] says which row is in which part.
///
/// [`Table`]: crate::Table
/// [`Table::natural_units`]: crate::Table::natural_units
/// [`Table::in_units`]: crate::Table::in_units
/// [`Table::row_major`]: crate::Table::row_major
/// [`Table::pick`]: crate::Table::pick
/// [`TableTask`]: crate::TableTask
/// [`TableTask::parts`]: crate::TableTask::parts
/// [`train_until`]: crate::train_until()
/// [`train()`]: crate::train()
/// [`Outcome::params`]: crate::Outcome::params
/// [`Outcome::best_params`]: crate::Outcome::best_params
pub mod own_data {}

/// Trained networks as files, and as source text.
///
/// With the feature `save`, `save::to_bytes` makes the bytes of a safetensors file from a network and its parameters, and `save::from_bytes` makes both
/// again, to the bit: the file says how the network is built. What `train` leaves in [`Outcome::state`](crate::Outcome::state) can be saved in the same way
/// (`save::training_to_bytes`), and [`train::resume`](crate::train::resume) goes on from it as if nothing had happened. The library opens no files; you do:
///
/// ```no_run
/// # #[cfg(feature = "save")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nalm::{Network, Nmu, module, save};
///
/// let network = Network::<f32>::single(Nmu::new(2, 1)?);
/// std::fs::write("product.safetensors", save::to_bytes(&network, &[1.0, 1.0])?)?;
/// let (network, params) = save::from_bytes::<f32>(&std::fs::read("product.safetensors")?, &module::find)?;
/// assert_eq!(network.predict(&params, &[6.0, 7.0])?, [42.0]);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "save"))]
/// # fn main() {}
/// ```
///
/// [`formula::source`](crate::formula::source) writes a trained network as a function that needs no library at all:
///
/// ```
/// use nalm::{Network, Nmu, expression::Language, formula};
///
/// let network = Network::<f32>::single(Nmu::new(2, 1)?);
/// let c = formula::source(&network, &[1.0, 1.0], "power", Language::C)?;
/// assert!(c.contains("double power(const double x[2]) {\n    const double y = x[0] * x[1];\n    return y;\n}"));
/// # Ok::<(), nalm::Error>(())
/// ```
///
/// It computes in `f64`, so it differs from a network over `f32` by rounding. The example `save_and_load` does all of this.
pub mod saving {}

/// A unit that nobody has published yet.
///
/// A unit is a type with data, and an implementation of [`Module`](crate::Module): its name, shape, number of parameters, how they start, `forward` and `backward`. Batches come
/// as lanes, sixteen rows of one feature ([`Lane`](crate::Lane)): a tensor of `f` features is `f * at.lanes()` lanes, feature after feature, and arithmetic on lanes is arithmetic
/// on sixteen rows.
///
/// ```
/// use nalm::module::{Dispatch, Pass, Spec};
/// use nalm::{BatchLayout, Error, Lane, Module, Real, Rng, Shape, laws};
///
/// /// y_o = (sum_i w_oi x_i)^2
/// #[derive(Clone, Debug)]
/// struct SquaredSum(Shape);
///
/// impl<R: Real> Module<R> for SquaredSum {
///     fn name(&self) -> &'static str {
///         "squared-sum"
///     }
///     fn shape(&self) -> Shape {
///         self.0
///     }
///     fn param_len(&self) -> usize {
///         self.0.weights()
///     }
///     /// The sums, which the backward pass needs again.
///     fn tape_len(&self, at: BatchLayout) -> usize {
///         self.0.outputs * at.lanes()
///     }
///     fn init(&self, p: &mut [R], rng: &mut Rng) {
///         p.fill_with(|| rng.uniform(R::of(-0.5), R::of(0.5)));
///     }
///     #[inline(always)]
///     fn forward(&self, p: &[R], x: &[Lane<R>], y: &mut [Lane<R>], sums: &mut [Lane<R>], at: BatchLayout, _: Pass<'_>) {
///         let (lanes, inputs) = (at.lanes(), self.0.inputs);
///         for (k, sum) in sums.iter_mut().enumerate() {
///             let (o, c) = (k / lanes, k % lanes);
///             *sum = (0..inputs).fold(Lane::ZERO, |sum, i| sum + x[i * lanes + c] * p[o * inputs + i]);
///             y[k] = *sum * *sum;
///         }
///     }
///     #[inline(always)]
///     fn backward(
///         &self, p: &[R], x: &[Lane<R>], dy: &[Lane<R>], mut dx: Option<&mut [Lane<R>]>, dp: &mut [R], sums: &mut [Lane<R>], at: BatchLayout,
///     ) {
///         let (lanes, inputs) = (at.lanes(), self.0.inputs);
///         if let Some(dx) = dx.as_deref_mut() {
///             dx.fill(Lane::ZERO);
///         }
///         for (k, sum) in sums.iter().enumerate() {
///             let (o, c) = (k / lanes, k % lanes);
///             let gradient = dy[k] * *sum * R::of(2.0);
///             for i in 0..inputs {
///                 dp[o * inputs + i] += (gradient * x[i * lanes + c]).sum();
///                 if let Some(dx) = dx.as_deref_mut() {
///                     dx[i * lanes + c] += gradient * p[o * inputs + i];
///                 }
///             }
///         }
///     }
///     fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
///         Some(Box::new(self.clone()))
///     }
/// }
///
/// fn spec<R: Real>() -> Spec<R> {
///     Spec::new("squared-sum", "(Σ)²", "y_o = (sum_i w_oi x_i)^2", |shape, _| Ok(Box::new(SquaredSum(shape))))
/// }
///
/// // Gradients against differences, padding, determinism, every instruction set, and more.
/// laws::check(&spec(), &spec())?;
/// # Ok::<(), laws::Broken>(())
/// ```
///
/// [`laws::check`](crate::laws::check) is what every unit of this library passes. Everything else that a unit can have is defined only where it is wanted:
///
/// * `bounds`, a box for its parameters; `penalty` with a `recipe` that says how strong it is and when (often [`penalty::sparsity`](crate::penalty::sparsity) and
///   [`Recipe::sparse`](crate::Recipe::sparse)); `sparsity_error`.
/// * `formula`, with which [`formula::read`](crate::formula::read) and [`formula::source`](crate::formula::source) work: [`Style::sum`](crate::formula::Style::sum) and
///   [`Style::weight`](crate::formula::Style::weight) read the weights.
/// * `gold`, parameters that compute an operation; the operations stand in `claims` of the [`Spec`](crate::module::Spec), as in `Spec { claims: &[Operation::Mul], ..Spec::new(…) }`.
/// * To be loaded from a file or made from text, it has to be found by name: instead of [`module::find`](crate::module::find) pass a function of yours that knows it,
///   `|name: &str| if name == "squared-sum" { Ok(spec()) } else { module::find(name) }`.
///
/// The example `your_own_module` goes further, and the project's `examples/own-unit` adds a unit to the
/// laboratory, where it can be compared with all others.
pub mod own_unit {}

/// What can be switched on, and what that costs.
///
/// | feature | gives | dependencies |
/// |---|---|---|
/// | none | units, networks, tasks, training, formulas | `libm`, `thiserror` |
/// | `csv` | tables from text | `csv` |
/// | `save` | networks and training states as safetensors | `safetensors` |
/// | `second-order` | Levenberg-Marquardt and training schedules | none |
///
/// Nothing is on by default. No feature changes a result. WebAssembly works with all of them; compile with `-C target-feature=+simd128` and opt-level 3 there, or it
/// is several times slower. The project's `examples/wasm-layer` is trained by JavaScript.
pub mod features {}
