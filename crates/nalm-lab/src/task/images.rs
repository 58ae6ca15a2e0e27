//! The three products of MNIST digits: what can be chosen of them, and their runs, which can be saved and taken up.

use super::catalogue::Catalogue;
use super::{Advance, Choices, Finished, Measures, Resources, Run, Task, Tensors, Watch, network};
use crate::error::{Context, Error, Result, bail, ensure};
use crate::run::spec::{hex, json, setting};
use crate::run::{Row, Spec, Status, history};
use nalm::setting::Kind;
use nalm::{InstructionSet, Options, Setting};
use nalm_vision::product::{self, View};
use nalm_vision::vector::instructions_name;
use nalm_vision::{Checkpoint, Inputs, Mnist, Picture, Start, Tensor, Training, sequential};
use serde_json::{Map, Value, json as value};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Samples whose pictures a row keeps.
const PICTURES: usize = 4;

/// Units that multiply two numbers, for which the tasks are defined.
const HEADS: [&str; 4] = ["mul", "fc", "nmu", "snmu"];

/// Which of the three tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinds {
    Isolated,
    Colour,
    Sequential,
}

/// One of the tasks with images.
pub struct Images {
    kind: Kinds,
    mnist: Mutex<Option<Arc<Mnist>>>,
}

const fn changes(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind, default, meaning, numerics: true }
}

const fn keeps(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind, default, meaning, numerics: false }
}

const START: Kind = Kind::Text {
    what: "reset or identity",
    normal: |text| match text.parse::<Start>() {
        Ok(_) => Ok(text.into()),
        Err(_) => Err(nalm::Error::unknown("tps_init", text, &["reset", "identity"])),
    },
};

const INPUTS: Kind = Kind::Text {
    what: "noised or clean",
    normal: |text| match text {
        "noised" | "clean" => Ok(text.into()),
        other => Err(nalm::Error::unknown("rz_inputs", other, &["noised", "clean"])),
    },
};

/// What all three tasks have.
const COMMON: [Setting; 6] = [
    changes("samples", Kind::Whole, "", "samples of a pair, or sequences; the published number if not given"),
    changes("epochs", Kind::Whole, "1000", "epochs"),
    changes("batch", Kind::Whole, "", "samples in a batch; the published number if not given"),
    changes("lambda", Kind::Number, "", "strength of the sparsity penalty; the published one if not given"),
    changes(
        "ramp",
        Kind::WholePair,
        "",
        "first and last epoch of its ramp, or update with sequences; the published ones if not given",
    ),
    keeps("row_every", Kind::Whole, "", "epochs between two measurements; the published number if not given"),
];
const TRAIN_EVALUATED: Setting =
    keeps("train_evaluated", Kind::Whole, "", "training samples that are measured; all if not given");
const HALVED: Setting = changes("halved", Kind::Flag, "false", "whether digits have 14 x 14 pixels");
const TPS_INIT: Setting = changes("tps_init", START, "reset", "where the transformers start");
const SEQUENTIAL: [Setting; 3] = [
    changes("rz", Kind::Number, "1", "strength of the regulariser R_z"),
    changes("rz_inputs", INPUTS, "noised", "which inputs R_z looks at"),
    keeps("eval_noise", Kind::Flag, "true", "whether the cell is noisy while it is measured"),
];

impl Images {
    /// All three.
    pub fn all() -> [Self; 3] {
        [Kinds::Isolated, Kinds::Colour, Kinds::Sequential].map(|kind| Self { kind, mnist: Mutex::new(None) })
    }

    fn options(&self, catalogue: &Catalogue, spec: &Spec) -> Result<Options> {
        // The penalty's strength is called as an option of another unit; heads do not have that one.
        network::options(catalogue, spec.module(), &spec.options(&[]))
    }

