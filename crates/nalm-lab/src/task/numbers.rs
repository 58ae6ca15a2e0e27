//! Runs of networks on numbers: a problem, a unit or a stack, and how it is trained.

use super::catalogue::{Catalogue, alias};
use super::network::{self, Layer};
use super::{Advance, Choices, Finished, Run, Task, Watch, choose};
use crate::error::{Context, Error, Result, bail};
use crate::run::curve::{Curve, Recorder};
use crate::run::spec::{hex, json};
use crate::run::{Row, Spec, Status, schedule};
use nalm::module::Shape;
use nalm::second_order::follow;
use nalm::setting::Kind;
use nalm::task::FrontLayer;
use nalm::{
    BatchLayout, Config, GradientNoise, LoggedErrors, Network, Observer, Optimiser, Options, Outcome, Penalty, Setting,
    Stream, Verdict,
};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Where the data of a run come from, and what was published about it.
pub trait Problem: Send + Sync {
    /// What is known about it before anything is chosen.
    fn about(&self) -> About;
    /// What can be chosen of it.
    fn settings(&self) -> Vec<Setting>;
    /// Completes what was chosen of it, so that equal problems read alike.
    fn complete(&self, given: &mut Map<String, Value>) -> Result<()>;
    /// Makes a file of data known, for problems that have such.
    fn load(&self, file: &Path) -> Result<()> {
        bail!("{} takes no data of one's own, so {} is of no use", self.about().name, file.display())
    }
    /// The layers of the published network in front of the unit.
    fn front(&self, _spec: &Spec) -> Result<Vec<FrontLayer>> {
        Ok(Vec::new())
    }
    /// The task of a run.
    fn task(&self, spec: &Spec) -> Result<Arc<dyn nalm::Task<f32>>>;
}

/// What is known about a problem before anything is chosen of it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name in experiment files and records.
    pub name: &'static str,
    /// What is to be learned.
    pub summary: &'static str,
    /// Which settings every specification names; the others only where they differ from what was published.
    pub named: &'static [&'static str],
    /// The published last step.
    pub steps: u64,
    /// The published ramp of the sparsity penalties.
    pub ramp: (u64, u64),
}

/// Gives settings that were not chosen their defaults.
pub(super) fn complete<'a>(
    given: &mut Map<String, Value>,
    settings: impl IntoIterator<Item = &'a Setting>,
) -> Result<()> {
    for setting in settings {
        if !given.contains_key(setting.name) {
            given.insert(setting.name.into(), json(&setting.parse(setting.default)?));
        }
    }
    Ok(())
}

/// How a run is trained, where it differs from what was published.
const TRAINING: [Setting; 10] = [
    Setting::new("stream", Kind::text::<Stream>("fast or reference"), "fast", "the random streams"),
    Setting::new("steps", Kind::Whole, "", "the last step; the task's published one if not given"),
    Setting::new("curve", Kind::Flag, "false", "whether the row keeps its learning curve").for_the_record(),
    Setting::new("learning_rate", Kind::Number, "", "the learning rate; the module's published one if not given"),
    Setting::new(
        "ramp",
        Kind::WholePair,
        "",
        "first and last step of the penalty's ramp; the task's published ones if not given",
    ),
    Setting::new("clamp", Kind::Flag, "true", "whether weights are moved into their boxes"),
    Setting::new("penalty", Kind::Flag, "true", "whether the modules' penalties act"),
    Setting::new("gradient_noise", Kind::Number, "", "variance of the gradient noise at step 0; none if not given"),
    Setting::new("weights", Kind::Numbers, "", "parameters to start from; random ones if not given"),
    Setting::new(
        "fit_samples",
        Kind::Whole,
        "",
        "samples of every second-order fit of the schedule; as the schedule says if not given",
    ),
];

/// Settings that stand at the top of a specification.
const TOP: [&str; 3] = ["stream", "steps", "curve"];

/// Settings that phases say, where there is a schedule.
const BY_PHASE: [&str; 4] = ["learning_rate", "ramp", "clamp", "penalty"];

/// Rows in a batch, as published, in which steps are counted.
const BATCH: usize = 128;

/// Steps between two evaluations, as published.
pub const LOG_EVERY: u64 = 1_000;

/// More parameters than this do not stand in a row.
const MOST_IN_ROW: usize = 1_000;

