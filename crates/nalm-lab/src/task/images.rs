//! The three products of MNIST digits: their entries, and their runs, which can be saved and taken up.

use super::catalogue::Catalogue;
use super::{Advance, Choices, Finished, Measures, Resources, Run, Task, Watch, choose};
use crate::error::{Context, Result, bail, ensure};
use crate::run::spec::hex;
use crate::run::{Row, Spec, Status, history};
use nalm::Setting;
use nalm_vision::product::{self, View};
use nalm_vision::{Checkpoint, Mnist, Training, sequential};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Samples whose pictures a row keeps.
const PICTURES: usize = 4;

/// One of the tasks with images.
pub struct Images {
    name: &'static str,
    summary: &'static str,
    /// How digits are shown that a unit multiplies; none where a cell does along a sequence.
    view: Option<View>,
}

/// All three.
pub const IMAGES: [Images; 3] = [
    Images {
        name: "mnist-isolated",
        summary: "t = product of two MNIST digits side by side, one classifier and a unit",
        view: Some(View::ISOLATED),
    },
    Images {
        name: "mnist-colour",
        summary: "t = product of two MNIST digits in two colour channels, spline transformers, a classifier and a unit",
        view: Some(View::COLOUR),
    },
    Images {
        name: "mnist-sequential",
        summary: "t = all products of a sequence of MNIST digits, a classifier and a recurrent cell",
        view: None,
    },
];

/// Loads MNIST once for all runs. Its files are checked to the last byte, so that of any folder is the same.
fn mnist(folder: Option<&Path>) -> Result<Arc<Mnist>> {
    static LOADED: Mutex<Option<Arc<Mnist>>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(mnist) = &*loaded {
        return Ok(Arc::clone(mnist));
    }
    Ok(Arc::clone(loaded.insert(Arc::new(Mnist::find(folder)?))))
}

fn product(view: View, spec: &Spec) -> Result<product::Config> {
    // A fold that is too large for the machine is none of those there are.
    let fold = usize::try_from(spec.seed()).unwrap_or(usize::MAX);
    Ok(product::Config::read(view, spec.module(), fold, &spec.options(&[]))?)
}

fn sequence(spec: &Spec) -> Result<sequential::Config> {
    Ok(sequential::Config::read(spec.module(), spec.seed(), &spec.options(&[]))?)
}

/// The side of a run's pictures in pixels, and the updates of an epoch where they follow from what was chosen.
pub fn scale(spec: &Spec) -> Option<(usize, Option<u64>)> {
    let task = IMAGES.iter().find(|task| task.name == spec.task())?;
    let Some(view) = task.view else { return Some((View::ISOLATED.side(), None)) };
    let config = product(view, spec).ok()?;
    Some((config.view.side(), config.updates().ok()))
}

fn training(view: Option<View>, spec: &Spec, threads: usize) -> Result<Box<dyn Training>> {
    let (mnist, place) = (mnist(None)?, || format!("{} with {} and seed {}", spec.task(), spec.module(), spec.seed()));
    Ok(match view {
        Some(view) => {
            Box::new(product::Run::new(product::Config { threads, ..product(view, spec)? }, mnist).at(place)?)
        }
        None => Box::new(sequential::Run::new(sequential::Config { threads, ..sequence(spec)? }, mnist).at(place)?),
    })
}

impl Task for Images {
    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> &str {
        self.summary
    }

    fn settings(&self) -> Vec<Setting> {
        self.view.map_or(&sequential::SETTINGS[..], product::settings).to_vec()
    }

    fn measures(&self) -> Measures {
        match self.view {
            Some(view) => Measures::Products { strict: matches!(view, View::Isolated { .. }) },
            None => Measures::Sequences,
        }
    }

    fn numerics(&self) -> u64 {
        let version = if self.view.is_some() { nalm_vision::NUMERICS } else { nalm_vision::SEQUENTIAL_NUMERICS };
        version.into()
    }

    /// Convolutions were summed otherwise in versions 2 and 3; in version 1, bits depended on the instruction set, too. What was measured is as true.
    fn earlier_numerics(&self) -> &[u64] {
        if self.view.is_some() { &[2, 1] } else { &[3, 2, 1] }
    }

    fn specify(&self, catalogue: &Catalogue, choices: &Choices) -> Result<Spec> {
        let heads = if self.view.is_some() { &product::HEADS[..] } else { &sequential::CELLS };
        let (Some(head), None) = (&choices.module, &choices.layers) else {
            bail!("{} takes a module that multiplies two numbers: {}", self.name, heads.join(", "))
        };
        choose::one_of("head", head, heads)?;
        ensure!(choices.schedule.is_none(), "{} has no schedules", self.name);
        for (name, instead) in [
            ("steps", "counts in epochs; give --set epochs=N instead of steps"),
            ("stream", "has no reference streams and no others; leave the stream out"),
        ] {
            ensure!(!choices.values.contains_key(name), "{} {instead}", self.name);
        }
        let settings = choose::checked(catalogue, self, choices)?;
        let spec = json!({"task": self.name, "head": head, "settings": settings, "seed": choices.seed, "numerics": self.numerics()});
        Ok(serde_json::from_value(spec)?)
    }