    fn product(&self, catalogue: &Catalogue, spec: &Spec, threads: usize) -> Result<product::Config> {
        let given = spec.options(&[]);
        let view = match self.kind {
            Kinds::Isolated => View::Isolated { halved: given.flag(&HALVED)? },
            _ => View::Colour {
                start: spec.get("tps_init").and_then(Value::as_str).map_or(Ok(Start::default()), str::parse)?,
            },
        };
        let fold =
            usize::try_from(spec.seed()).map_err(|_| Error::Request(format!("there is no fold {}", spec.seed())))?;
        let base = product::Config::published(view, spec.module(), fold);
        let whole = |key: &str| spec.whole(key);
        let size = |key: &str, published: usize| spec.whole(key).map_or(published, |n| n as usize);
        Ok(product::Config {
            options: self.options(catalogue, spec)?,
            samples: size("samples", base.samples),
            epochs: whole("epochs").unwrap_or(base.epochs),
            batch: size("batch", base.batch),
            lambda: spec.get("lambda").and_then(Value::as_f64).unwrap_or(base.lambda),
            ramp: spec.get("ramp").map_or(Ok(base.ramp), |_| given.whole_pair(&COMMON[4]))?,
            row_every: whole("row_every").unwrap_or(base.row_every),
            train_evaluated: size("train_evaluated", base.train_evaluated),
            threads,
            ..base
        })
    }

    fn sequence(&self, catalogue: &Catalogue, spec: &Spec, threads: usize) -> Result<sequential::Config> {
        let given = spec.options(&[]);
        let base = sequential::Config::published(spec.module(), spec.seed());
        Ok(sequential::Config {
            options: self.options(catalogue, spec)?,
            sequences: spec.whole("samples").map_or(base.sequences, |n| n as usize),
            epochs: spec.whole("epochs").unwrap_or(base.epochs),
            batch: spec.whole("batch").map_or(base.batch, |n| n as usize),
            lambda: spec.get("lambda").and_then(Value::as_f64).unwrap_or(base.lambda),
            ramp: spec.get("ramp").map_or(Ok(base.ramp), |_| given.whole_pair(&COMMON[4]))?,
            rz: given.number(&SEQUENTIAL[0])?,
            rz_inputs: if spec.text("rz_inputs") == "clean" { Inputs::Clean } else { Inputs::Noised },
            eval_noise: given.flag(&SEQUENTIAL[2])?,
            row_every: spec.whole("row_every").unwrap_or(base.row_every),
            threads,
            ..base
        })
    }

    fn training(&self, catalogue: &Catalogue, spec: &Spec, threads: usize) -> Result<Box<dyn Training>> {
        self.prepare(&Resources::default())?;
        let mnist = self.mnist.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(mnist) = mnist else { bail!("MNIST was not loaded") };
        let place = || format!("{} with {} and seed {}", spec.task(), spec.module(), spec.seed());
        Ok(match self.kind {
            Kinds::Sequential => {
                Box::new(sequential::Run::new(self.sequence(catalogue, spec, threads)?, mnist).at(place)?)
            }
            _ => Box::new(product::Run::new(self.product(catalogue, spec, threads)?, mnist).at(place)?),
        })
    }
}

impl Task for Images {
    fn name(&self) -> &str {
        match self.kind {
            Kinds::Isolated => "mnist-isolated",
            Kinds::Colour => "mnist-colour",
            Kinds::Sequential => "mnist-sequential",
        }
    }

    fn summary(&self) -> &str {
        match self.kind {
            Kinds::Isolated => "t = product of two MNIST digits side by side, one classifier and a unit",
            Kinds::Colour => {
                "t = product of two MNIST digits in two colour channels, spline transformers, a classifier and a unit"
            }
            Kinds::Sequential => "t = all products of a sequence of MNIST digits, a classifier and a recurrent cell",
        }
    }

    fn settings(&self) -> Vec<Setting> {
        let own: &[Setting] = match self.kind {
            Kinds::Isolated => &[TRAIN_EVALUATED, HALVED],
            Kinds::Colour => &[TRAIN_EVALUATED, TPS_INIT],
            Kinds::Sequential => &SEQUENTIAL,
        };
        COMMON.iter().chain(own).copied().collect()
    }

    fn measures(&self) -> Measures {
        if self.kind == Kinds::Sequential { Measures::Sequences } else { Measures::Products }
    }

    fn numerics(&self) -> u64 {
        nalm_vision::NUMERICS.into()
    }