/// The task of training networks on a problem.
pub struct Numbers {
    about: About,
    problem: Box<dyn Problem>,
}

/// A run made ready.
pub struct Built {
    /// The network.
    pub network: Network<f32>,
    /// The data.
    pub task: Arc<dyn nalm::Task<f32>>,
    /// How it is trained.
    pub config: Config,
    /// In which phases, if it is.
    pub schedule: Option<schedule::Written>,
}

impl Built {
    /// Trains the network, in phases or as published.
    pub fn train(&self, seed: u64, observer: &mut dyn Observer<f32>) -> Result<Outcome<f32>> {
        let Self { network, task, config, schedule } = self;
        Ok(match schedule {
            None => nalm::train(network, &**task, seed, config, observer)?,
            Some(written) => follow(network, &**task, seed, config, &written.read()?, observer)?,
        })
    }
}

impl Numbers {
    /// The task of training on a problem.
    pub fn new(problem: impl Problem + 'static) -> Self {
        Self { about: problem.about(), problem: Box::new(problem) }
    }

    /// A stack of layers, or the problem's own network: its front, and the unit with one output.
    fn network(&self, catalogue: &Catalogue, spec: &Spec) -> Result<Network<f32>> {
        let mut inputs = spec.whole("inputs").unwrap_or_default() as usize;
        if let Some(layers) = spec.get("layers") {
            let layers: Vec<Layer> = serde_json::from_value(layers.clone())?;
            return network::stack(catalogue, &layers, inputs);
        }
        let build = |module, shape, options: &Options| (catalogue.module(module)?.single.build)(shape, options);
        let mut layers = Vec::new();
        for FrontLayer { module, outputs } in self.problem.front(spec)? {
            layers.push(build(module, Shape::new(inputs, outputs)?, &Options::new())?);
            inputs = outputs;
        }
        let (module, shape) = (spec.module(), Shape::new(inputs, 1)?);
        layers.push(build(module, shape, &network::options(catalogue, module, &spec.options(&[]))?)?);
        Ok(Network::new(layers)?)
    }

    /// Makes network, data and settings of a run.
    fn build(&self, catalogue: &Catalogue, spec: &Spec) -> Result<Built> {
        // First, because it knows better how many inputs it takes.
        let task = self.problem.task(spec)?;
        let network = self.network(catalogue, spec)?;
        let number = |key: &str| spec.get(key).and_then(Value::as_f64);
        let is_off = |key: &str| spec.get(key) == Some(&Value::Bool(false));
        let schedule = schedule::Written::of_run(spec)?;
        if let Some(given) = BY_PHASE.into_iter().find(|key| schedule.is_some() && spec.get(key).is_some()) {
            bail!("{given} is for training without a schedule; here the phases say it");
        }
        let (start, end) = match spec.numbers("ramp").as_deref() {
            Some([start, end]) => (*start as u64, *end as u64),
            _ => self.about.ramp,
        };
        let steps = spec.whole("steps").unwrap_or(self.about.steps);
        let mut config = Config::published(&network).steps(steps).ramp(start, end).stream(spec.text("stream").parse()?);
        if let Some(rate) = number("learning_rate") {
            config.optimiser = Optimiser::adam(rate);
        }
        let by_alias = || alias(spec.module()).filter(|alias| alias.option == "gradient_noise")?.value.parse().ok();
        config.gradient_noise = number("gradient_noise").or_else(by_alias).map(GradientNoise::new);
        config.clamp = !is_off("clamp");
        if is_off("penalty") {
            config.penalties.fill(Penalty::NONE);
        }
        config.start = spec.numbers("weights");
        // Whoever asks for 999 steps wants to know what came of them. Schedules evaluate where their phases end.
        config.log_last = schedule.is_none();
        config.check(&network, &*task)?;
        Ok(Built { network, task, config, schedule })
    }
}

impl Task for Numbers {
    fn name(&self) -> &str {
        self.about.name
    }

    fn summary(&self) -> &str {
        self.about.summary
    }

    fn settings(&self) -> Vec<Setting> {
        self.problem.settings().into_iter().chain(TRAINING).collect()
    }

    fn numerics(&self) -> u64 {
        nalm::NUMERICS.into()
    }

    fn load(&self, file: &Path) -> Result<()> {
        self.problem.load(file)
    }

