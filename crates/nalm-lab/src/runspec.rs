//! One run, completely described: what it is made of, its identity, and how to carry it out.

use crate::schedule;
use crate::variation::Variation;
use anyhow::{Context, Result, bail, ensure};
use nalm::module::{self, Dispatch, Options, Shape};
use nalm::second_order::follow;
use nalm::task::{self, PAPER_RANGES, Task};
use nalm::{
    Augmented, Config, Distribution, GradientNoise, Nau, Network, Normalised, Observer, Optimiser, Outcome, Penalty,
    train,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Everything that affects the result of a run, and nothing else. Written as text, so that it reads the same for ever.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct RunSpec {
    pub(crate) task: String,
    pub(crate) operation: String,
    pub(crate) inputs: usize,
    pub(crate) range: String,
    pub(crate) test_range: String,
    /// A module's name, or an alias that stands for a module with an option.
    pub(crate) module: String,
    pub(crate) options: Settings,
    pub(crate) seed: u64,
    pub(crate) stream: String,
    pub(crate) steps: u64,
    /// Whether the row keeps its learning curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) curve: Option<bool>,
    /// How it is trained; absent for Adam and the module's published recipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<schedule::Written>,
    /// What differs from the task's published problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<Variation>,
    pub(crate) numerics: u32,
}

/// What may differ from a module's published settings. Absent means published.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) noise: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) denoiser: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hidden: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sigma: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lambda: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gradient_noise: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) learning_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ramp: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clamp: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) penalty: Option<bool>,
    /// Training data multiplied by noise from this range, their targets accordingly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) augment: Option<String>,
    /// Inputs in units in which the training range has a root mean square of 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) normalise: Option<bool>,
    /// Parameters to start from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weights: Option<Vec<f64>>,
}

/// The keys of [`Settings`].
pub(crate) const OPTION_NAMES: [&str; 14] = [
    "noise",
    "denoiser",
    "start",
    "hidden",
    "sigma",
    "lambda",
    "gradient_noise",
    "learning_rate",
    "ramp",
    "clamp",
    "penalty",
    "augment",
    "normalise",
    "weights",
];

/// Rows in a batch, as published, in which steps are counted.
const BATCH: usize = 128;

/// Names that stand for a module with an option, as records show them.
const ALIASES: [&str; 4] = ["snmu-batch", "nmu-grad-noise", "mlp-1", "mlp-100"];

/// The module behind a name, and the option that an alias stands for.
fn resolve(name: &str) -> (&str, Settings) {
    let none = Settings::default();
    match name {
        "snmu-batch" => ("snmu", Settings { noise: Some("batch".into()), ..none }),
        "nmu-grad-noise" => ("nmu", Settings { gradient_noise: Some(0.01), ..none }),
        "mlp-1" => ("mlp", Settings { hidden: Some(1), ..none }),
        "mlp-100" => ("mlp", Settings { hidden: Some(100), ..none }),
        module => (module, none),
    }
}

/// The label of a module or alias in tables and figures.
pub(crate) fn label(name: &str) -> String {
    match name {
        "snmu-batch" => "batch sNMU".into(),
        "nmu-grad-noise" => "NMU + gradient noise".into(),
        "mlp-1" => "MLP (1)".into(),
        "mlp-100" => "MLP (100)".into(),
        _ => module::find::<f32>(name).map_or(name.into(), |spec| spec.label.into()),
    }
}

/// The test range that was published with a training range.
pub(crate) fn published_test_range(range: &str) -> Result<&'static str> {
    match PAPER_RANGES.iter().find(|(train, _)| *train == range) {
        Some((_, test)) => Ok(test),
        None => bail!("{range} has no published test range; give one, such as U[2,6)"),
    }
}