    fn specify(&self, catalogue: &Catalogue, choices: &Choices) -> Result<Spec> {
        let (Some(head), None) = (&choices.module, &choices.layers) else {
            bail!("{} takes a module that multiplies two numbers: {}", self.name(), HEADS.join(", "))
        };
        if !HEADS.contains(&head.as_str()) {
            return Err(nalm::Error::unknown("head", head, &HEADS).into());
        }
        ensure!(choices.schedule.is_none(), "{} has no schedules", self.name());
        let (own, options) = (self.settings(), catalogue.module(head)?.single.options);
        let others: Vec<Setting> = Self::all().iter().flat_map(Task::settings).collect();
        let mut settings = Map::new();
        for (name, given) in &choices.values {
            match name.as_str() {
                "steps" => bail!("{} counts in epochs; give --set epochs=N instead of steps", self.name()),
                "stream" => bail!("{} has no reference streams and no others; leave the stream out", self.name()),
                _ => {}
            }
            let Some(declared) = own.iter().chain(options).find(|setting| setting.name == name) else {
                if others.iter().any(|setting| setting.name == name) {
                    bail!(
                        "{} has no setting {name}; it has: {}",
                        self.name(),
                        own.iter().map(|s| s.name).collect::<Vec<_>>().join(", ")
                    );
                }
                if catalogue.option_names().contains(&name.as_str()) {
                    nalm::setting::find(head, options, name)?;
                }
                let names: Vec<&str> = own.iter().chain(options).map(|s| s.name).collect();
                return Err(nalm::Error::unknown("setting", name, &names).into());
            };
            let wrong = || Error::Request(format!("{name} is {given}; it must be {}", declared.kind.name()));
            settings.insert(name.clone(), json(&declared.check(&setting(given).ok_or_else(wrong)?)?));
        }
        let spec = value!({"task": self.name(), "head": head, "settings": settings, "seed": choices.seed, "numerics": self.numerics()});
        Ok(serde_json::from_value(spec)?)
    }

    fn check(&self, catalogue: &Catalogue, spec: &Spec) -> Result<usize> {
        match self.kind {
            Kinds::Sequential => self.sequence(catalogue, spec, 1)?.check()?,
            _ => self.product(catalogue, spec, 1)?.check()?,
        }
        Ok(2)
    }

    fn cost(&self, spec: &Spec) -> f64 {
        let samples = |published: f64| spec.whole("samples").map_or(published, |n| n as f64);
        let seen = |train: f64| spec.whole("train_evaluated").map_or(train, |n| train.min(2.0 * n as f64));
        // Milliseconds that training an image takes; measuring takes a third of it.
        let (image, trained, measured, every) = match self.kind {
            Kinds::Isolated => {
                let train = 180.0 * samples(1_000.0);
                let halved = spec.get("halved") == Some(&Value::Bool(true));
                (if halved { 0.09 } else { 0.5 }, train, seen(train) + 20.0 * samples(1_000.0), 1)
            }
            Kinds::Colour => {
                let train = 2.0 * 0.85 * 67.0 * samples(1_100.0);
                (0.4, train, seen(train) + 2.0 * 43.0 * samples(1_100.0), 1)
            }
            Kinds::Sequential => {
                let train = 2.0 * samples(24_783.0).min(24_783.0);
                (0.12, train, train + 13_531.0, 5)
            }
        };
        let epochs = spec.whole("epochs").unwrap_or(1_000) as f64;
        let rows = epochs / spec.whole("row_every").unwrap_or(every) as f64 + 1.0;
        1e-3 * image * (epochs * trained + rows * measured / 3.0)
    }

    fn is_long(&self) -> bool {
        true
    }

    fn prepare(&self, resources: &Resources) -> Result<()> {
        let mut mnist = self.mnist.lock().unwrap_or_else(PoisonError::into_inner);
        if mnist.is_none() {
            *mnist = Some(find(resources.mnist.as_deref())?);
        }
        Ok(())
    }

    fn start<'a>(&'a self, catalogue: &'a Catalogue, job: &[&'a Spec], threads: usize) -> Result<Box<dyn Run + 'a>> {
        let [spec] = job else { bail!("runs with images are carried out one by one") };
        Ok(Box::new(ImageRun {
            task: self,
            catalogue,
            spec,
            threads,
            training: self.training(catalogue, spec, threads)?,
        }))
    }
}

/// Loads MNIST from the folder that was given, from the one that NALM_MNIST names, or from data/mnist in the project around the working
/// folder or around the binary. Whatever was loaded is shared by the three tasks.
fn find(given: Option<&Path>) -> Result<Arc<Mnist>> {
    static LOADED: Mutex<Option<(Option<PathBuf>, Arc<Mnist>)>> = Mutex::new(None);
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((folder, mnist)) = &*loaded
        && folder.as_deref() == given
    {
        return Ok(Arc::clone(mnist));
    }
    let mnist = Arc::new(load(given)?);
    *loaded = Some((given.map(Path::to_path_buf), Arc::clone(&mnist)));
    Ok(mnist)
}