    fn specify(&self, catalogue: &Catalogue, choices: &Choices) -> Result<Spec> {
        let (mut top, mut options, mut problem) = (Map::new(), Map::new(), Map::new());
        let mut schedule = choices.schedule.clone();
        let own: Vec<&str> = self.problem.settings().iter().map(|setting| setting.name).collect();
        for (name, value) in choose::checked(catalogue, self, choices)? {
            match name.as_str() {
                "fit_samples" => fit_samples(&mut schedule, value.as_u64().unwrap_or_default() as usize)?,
                "curve" if value == Value::Bool(false) => {}
                // Recorded rows have these two among the module's options.
                "augment" | "normalise" => _ = options.insert(name, value),
                name if TOP.contains(&name) || self.about.named.contains(&name) => _ = top.insert(name.into(), value),
                name if own.contains(&name) => _ = problem.insert(name.into(), value),
                name => _ = options.insert(name.into(), value),
            }
        }
        self.problem.complete(&mut top)?;
        top.entry("stream").or_insert_with(|| "fast".into());
        top.entry("steps").or_insert_with(|| self.about.steps.into());
        top.insert("task".into(), self.name().into());
        match (&choices.layers, &choices.module) {
            (Some(layers), None) => _ = top.insert("layers".into(), serde_json::to_value(layers)?),
            (None, Some(module)) => _ = top.insert("module".into(), module.clone().into()),
            _ => bail!("give a module or layers, not both"),
        }
        top.insert("options".into(), options.into());
        if !problem.is_empty() {
            top.insert("problem".into(), problem.into());
        }
        top.insert("seed".into(), choices.seed.into());
        top.insert("numerics".into(), self.numerics().into());
        let mut spec = Spec::try_from(top).map_err(|why| Error::Request(why.into()))?;
        if let Some(written) = schedule {
            // Written out, so that equal schedules read alike; its steps are the run's.
            let read = written.read()?;
            let steps = read.steps(BATCH, self.network(catalogue, &spec)?.param_len());
            spec = spec.with("steps", steps).with("schedule", serde_json::to_value(schedule::Written::of(&read))?);
        }
        Ok(spec)
    }

    fn check(&self, catalogue: &Catalogue, spec: &Spec) -> Result<usize> {
        let Built { network, task, config, .. } = self.build(catalogue, spec)?;
        // Streams that the task does not have are refused when its data are opened.
        task.open(config.stream, spec.seed())?;
        Ok(network.layers().last().map_or(0, |layer| layer.param_len()))
    }

    fn built(&self, catalogue: &Catalogue, spec: &Spec) -> Result<Option<Built>> {
        self.build(catalogue, spec).map(Some)
    }

    fn bytes(&self, catalogue: &Catalogue, spec: &Spec) -> Result<f64> {
        // What cannot be built takes nothing, and is refused when it is checked.
        let Ok(network) = self.network(catalogue, spec) else { return Ok(0.0) };
        let parameters = network.param_len() as f64;
        let (number, sets) = (4.0, 2.0 * 10_000.0 * (network.shape().inputs as f64 + 1.0));
        let at = BatchLayout::new(BATCH)?;
        // Inputs, outputs, their gradients and the tape, in lanes of sixteen.
        let layers = network.layers().iter().map(|layer| {
            let shape = layer.shape();
            let lanes = 2 * at.lanes() * (shape.inputs + shape.outputs) + layer.tape_len(at);
            16.0 * lanes as f64
        });
        let mut numbers = 6.0 * parameters + sets + layers.sum::<f64>();
        if let Some(written) = schedule::Written::of_run(spec)? {
            let samples = written.phase.iter().filter_map(|phase| phase.settings.get("samples")?.as_u64()).max();
            // A Jacobian and a few square matrices, in double precision.
            numbers += 2.0 * parameters * (samples.unwrap_or(0) as f64 + 4.0 * parameters);
        }
        Ok(number * numbers)
    }