    fn check(&self, _catalogue: &Catalogue, spec: &Spec) -> Result<usize> {
        match self.view {
            Some(view) => product(view, spec)?.check()?,
            None => sequence(spec)?.check()?,
        }
        Ok(2)
    }

    fn bytes(&self, _catalogue: &Catalogue, spec: &Spec) -> Result<f64> {
        match self.view {
            Some(view) => Ok(product(view, spec)?.bytes()),
            None => Ok(sequence(spec)?.bytes()),
        }
    }

    fn cost(&self, spec: &Spec) -> f64 {
        let seconds = match self.view {
            Some(view) => product(view, spec).map(|config| config.seconds()),
            None => sequence(spec).map(|config| config.seconds()),
        };
        // A run that cannot be read does not start.
        seconds.unwrap_or_default()
    }

    fn is_long(&self) -> bool {
        true
    }

    fn prepare(&self, resources: &Resources) -> Result<()> {
        mnist(resources.mnist.as_deref()).map(|_| ())
    }

    fn start<'a>(&'a self, _catalogue: &'a Catalogue, job: &[&'a Spec], threads: usize) -> Result<Box<dyn Run + 'a>> {
        let [spec] = job else { bail!("runs with images are carried out one by one") };
        let training = training(self.view, spec, threads)?;
        Ok(Box::new(ImageRun { view: self.view, spec, threads, training, state: None }))
    }
}

/// A run with images under way.
struct ImageRun<'a> {
    view: Option<View>,
    spec: &'a Spec,
    threads: usize,
    training: Box<dyn Training>,
    /// After the last whole epoch: amid one, a run cannot be taken up.
    state: Option<Checkpoint>,
}

impl ImageRun<'_> {
    /// The row and the network of a run that has ended.
    fn finished(&mut self) -> Result<Finished> {
        let tensors = self.training.tensors();
        let pictures = self.training.pictures(PICTURES);
        let measured = serde_json::to_value(self.training.history())?;
        let mut hash = Sha256::new();
        // The order of the fields is part of the recorded hashes.
        hash.update(serde_json::to_string(self.training.history())?.as_bytes());
        let numbers = || tensors.iter().flat_map(|tensor| &tensor.data);
        for number in numbers() {
            hash.update(if number.is_nan() { u32::MAX } else { number.to_bits() }.to_le_bytes());
        }
        let reason = numbers().any(|number| !number.is_finite()).then(|| "weights that are not numbers".to_string());
        let status = if reason.is_some() { Status::Diverged } else { Status::Completed };
        let mut row = Row::new(self.spec, status, reason, hex(&hash.finalize()[..16]));
        row.metrics = history::metrics(&measured);
        row.series.insert("history".into(), measured);
        if !pictures.is_empty() {
            row.artefacts.insert("pictures".into(), serde_json::to_value(pictures)?);
        }
        row.artefacts.insert("weights_file".into(), format!("weights/{}.safetensors", row.id).into());
        let tensors = nalm::tensor::to_bytes(&tensors, Some(&serde_json::to_string(self.spec)?))?;
        Ok(Finished { row, tensors: Some(tensors) })
    }
}

impl Run for ImageRun<'_> {
    fn advance(&mut self, watch: &dyn Watch) -> Result<Advance> {
        let run = &mut self.training;
        let share = |run: &dyn Training| run.epoch() as f64 / run.epochs().max(1) as f64;
        watch.reached(share(&**run));
        Ok(match run.advance(&|| watch.stopped())? {
            nalm_vision::Advance::Stopped => Advance::Stopped,
            nalm_vision::Advance::Done => Advance::Done(vec![self.finished()?]),
            nalm_vision::Advance::Trained => {
                watch.trained(run.images());
                watch.reached(share(&**run));
                self.state = Some(run.checkpoint());
                Advance::Further
            }
        })
    }

    fn save(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.state.as_ref().map(|state| state.to_bytes(&self.spec.id())).transpose()?)
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let restored = Checkpoint::from_bytes(bytes, &self.spec.id())
            .and_then(|state| self.training.restore(&state).map(|()| state));
        if restored.is_err() {
            // Whatever it took over until then is of no use.
            self.training = training(self.view, self.spec, self.threads)?;
        }
        self.state = Some(restored?);
        Ok(())
    }
}