fn load(given: Option<&Path>) -> Result<Mnist> {
    let named = given.map(Path::to_path_buf).or_else(|| std::env::var_os("NALM_MNIST").map(PathBuf::from));
    if let Some(folder) = named {
        let place = || "the folder of --mnist or NALM_MNIST must hold the four MNIST files".to_string();
        return Mnist::load(&folder).at(place);
    }
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    for start in starts.iter().flatten() {
        for folder in start.ancestors().map(|folder| folder.join("data/mnist")) {
            if folder.is_dir() {
                return Ok(Mnist::load(&folder)?);
            }
        }
    }
    bail!(
        "MNIST is not here: no folder data/mnist in or above the working folder or the binary's; say where its four IDX files are with \
         --mnist DIR or NALM_MNIST"
    )
}

/// A run with images under way.
struct ImageRun<'a> {
    task: &'a Images,
    catalogue: &'a Catalogue,
    spec: &'a Spec,
    threads: usize,
    training: Box<dyn Training>,
}

impl ImageRun<'_> {
    /// Whose a checkpoint is. Bits depend on the instruction set, so that of another kind of machine does not count.
    fn checkpoint_name(&self) -> String {
        format!("{} {}", self.spec.id(), instructions_name(InstructionSet::best()))
    }
}

impl Run for ImageRun<'_> {
    fn advance(&mut self, watch: &dyn Watch) -> Result<Advance> {
        let run = &mut self.training;
        let share = |run: &dyn Training| run.epoch() as f64 / run.epochs().max(1) as f64;
        watch.reached(share(&**run));
        Ok(match run.advance(&|| watch.stopped())? {
            nalm_vision::Advance::Stopped => Advance::Stopped,
            nalm_vision::Advance::Done => Advance::Done,
            nalm_vision::Advance::Trained => {
                watch.trained(run.images());
                watch.reached(share(&**run));
                Advance::Further
            }
        })
    }

    fn save(&self, file: &Path) -> Result<()> {
        Ok(self.training.checkpoint().save(file, &self.checkpoint_name())?)
    }

    fn restore(&mut self, file: &Path) -> Result<()> {
        let restored = Checkpoint::load(file, &self.checkpoint_name()).and_then(|state| self.training.restore(&state));
        if restored.is_err() {
            // Whatever it took over until then is of no use.
            self.training = self.task.training(self.catalogue, self.spec, self.threads)?;
        }
        Ok(restored?)
    }

    fn finish(&mut self) -> Result<Vec<Finished>> {
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
        let diverged = numbers().any(|number| !number.is_finite());
        let (status, reason) = match diverged {
            true => (Status::Diverged, Some("weights that are not numbers".into())),
            false => (Status::Completed, None),
        };
        let mut row = Row::new(self.spec, status, reason, hex(&hash.finalize()[..16]));
        row.metrics = history::metrics(&measured);
        row.series.insert("history".into(), measured);
        row.artefacts.insert("instructions".into(), instructions_name(InstructionSet::best()).into());
        if !pictures.is_empty() {
            let shown: Vec<Vec<Value>> = pictures.iter().map(|sample| sample.iter().map(drawn).collect()).collect();
            row.artefacts.insert("pictures".into(), shown.into());
        }
        row.artefacts.insert("weights_file".into(), format!("weights/{}.safetensors", row.id).into());
        let about = Some(serde_json::to_string(self.spec)?);
        let tensors = tensors.into_iter().map(|Tensor { name, shape, data }| (name, shape, data)).collect();
        Ok(vec![Finished { row, tensors: Some(Tensors { tensors, about }) }])
    }
}

/// A picture in sixteen shades: one hexadecimal digit a number, row by row, channels together.
fn drawn(picture: &Picture) -> Value {
    // Normalised MNIST goes from -0.42 (paper) to 2.82 (ink).
    let shade = |v: &f32| (((v + 0.4242) / 3.2457).clamp(0.0, 1.0) * 15.0).round() as u32;
    let pixels: String = picture.pixels.iter().map(|v| char::from_digit(shade(v), 16).unwrap_or('0')).collect();
    let mut drawn = value!({"width": picture.width, "channels": picture.channels, "pixels": pixels});
    if !picture.title.is_empty() {
        drawn["title"] = picture.title.into();
    }
    drawn
}
