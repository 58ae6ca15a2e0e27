//! One run with images, completely described.

use crate::runspec::hex;
use anyhow::{Context, Result, bail};
use nalm::module::{self, Options};
use nalm_vision::product::{self, View};
use nalm_vision::{Inputs, Mnist, Start, Training, sequential};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The tasks with images.
pub(crate) const TASKS: [&str; 3] = ["mnist-isolated", "mnist-colour", "mnist-sequential"];

/// What may differ from the published settings. Absent means published.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImageSettings {
    /// Samples of a pair, or sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) samples: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) epochs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<usize>,
    /// Strength of the sparsity penalty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lambda: Option<f64>,
    /// Its first and last epoch, or update in the sequential task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ramp: Option<[u64; 2]>,
    /// Epochs between two rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) row_every: Option<u64>,
    /// Training samples that are evaluated for a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) train_evaluated: Option<usize>,
    /// Isolated digits at 14 x 14 pixels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) halved: Option<bool>,
    /// Where the transformers of the colour task start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tps_init: Option<String>,
    /// Strength of R_z in the sequential task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rz: Option<f64>,
    /// What R_z looks at: noised or clean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rz_inputs: Option<String>,
    /// Whether the cell of the sequential task is noisy while measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) eval_noise: Option<bool>,
    /// Noise of an sNMU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) noise: Option<String>,
    /// The box in which the head's weights start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<[f64; 2]>,
}

impl ImageSettings {
    /// These, with `other`'s where they are absent.
    pub(crate) fn or(self, other: &Self) -> Self {
        let other = other.clone();
        Self {
            samples: self.samples.or(other.samples),
            epochs: self.epochs.or(other.epochs),
            batch: self.batch.or(other.batch),
            lambda: self.lambda.or(other.lambda),
            ramp: self.ramp.or(other.ramp),
            row_every: self.row_every.or(other.row_every),
            train_evaluated: self.train_evaluated.or(other.train_evaluated),
            halved: self.halved.or(other.halved),
            tps_init: self.tps_init.or(other.tps_init),
            rz: self.rz.or(other.rz),
            rz_inputs: self.rz_inputs.or(other.rz_inputs),
            eval_noise: self.eval_noise.or(other.eval_noise),
            noise: self.noise.or(other.noise),
            start: self.start.or(other.start),
        }
    }
}

/// Everything that affects the result of a run, and nothing else.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct ImageSpec {
    pub(crate) task: String,
    /// The module that multiplies.
    pub(crate) head: String,
    pub(crate) settings: ImageSettings,
    /// The fold of a static task.
    pub(crate) seed: u64,
    pub(crate) numerics: u32,
}

impl ImageSpec {
    /// The first 128 bits of the SHA-256 of the specification's canonical JSON.
    pub(crate) fn id(&self) -> String {
        let value = serde_json::to_value(self).expect("a specification is plain data");
        hex(&Sha256::digest(value.to_string().as_bytes())[..16])
    }

    /// The head's options, checked.
    fn options(&self) -> Result<Options> {
        if !["mul", "fc", "nmu", "snmu"].contains(&self.head.as_str()) {
            return Err(nalm::Error::unknown("head", &self.head, &["mul", "fc", "nmu", "snmu"]).into());
        }
        let spec = module::find::<f32>(&self.head)?;
        let own = &self.settings;
        for (option, given) in [("noise", own.noise.is_some()), ("start", own.start.is_some())] {
            if given && !spec.options.contains(&option) {
                let known = if spec.options.is_empty() { "none".into() } else { spec.options.join(", ") };
                bail!("{} has no option {option}; it has: {known}", spec.name);
            }
        }
        let default = Options::default();
        Ok(Options {
            noise: own.noise.as_deref().map_or(Ok(default.noise), str::parse)?,
            start: own.start.map_or(default.start, |[low, high]| (low, high)),
            ..default
        })
    }

    /// Refuses settings that belong to another task.
    fn check(&self) -> Result<()> {
        let s = &self.settings;
        let task = self.task.as_str();
        for (name, given, of) in [
            ("halved", s.halved.is_some(), "mnist-isolated"),
            ("tps_init", s.tps_init.is_some(), "mnist-colour"),
            ("rz", s.rz.is_some(), "mnist-sequential"),
            ("rz_inputs", s.rz_inputs.is_some(), "mnist-sequential"),
            ("eval_noise", s.eval_noise.is_some(), "mnist-sequential"),
        ] {
            if given && task != of {
                bail!("{name} is a setting of {of}, not of {task}");
            }
        }
        if s.train_evaluated.is_some() && task == "mnist-sequential" {
            bail!("train_evaluated is a setting of the static tasks, not of {task}");
        }
        Ok(())
    }