/// Checks that a module or alias exists.
pub(crate) fn check_module(name: &str) -> Result<(), nalm::Error> {
    if ALIASES.contains(&name) {
        return Ok(());
    }
    let names: Vec<&str> = module::list::<f32>().iter().map(|spec| spec.name).chain(ALIASES).collect();
    if names.contains(&name) { Ok(()) } else { Err(nalm::Error::unknown("module", name, &names)) }
}

/// A task made before, or made now. Thousands of runs share a task, and some thresholds take a while to simulate.
fn remember(
    key: &[&dyn std::fmt::Display],
    make: impl FnOnce() -> Result<Arc<dyn Task<f32>>>,
) -> Result<Arc<dyn Task<f32>>> {
    static TASKS: Mutex<BTreeMap<String, Arc<dyn Task<f32>>>> = Mutex::new(BTreeMap::new());
    let key: String = key.iter().map(|part| format!("{part}\n")).collect();
    let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(task) = tasks.get(&key) {
        return Ok(Arc::clone(task));
    }
    let task = make()?;
    tasks.insert(key, Arc::clone(&task));
    Ok(task)
}

/// A run made ready.
pub(crate) struct Built {
    pub(crate) network: Network<f32>,
    pub(crate) task: Arc<dyn Task<f32>>,
    pub(crate) config: Config,
}

impl RunSpec {
    /// The first 128 bits of the SHA-256 of the specification's canonical JSON (sorted keys, shortest numbers).
    pub(crate) fn id(&self) -> String {
        let value = serde_json::to_value(self).expect("a specification is plain data");
        hex(&Sha256::digest(value.to_string().as_bytes())[..16])
    }

    /// Makes the network, the task and the settings.
    pub(crate) fn build(&self) -> Result<Built> {
        let task_spec = task::find::<f32>(&self.task)?;
        let (train_range, test_range) = (self.range.parse::<Distribution>()?, self.test_range.parse::<Distribution>()?);
        let normal = train_range.as_range().cloned();
        let problem = self.problem.clone().unwrap_or_default();
        if self.task != "arithmetic" {
            problem.only_labels().with_context(|| format!("task {}", self.task))?;
        }
        let sizes = format!("{:?}", Variation { label_noise: None, sums: None, ..problem.clone() });
        let key: [&dyn std::fmt::Display; 6] =
            [&self.task, &self.operation, &self.inputs, &self.range, &self.test_range, &sizes];
        let mut task = remember(&key, || match self.task.as_str() {
            "arithmetic" => problem.task(self.operation.parse()?, self.inputs, train_range, test_range),
            _ => Ok((task_spec.build)(self.operation.parse()?, self.inputs, train_range, test_range)?.into()),
        })?;
        task = problem.with_label_noise(task)?;
        let (settings, network) = (self.settings(), self.network()?);
        if self.schedule.is_some() {
            for (option, given) in [
                ("learning_rate", settings.learning_rate.is_some()),
                ("ramp", settings.ramp.is_some()),
                ("clamp", settings.clamp.is_some()),
                ("penalty", settings.penalty.is_some()),
            ] {
                ensure!(!given, "{option} is for training without a schedule; here the phases say it");
            }
        }
        let mut config = Config::published(&network).steps(self.steps).stream(self.stream.parse()?);
        if self.task == "arithmetic" {
            config = config.ramp(1_000_000, 2_000_000);
        }
        if let Some([start, end]) = settings.ramp {
            config = config.ramp(start, end);
        }
        if let Some(rate) = settings.learning_rate {
            config.optimiser = Optimiser::adam(rate);
        }
        config.gradient_noise = settings.gradient_noise.map(GradientNoise::new);
        config.clamp = settings.clamp.unwrap_or(true);
        if settings.penalty == Some(false) {
            config.penalties.fill(Penalty::NONE);
        }
        config.start = settings.weights;
        if let Some(noise) = &settings.augment {
            task = Arc::new(Augmented::new(task, noise.parse()?)?);
        }
        if settings.normalise == Some(true) {
            let range = normal.with_context(|| format!("inputs from {} cannot be normalised", self.range))?;
            task = Arc::new(Normalised::new(task, &range)?);
        }
        config.check(&network, &*task)?;
        Ok(Built { network, task, config })
    }