    fn cost(&self, spec: &Spec) -> f64 {
        let inputs = spec.whole("inputs").unwrap_or(2) as f64;
        let hidden = spec.whole("hidden").or_else(|| alias(spec.module())?.value.parse().ok()).unwrap_or(1) as f64;
        let is_mlp = spec.module() == "mlp" || alias(spec.module()).is_some_and(|alias| alias.module == "mlp");
        let sampled = inputs * if spec.text("stream") == "reference" { 0.25 } else { 0.04 };
        let step = 0.3 + sampled + if is_mlp { 0.06 * hidden } else { 0.2 };
        // Both fixed sets together have 156 batches, of which only the forward pass is computed.
        let evaluation = 156.0 * 0.4 * (step - sampled) + 5.0 * inputs;
        let first_order = |steps: u64| 1e-6 * (steps as f64 * step + (steps / 1_000 + 2) as f64 * evaluation);
        let Ok(Some(written)) = schedule::Written::of_run(spec) else {
            return first_order(spec.whole("steps").unwrap_or_default());
        };
        let sums = self.problem.front(spec).ok().and_then(|front| Some(front.first()?.outputs)).unwrap_or(2);
        written.phase.iter().fold(0.0, |sum, phase| {
            let size = inputs * sums as f64 / 200.0;
            let of = |name| phase.settings.get(name).and_then(Value::as_u64).unwrap_or(0);
            let fit = 2e-6 * of("samples") as f64 * size * (0.5 + 0.5 * size);
            // Most fits end early.
            sum + first_order(of("steps")) + 0.2 * of("iterations") as f64 * fit
        })
    }

    fn shared(&self, catalogue: &Catalogue, spec: &Spec) -> Option<String> {
        // A curve thins out by the steps of its own run, and reinitialisations are counted over the whole of it.
        let starts_over = |network: Network<f32>| Config::published(&network).reinit.is_some();
        // Between two evaluations nothing is known of a longer run.
        let between = !spec.whole("steps").unwrap_or_default().is_multiple_of(LOG_EVERY);
        let alone = spec.get("curve").is_some() || spec.get("layers").is_some() || between;
        let alone = alone || self.network(catalogue, spec).is_ok_and(starts_over);
        (!alone).then(|| spec.with("steps", 0).id())
    }

    fn start<'a>(&'a self, catalogue: &'a Catalogue, job: &[&'a Spec], _threads: usize) -> Result<Box<dyn Run + 'a>> {
        Ok(Box::new(Training { task: self, catalogue, job: job.to_vec() }))
    }
}

/// Gives all fits of a schedule this many samples.
fn fit_samples(schedule: &mut Option<schedule::Written>, samples: usize) -> Result<()> {
    let Some(schedule) = schedule else { bail!("fit_samples is for a model with a schedule") };
    for phase in schedule.phase.iter_mut().filter(|phase| phase.optimiser == "lm") {
        phase.settings.extend([("samples".into(), samples.into()), ("per_parameter".into(), 0.0.into())]);
    }
    Ok(())
}

/// A run, or several that differ in length only: the longest, which on its way is each of the others.
struct Training<'a> {
    task: &'a Numbers,
    catalogue: &'a Catalogue,
    job: Vec<&'a Spec>,
}

impl Run for Training<'_> {
    fn advance(&mut self, watch: &dyn Watch) -> Result<Advance> {
        let Some((longest, shorter)) = self.job.split_last() else { return Ok(Advance::Done(Vec::new())) };
        let place = || format!("run {}", longest.about());
        let built = self.task.build(self.catalogue, longest).at(place)?;
        let recorder = longest.get("curve").map(|_| Recorder::new(built.schedule.is_some()));
        let ends = shorter.iter().filter_map(|spec| spec.whole("steps")).collect();
        let mut observer = Follower { watch, steps: built.config.steps, recorder, ends, kept: Vec::new() };
        let outcome = built.train(longest.seed(), &mut observer)?;
        if matches!(outcome.status, nalm::Status::Cancelled { .. }) {
            return Ok(Advance::Stopped);
        }
        let mut finished = Vec::new();
        for (k, spec) in shorter.iter().enumerate() {
            // A run that diverged before ended with the parameters of that moment.
            let params = observer.kept.get(k).unwrap_or(&outcome.params).clone();
            let prefix = outcome.prefix(spec.whole("steps").unwrap_or_default(), params, built.task.thresholds());
            finished.push(finish(spec, &built.network, &prefix, None)?);
        }
        let curve = observer.recorder.map(|recorder| recorder.finish(&built.network));
        finished.push(finish(longest, &built.network, &outcome, curve)?);
        Ok(Advance::Done(finished))
    }
}