    fn product(&self, threads: usize) -> Result<product::Config> {
        let s = &self.settings;
        let view = match self.task.as_str() {
            "mnist-isolated" => View::Isolated { halved: s.halved.unwrap_or(false) },
            _ => View::Colour { start: s.tps_init.as_deref().map_or(Ok(Start::default()), str::parse)? },
        };
        let base = product::Config::published(view, &self.head, usize::try_from(self.seed)?);
        Ok(product::Config {
            options: self.options()?,
            samples: s.samples.unwrap_or(base.samples),
            epochs: s.epochs.unwrap_or(base.epochs),
            batch: s.batch.unwrap_or(base.batch),
            lambda: s.lambda.unwrap_or(base.lambda),
            ramp: s.ramp.map_or(base.ramp, |[start, end]| (start, end)),
            row_every: s.row_every.unwrap_or(base.row_every),
            train_evaluated: s.train_evaluated.unwrap_or(base.train_evaluated),
            threads,
            ..base
        })
    }

    fn sequence(&self, threads: usize) -> Result<sequential::Config> {
        let s = &self.settings;
        let base = sequential::Config::published(&self.head, self.seed);
        Ok(sequential::Config {
            options: self.options()?,
            sequences: s.samples.unwrap_or(base.sequences),
            epochs: s.epochs.unwrap_or(base.epochs),
            batch: s.batch.unwrap_or(base.batch),
            lambda: s.lambda.unwrap_or(base.lambda),
            ramp: s.ramp.map_or(base.ramp, |[start, end]| (start, end)),
            rz: s.rz.unwrap_or(base.rz),
            rz_inputs: match s.rz_inputs.as_deref() {
                None | Some("noised") => Inputs::Noised,
                Some("clean") => Inputs::Clean,
                Some(other) => return Err(nalm::Error::unknown("rz_inputs", other, &["noised", "clean"]).into()),
            },
            eval_noise: s.eval_noise.unwrap_or(base.eval_noise),
            row_every: s.row_every.unwrap_or(base.row_every),
            threads,
            ..base
        })
    }

    /// Everything that can be known without images.
    pub(crate) fn validate(&self) -> Result<()> {
        self.check()?;
        match self.task.as_str() {
            "mnist-sequential" => Ok(self.sequence(1)?.check()?),
            task if TASKS.contains(&task) => Ok(self.product(1)?.check()?),
            task => Err(nalm::Error::unknown("task", task, &TASKS).into()),
        }
    }

    /// Makes the run ready.
    pub(crate) fn build(&self, mnist: &Arc<Mnist>, threads: usize) -> Result<Box<dyn Training>> {
        self.validate()?;
        let what = || format!("{} with {} and seed {}", self.task, self.head, self.seed);
        Ok(match self.task.as_str() {
            "mnist-sequential" => {
                Box::new(sequential::Run::new(self.sequence(threads)?, Arc::clone(mnist)).with_context(what)?)
            }
            _ => Box::new(product::Run::new(self.product(threads)?, Arc::clone(mnist)).with_context(what)?),
        })
    }

    /// Epochs to do.
    pub(crate) fn epochs(&self) -> u64 {
        self.settings.epochs.unwrap_or(1_000)
    }

    /// Seconds that the run takes on one core of the machine that this was written on, to about a factor of two.
    pub(crate) fn cost(&self) -> f64 {
        let s = &self.settings;
        // Milliseconds that training an image takes; measuring takes a third of it.
        let (image, trained, measured) = match self.task.as_str() {
            "mnist-isolated" => {
                let samples = s.samples.unwrap_or(1_000) as f64;
                let train = 180.0 * samples;
                let seen = s.train_evaluated.map_or(train, |n| train.min(2.0 * n as f64));
                (if s.halved == Some(true) { 0.09 } else { 0.5 }, train, seen + 20.0 * samples)
            }
            "mnist-colour" => {
                let samples = s.samples.unwrap_or(1_100) as f64;
                let train = 2.0 * 0.85 * 67.0 * samples;
                let seen = s.train_evaluated.map_or(train, |n| train.min(2.0 * n as f64));
                (0.4, train, seen + 2.0 * 43.0 * samples)
            }
            _ => {
                let train = 2.0 * (s.samples.unwrap_or(24_783) as f64).min(24_783.0);
                (0.12, train, train + 13_531.0)
            }
        };
        let rows = self.epochs() as f64
            / s.row_every.unwrap_or(if self.task == "mnist-sequential" { 5 } else { 1 }) as f64
            + 1.0;
        1e-3 * image * (self.epochs() as f64 * trained + rows * measured / 3.0)
    }
}