    /// The options with what an alias stands for.
    fn settings(&self) -> Settings {
        let (_, base) = resolve(&self.module);
        let own = self.options.clone();
        Settings {
            noise: own.noise.or(base.noise),
            hidden: own.hidden.or(base.hidden),
            gradient_noise: own.gradient_noise.or(base.gradient_noise),
            ..own
        }
    }

    /// The network.
    pub(crate) fn network(&self) -> Result<Network<f32>> {
        check_module(&self.module)?;
        let (name, _) = resolve(&self.module);
        let spec = module::find::<f32>(name)?;
        let own = &self.options;
        for (option, given) in [
            ("noise", own.noise.is_some()),
            ("denoiser", own.denoiser.is_some()),
            ("start", own.start.is_some()),
            ("hidden", own.hidden.is_some()),
            ("sigma", own.sigma.is_some()),
            ("lambda", own.lambda.is_some()),
        ] {
            if given && !spec.options.contains(&option) {
                let known = if spec.options.is_empty() { "none".into() } else { spec.options.join(", ") };
                bail!("{} has no option {option}; it has: {known}", spec.name);
            }
        }
        let settings = self.settings();
        let default = Options::default();
        let options = Options {
            noise: settings.noise.as_deref().map_or(Ok(default.noise), str::parse)?,
            denoiser: settings.denoiser.as_deref().map_or(Ok(default.denoiser), str::parse)?,
            start: settings.start.map_or(default.start, |[low, high]| (low, high)),
            hidden: settings.hidden.unwrap_or(default.hidden),
            sigma: settings.sigma.unwrap_or(default.sigma),
            lambda: settings.lambda.unwrap_or(default.lambda),
        };
        // The published stack of the arithmetic task: a NAU finds two sums, the unit combines them.
        let mut layers: Vec<Box<dyn Dispatch<f32>>> = Vec::new();
        let mut inputs = self.inputs;
        if self.task == "arithmetic" {
            let sums = self.problem.as_ref().map_or(2, Variation::sums);
            layers.push(Box::new(Nau::new(inputs, sums)?));
            inputs = sums;
        }
        layers.push((spec.build)(Shape::new(inputs, 1)?, &options)?);
        Ok(Network::new(layers)?)
    }

    /// Seconds that the run takes on one core of the machine that this was written on, to about a factor of two.
    pub(crate) fn cost(&self) -> f64 {
        let (module, _) = resolve(&self.module);
        let hidden = self.settings().hidden.unwrap_or(1) as f64;
        let sampled = self.inputs as f64 * if self.stream == "reference" { 0.25 } else { 0.04 };
        let step = 0.3 + sampled + if module == "mlp" { 0.06 * hidden } else { 0.2 };
        // Both fixed sets together have 156 batches, of which only the forward pass is computed.
        let evaluation = 156.0 * 0.4 * (step - sampled) + 5.0 * self.inputs as f64;
        let first_order = |steps: u64| 1e-6 * (steps as f64 * step + (steps / 1_000 + 2) as f64 * evaluation);
        match &self.schedule {
            None => first_order(self.steps),
            Some(schedule) => schedule.phase.iter().fold(0.0, |sum, phase| {
                let size = self.inputs as f64 * self.problem.as_ref().map_or(2, Variation::sums) as f64 / 200.0;
                let fit = 2e-6 * phase.samples.unwrap_or(0) as f64 * size * (0.5 + 0.5 * size);
                // Most fits end early.
                sum + first_order(phase.steps.unwrap_or(0)) + 0.2 * phase.iterations.unwrap_or(0) as f64 * fit
            }),
        }
    }