/// Stops a run between two evaluations, follows it where its curve is kept, and keeps the parameters after some steps.
struct Follower<'a> {
    watch: &'a dyn Watch,
    steps: u64,
    recorder: Option<Recorder>,
    /// Last steps of shorter runs, ascending, and the parameters after those that were reached.
    ends: Vec<u64>,
    kept: Vec<Vec<f32>>,
}

impl Observer<f32> for Follower<'_> {
    fn logged(&mut self, row: &LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        self.watch.reached(row.step as f64 / self.steps.max(1) as f64);
        if let Some(recorder) = &mut self.recorder {
            recorder.logged(row, params)?;
        }
        if self.watch.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    #[inline(always)]
    fn stepped(&mut self, step: u64, loss: f32, penalty: f32, params: &[f32]) -> ControlFlow<()> {
        // Two runs may end at the same step.
        while self.ends.get(self.kept.len()).is_some_and(|end| *end == step) {
            self.kept.push(params.to_vec());
        }
        let recorder = self.recorder.as_mut();
        recorder.map_or(ControlFlow::Continue(()), |recorder| recorder.stepped(step, loss, penalty, params))
    }
}

/// The row, without parameters that are too many for it; the last layer's stay if they are few.
fn finish(spec: &Spec, network: &Network<f32>, outcome: &Outcome<f32>, curve: Option<Curve>) -> Result<Finished> {
    let (mut row, params) = (numbers_row(spec, outcome, curve), &outcome.params);
    if params.len() <= MOST_IN_ROW {
        return Ok(Finished { row, tensors: None });
    }
    let last = network.layers().len() - 1;
    let own = network.layer_params(params, last);
    let kept = if last > 0 && own.len() <= MOST_IN_ROW { own } else { &[] };
    row.artefacts.insert("weights".into(), kept.to_vec().into());
    row.artefacts.insert("weights_file".into(), format!("weights/{}.safetensors", row.id).into());
    Ok(Finished { row, tensors: Some(nalm::save::to_bytes(network, params)?) })
}

/// The row of a run that was carried out, all parameters in it.
pub fn numbers_row(spec: &Spec, outcome: &Outcome<f32>, curve: Option<Curve>) -> Row {
    let (status, reason) = match outcome.status {
        nalm::Status::Diverged { step } => (Status::Diverged, Some(format!("step {step}"))),
        nalm::Status::Completed | nalm::Status::Cancelled { .. } => (Status::Completed, None),
    };
    let mut row = Row::new(spec, status, reason, result_hash(outcome));
    let mut put = |name: String, value: Value| _ = row.metrics.insert(name, value);
    let mut judged = |verdict: &Verdict, suffix: &str| {
        put(format!("solved{suffix}"), verdict.solved.into());
        put(format!("solved_at{suffix}"), verdict.solved_at.filter(|_| verdict.solved).into());
        put(format!("last_row_solved{suffix}"), verdict.last_row_solved.into());
        put(format!("stays_solved{suffix}"), verdict.stays_solved.into());
    };
    judged(outcome.flat.as_ref().unwrap_or(&outcome.simulated), "");
    // By a threshold that is not defined nobody failed.
    if outcome.flat.is_some() && !outcome.thresholds.simulated.is_nan() {
        judged(&outcome.simulated, "_simulated");
    }
    put("best_step".into(), outcome.best_step.into());
    put("validation_error".into(), outcome.validation_error.into());
    put("test_error".into(), outcome.test_error.into());
    put("sparsity_error".into(), outcome.sparsity_error.into());
    if spec.get("schedule").is_some() {
        put("attempts".into(), (outcome.reinitialisations + 1).into());
    }
    row.artefacts.insert("weights".into(), outcome.params.clone().into());
    if let Some(curve) = curve {
        row.series.insert("curve".into(), serde_json::to_value(curve).expect("a curve is plain data"));
    }
    row
}

fn result_hash(outcome: &Outcome<f32>) -> String {
    let mut hash = Sha256::new();
    for row in &outcome.rows {
        hash.update(row.step.to_le_bytes());
        for number in [row.validation, row.test, row.sparsity] {
            // All NaNs are one, whatever their payload.
            hash.update(if number.is_nan() { u64::MAX } else { number.to_bits() }.to_le_bytes());
        }
    }
    for weight in &outcome.params {
        hash.update(if weight.is_nan() { u32::MAX } else { weight.to_bits() }.to_le_bytes());
    }
    hex(&hash.finalize()[..16])
}