    /// The steps of the schedule, where there is one, so that equal runs read alike.
    pub(crate) fn fit_steps(&mut self) -> Result<()> {
        if let Some(schedule) = &self.schedule {
            self.steps = schedule.read()?.steps(BATCH, self.network()?.param_len());
        }
        Ok(())
    }

    /// Builds and trains.
    pub(crate) fn execute(&self, observer: &mut dyn Observer<f32>) -> Result<(Built, Outcome<f32>)> {
        let built = self.build().with_context(|| format!("run {} on {}", self.module, self.range))?;
        let Built { network, task, config } = &built;
        let outcome = match &self.schedule {
            None => train(network, &**task, self.seed, config, observer)?,
            Some(schedule) => follow(network, &**task, self.seed, config, &schedule.read()?, observer)?,
        };
        Ok((built, outcome))
    }
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn spec(module: &str) -> RunSpec {
        RunSpec {
            task: "single-module".into(),
            operation: "mul".into(),
            inputs: 2,
            range: "U[1,2)".into(),
            test_range: "U[2,6)".into(),
            module: module.into(),
            options: Settings::default(),
            seed: 0,
            stream: "fast".into(),
            steps: 1_000,
            curve: None,
            schedule: None,
            problem: None,
            numerics: nalm::NUMERICS,
        }
    }

    #[test]
    fn identity_depends_on_everything_and_is_stable() {
        let a = spec("nmu");
        assert_eq!(a.id(), a.clone().id());
        assert_eq!(a.id().len(), 32);
        let others = [
            RunSpec { seed: 1, ..a.clone() },
            RunSpec { steps: 1_001, ..a.clone() },
            RunSpec { module: "snmu".into(), ..a.clone() },
            RunSpec { options: Settings { learning_rate: Some(1e-3), ..Settings::default() }, ..a.clone() },
        ];
        assert!(others.iter().all(|other| other.id() != a.id()));
        // What rows were kept under before schedules and variations existed.
        assert_eq!(a.id(), "8898e1f3a646730af4bd88e8710b8f9c");
        let scheduled = |name| RunSpec { schedule: schedule::Written::named(name).ok(), ..a.clone() };
        let names = nalm::second_order::schedule::list();
        let mut ids: Vec<String> = names.iter().map(|spec| scheduled(spec.name).id()).chain([a.id()]).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), names.len() + 1);
        let again: RunSpec = serde_json::from_str(&serde_json::to_string(&a).unwrap()).unwrap();
        assert_eq!(again.id(), a.id());
    }

    #[test]
    fn aliases_stand_for_options() {
        for alias in ALIASES {
            assert!(spec(alias).build().is_ok(), "{alias}");
            assert_ne!(label(alias), alias);
        }
        assert!(spec("nmu-grad-noise").build().unwrap().config.gradient_noise.is_some());
        assert_eq!(spec("mlp-1").build().unwrap().network.param_len(), 5);
    }

    #[test]
    fn options_are_named_like_their_fields() {
        let all = Settings {
            noise: Some("batch".into()),
            denoiser: Some("none".into()),
            start: Some([0.5, 0.9]),
            hidden: Some(1),
            sigma: Some(0.5),
            lambda: Some(0.1),
            gradient_noise: Some(0.1),
            learning_rate: Some(0.1),
            ramp: Some([1, 2]),
            clamp: Some(true),
            penalty: Some(true),
            augment: Some("U[1,5)".into()),
            normalise: Some(true),
            weights: Some(vec![0.5, 0.5]),
        };
        let value = serde_json::to_value(all).unwrap();
        let mut names = OPTION_NAMES;
        names.sort_unstable();
        assert!(value.as_object().unwrap().keys().eq(names));
    }

    #[test]
    fn an_option_that_a_module_lacks_is_refused() {
        let bad = RunSpec { options: Settings { noise: Some("batch".into()), ..Settings::default() }, ..spec("nmu") };
        assert!(bad.build().err().unwrap().to_string().contains("has no option noise"));
    }
}
