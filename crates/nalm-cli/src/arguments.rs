//! What can be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use nalm_lab::cluster::{Part, Scheduler};
use nalm_lab::experiment::{Overrides, Seeds, reading};
use serde_json::Value;
use std::path::PathBuf;

/// Where help shows what every verb takes.
const GLOBAL: &str = "Options of every verb";

/// Neural Arithmetic Logic Modules: units whose weights read as arithmetic, under one protocol.
#[derive(Debug, Parser)]
#[command(name = "nalm", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// How much memory a run may take, such as 8GB [default: half of the machine's]
    #[arg(long, global = true, help_heading = GLOBAL, display_order = 900, value_name = "SIZE", value_parser = nalm_lab::memory::parse)]
    pub(crate) memory: Option<u64>,
    /// Vector instructions to compute with, which decide how long it takes and nothing else: portable, sse2, avx2, avx512 or neon [default: the
    /// best there are]
    #[arg(long, global = true, help_heading = GLOBAL, display_order = 900, value_name = "SET", value_parser = parse_instructions)]
    pub(crate) instructions: Option<nalm::InstructionSet>,
    /// Say nothing but errors and results.
    #[arg(short, long, global = true, help_heading = GLOBAL, display_order = 901, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more: every run as it ends, every file as it is written.
    #[arg(short, long, global = true, help_heading = GLOBAL, display_order = 902)]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Whole numbers between two bounds. The one parser of all counts, sizes and seeds.
fn between<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let is_large = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let found = text.parse::<u64>().ok();
        let fits = found.filter(|n| (least..=most).contains(n)).and_then(|n| T::try_from(n).ok());
        fits.ok_or_else(|| match (most, found) {
            (u64::MAX, None) if is_large => format!("it must be a whole number, at most {most}"),
            (u64::MAX, _) => format!("it must be a whole number, {least} or more"),
            _ => format!("it must be a whole number from {least} to {most}"),
        })
    }
}

/// A whole number, 0 or more.
fn whole(text: &str) -> Result<u64, String> {
    between(0, u64::MAX)(text)
}

/// How many of something, 0 or more.
fn size(text: &str) -> Result<usize, String> {
    between(0, u64::MAX)(text)
}

/// How many of something, 1 or more.
fn count<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    between(1, u64::MAX)(text)
}

/// Seeds: so many, or these.
fn seeds(text: &str) -> Result<Seeds, String> {
    if text.contains(',') || text.contains("..") {
        return text.parse::<Seeds>().map_err(|error| error.to_string());
    }
    count(text).map(Seeds::Count)
}

/// How many inputs. Tasks say it if they are too few; none of this project takes fewer than two.
fn inputs(text: &str) -> Result<usize, String> {
    text.parse().or_else(|_| between(2, u64::MAX)(text))
}

/// A number.
fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "it must be a number, such as 0.01 or 1e-2".into())
}

fn parse_instructions(text: &str) -> Result<nalm::InstructionSet, nalm::Error> {
    nalm::InstructionSet::named(text)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Why noise helps: NMU and sNMU side by side, in five seconds.
    #[command(after_help = "Examples:\n  nalm demo --seeds 10\n  nalm demo --html demo.html")]
    Demo {
        /// Seeds of each unit.
        #[arg(short, long, default_value_t = 10, value_parser = count::<u64>, allow_negative_numbers = true)]
        seeds: u64,
        /// Write a page with the same as figures instead.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Modules, noises, denoisers, tasks, ranges, experiments, schedules, metrics or figures.
    #[command(after_help = "Examples:\n  nalm list modules\n  nalm list modules snmu\n  nalm list modules --json")]
    List {
        /// What to list; nothing for the listings that there are.
        #[arg(value_name = "LISTING")]
        what: Option<Listing>,
        /// One entry, with everything that is known about it.
        name: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// One run: errors as it goes, weights at the end.
    Train(Box<Train>),
    /// A few units against each other, without a file: intervals, tests and a plot.
    Compare(Box<Compare>),
    /// Write an experiment file to start from.
    #[command(after_help = "Example: nalm new mine.toml && nalm reproduce mine.toml")]
    New {
        /// The file, which must not be there yet.
        file: PathBuf,
    },
    /// Carry out an experiment; what is done already is not done again.
    Run(Sharded),
    /// Carry out an experiment by means of a scheduler: Slurm, LSF, PBS, SGE, HyperQueue.
    Submit(Submit),
    /// What the store holds of each experiment.
    Status(Status),
    /// Tables, figure and page of an experiment.
    Report(Report),
    /// Run, then report.
    Reproduce(Reproduce),
    /// Against the published values, or a record against itself.
    Verify(Verify),
    /// Every statement of the paper, with its verdict.
    Claims(Claims),
    /// The rows of the store as CSV or JSON lines.
    Export(Export),
    /// Check, merge or compact a store.
    #[command(
        subcommand,
        after_help = "Examples:\n  nalm store check\n  nalm store merge results-a results-b --into results\n  nalm store compact results > rows.jsonl\n  nalm store pack results --into record/mine"
    )]
    Store(Store),
    /// A module, a stack or a task: shapes, parameters, formulas, settings; and whatever else is listed.
    #[command(
        after_help = "Examples:\n  nalm describe npu\n  nalm describe nau-snmu --inputs 100\n  nalm describe mnist-colour --svg network.svg"
    )]
    Describe {
        /// A module, a stack such as 'nau 100->3, snmu' (nau-snmu for short), a task, or a name of another listing.
        model: String,
        /// Number of inputs [default: the first layer's, or 2]
        #[arg(long, value_parser = count::<usize>, allow_negative_numbers = true)]
        inputs: Option<usize>,
        /// Draw it as a diagram into this file instead.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Success, solved-at and sparsity intervals for a table of runs.
    Stats(Stats),
    /// Hand-written gradients against central differences.
    #[command(after_help = "Example: nalm gradcheck npu")]
    Gradcheck {
        /// One module only.
        module: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// From a table to the formula behind a column.
    Fit(Box<Fit>),
    /// A saved formula's values for other rows.
    Predict(Predict),
    /// Rows that break a saved formula.
    Check(Check),
    /// Nanoseconds per training step; or how many known formulas nalm fit finds.
    #[command(after_help = "Examples:\n  nalm bench --json\n  nalm bench fit --suite own")]
    Bench {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        what: Option<Bench>,
    },
    /// Completions for a shell, to the standard output.
    #[command(after_help = "Example:\n  nalm completions bash > ~/.local/share/bash-completion/completions/nalm")]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// The manual page of the program or of a verb, to the standard output; or all of them, into a folder.
    #[command(
        after_help = "Examples:\n  nalm man | man -l -\n  nalm man train | man -l -\n  nalm man --out ~/.local/share/man/man1"
    )]
    Man {
        /// The verb.
        verb: Option<String>,
        /// Write the pages of all verbs into this folder.
        #[arg(short, long, value_name = "DIR", conflicts_with = "verb")]
        out: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Listing {
    /// Units, and what each can compute.
    #[value(alias = "units")]
    Modules,
    /// Noises of the stochastic units.
    Noise,
    /// How noise is taken out again.
    Denoisers,
    /// What networks are trained on.
    Tasks,
    /// The published ranges of inputs, with those of the tests.
    Ranges,
    /// Experiments that come with the program.
    Experiments,
    /// Trainings in several phases.
    Schedules,
    /// What is measured, and how it is estimated.
    Metrics,
    /// Kinds of figures.
    Figures,
}

/// Train one network on one task.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm train --module snmu --range 'U[-2,-1)' --seed 3\n  nalm train --task arithmetic --module snmu --range 'U[-2,2)' --steps 20000\n  nalm train --task arithmetic --module snmu --range 'U[1.1,1.2)' \\\n    --schedule second-order\n  nalm train --module real-npu --operation div --range 'U[1,2)' \\\n    --test-range 'U[2,6)' --json\n  nalm train --task table --data measurements.csv --target watts --module nmu\n  nalm train --task arithmetic --layers 'nau 100->3, nau 3->2, snmu' \\\n    --steps 20000"
)]
pub(crate) struct Train {
    /// The unit, with options such as 'snmu noise=U[1,2]'; in the arithmetic task, the one behind a NAU [default: nmu]
    #[arg(short, long, conflicts_with = "layers")]
    pub(crate) module: Option<String>,
    /// A stack instead of the task's own network, such as 'nau 2->3, snmu'; its first layer has as many inputs as the task.
    #[arg(long)]
    pub(crate) layers: Option<String>,
    /// The task (see nalm list tasks).
    #[arg(short, long, default_value = "single-module")]
    pub(crate) task: String,
    /// The operation to learn [default: mul]
    #[arg(long)]
    pub(crate) operation: Option<nalm::Operation>,
    /// Number of inputs [default: the task's]
    #[arg(short, long, value_parser = inputs, allow_negative_numbers = true)]
    pub(crate) inputs: Option<usize>,
    /// Training range [default: U[1,2)]
    #[arg(short, long)]
    pub(crate) range: Option<nalm::Distribution>,
    /// Test range [default: the published one of the training range]
    #[arg(long)]
    pub(crate) test_range: Option<nalm::Distribution>,
    /// The CSV file of the task table.
    #[arg(long)]
    pub(crate) data: Option<PathBuf>,
    /// The column of that file to learn.
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Seed.
    #[arg(short, long, default_value_t = 0, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Last step [default: the task's]
    #[arg(short = 'n', long, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) steps: Option<u64>,
    /// Random streams: fast or reference [default: fast]
    #[arg(long)]
    pub(crate) stream: Option<nalm::Stream>,
    /// Noise of an sNMU, such as U[1,5], batch or constant(3).
    #[arg(long)]
    pub(crate) noise: Option<nalm::Noise>,
    /// Denoiser of an sNMU.
    #[arg(long)]
    pub(crate) denoiser: Option<nalm::Denoiser>,
    /// Hidden units of an MLP.
    #[arg(long, value_parser = size, allow_negative_numbers = true)]
    pub(crate) hidden: Option<usize>,
    /// Learning rate [default: the module's published one]
    #[arg(long, value_parser = number, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// Variance of the gradient noise at step 0.
    #[arg(long, value_parser = number, allow_negative_numbers = true)]
    pub(crate) gradient_noise: Option<f64>,
    /// Any option of the module or setting of the task (see nalm describe), such as start=[0.5,0.9]; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) set: Vec<(String, Value)>,
    /// Train in phases: a schedule from nalm list schedules, such as second-order; steps are then the schedule's.
    #[arg(long, conflicts_with = "steps")]
    pub(crate) schedule: Option<String>,
    /// Print the outcome as one line of JSON, so that a loop makes JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the logged errors to this CSV file.
    #[arg(long)]
    pub(crate) curve: Option<PathBuf>,
}

/// Train several units with the same seeds and compare them. Runs are kept in the store, so that asking again costs nothing.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm compare nmu snmu --range 'U[-2,-1)'\n  nalm compare nmu snmu 'snmu noise=U[1,2]' --range 'U[3,4)' \\\n    --test-range 'U[4,10)' --seeds 25\n  nalm compare nmu snmu --task arithmetic --range 'U[-2,2)' --steps 50000 \\\n    --html compare.html\n  nalm compare real-npu nalu --operation div --json"
)]
pub(crate) struct Compare {
    /// Units, each with options such as 'snmu noise=U[1,2]', or stacks such as 'nau 100->3, snmu'; the first is what the others are compared with.
    #[arg(required = true)]
    pub(crate) models: Vec<String>,
    /// The task (see nalm list tasks).
    #[arg(short, long, default_value = "single-module")]
    pub(crate) task: String,
    /// The operation to learn [default: mul]
    #[arg(long)]
    pub(crate) operation: Option<nalm::Operation>,
    /// Training range; may be repeated [default: U[1,2)]
    #[arg(short, long)]
    pub(crate) range: Vec<nalm::Distribution>,
    /// Test ranges of these, one each and in their order [default: the published ones]
    #[arg(long)]
    pub(crate) test_range: Vec<nalm::Distribution>,
    /// Seeds of each unit: so many, these (5,6), or a span without its end (100..120)
    #[arg(short, long, default_value = "25", value_name = "N|LIST", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Seeds,
    /// Last step [default: the task's]
    #[arg(short = 'n', long, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) steps: Option<u64>,
    /// The CSV file of the task table.
    #[arg(long)]
    pub(crate) data: Option<PathBuf>,
    /// The column of that file to learn.
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// Random streams: fast or reference [default: fast]
    #[arg(long)]
    pub(crate) stream: Option<nalm::Stream>,
    /// A setting of the units that have it, such as learning_rate=0.01; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) set: Vec<(String, Value)>,
    /// Write a page with figure and tables, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Threads [default: all cores]
    #[arg(short = 'j', long, env = "NALM_THREADS", hide_env_values = true, value_parser = count::<usize>, allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Where rows are kept.
    #[arg(long, env = "NALM_STORE", hide_env_values = true, default_value = "results")]
    pub(crate) store: PathBuf,
}

impl Compare {
    /// What it says besides models, task, operation and seeds.
    pub(crate) fn changes(&self) -> anyhow::Result<Changes> {
        let own = [
            ("data", self.data.as_ref().map(|file| file.display().to_string().into())),
            ("target", self.target.clone().map(Value::from)),
        ];
        let operation = self.operation.map(|operation| operation.to_string().into());
        chosen(&[("operation", operation)], &self.set)?;
        let set = chosen(&own, &self.set)?;
        let default = || RANGE.parse().expect("the default can be read");
        let range = match self.range.is_empty() && !self.test_range.is_empty() {
            true => vec![default()],
            false => self.range.clone(),
        };
        let test_range = self.test_range.clone();
        Ok(Changes { steps: self.steps, stream: self.stream, set, range, test_range, ..Changes::default() })
    }
}

/// Which experiments, and what is changed of them.
#[derive(Args, Debug)]
pub(crate) struct Choice {
    /// Names (see nalm list experiments) or TOML files; `all` for every one, at its own default preset unless --preset says another.
    #[arg(required = true)]
    pub(crate) experiments: Vec<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

/// What is changed of experiments.
#[derive(Args, Debug, Default)]
pub(crate) struct Changes {
    /// How much of it: smoke, quick or paper; with images also laptop [default: the file's]
    #[arg(short, long)]
    pub(crate) preset: Option<String>,
    /// Seeds instead of the preset's: so many, these (5,6), or a span without its end (100..120)
    #[arg(short, long, value_name = "N|LIST", value_parser = seeds, allow_negative_numbers = true)]
    pub(crate) seeds: Option<Seeds>,
    /// Last step instead of the preset's.
    #[arg(short = 'n', long, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) steps: Option<u64>,
    /// Random streams instead of the preset's.
    #[arg(long)]
    pub(crate) stream: Option<nalm::Stream>,
    /// Training range instead of the preset's; may be repeated.
    #[arg(short, long)]
    pub(crate) range: Vec<nalm::Distribution>,
    /// Test ranges of these, one each and in their order [default: the published ones]
    #[arg(long)]
    pub(crate) test_range: Vec<nalm::Distribution>,
    /// A setting of the models that have it, such as learning_rate=0.01 or noise=U[1,3]; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_set)]
    pub(crate) set: Vec<(String, Value)>,
    /// A setting with several values, such as 'noise=U[1,2];U[1,5]', as an axis of tables and figures; may be repeated.
    #[arg(long, value_name = "KEY=A;B", value_parser = parse_sweep)]
    pub(crate) sweep: Vec<(String, Vec<Value>)>,
}

impl Choice {
    /// The same choice as words of another command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let Changes { preset, seeds, steps, stream, range, test_range, set, sweep } = &self.changes;
        let mut words = self.experiments.clone();
        let mut add = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        preset.iter().for_each(|preset| add("preset", preset.clone()));
        seeds.iter().for_each(|seeds| add("seeds", seeds.to_string()));
        steps.iter().for_each(|steps| add("steps", steps.to_string()));
        stream.iter().for_each(|stream| add("stream", stream.to_string()));
        range.iter().for_each(|range| add("range", range.to_string()));
        test_range.iter().for_each(|range| add("test-range", range.to_string()));
        set.iter().for_each(|(key, value)| add("set", format!("{key}={}", written(value))));
        for (key, values) in sweep {
            add("sweep", format!("{key}={}", values.iter().map(written).collect::<Vec<_>>().join(";")));
        }
        words
    }

    /// What the command line changes.
    pub(crate) fn overrides(&self) -> anyhow::Result<Overrides> {
        self.changes.overrides()
    }
}

impl Changes {
    /// What the command line changes.
    pub(crate) fn overrides(&self) -> anyhow::Result<Overrides> {
        let (trained, tested) = (self.range.len(), self.test_range.len());
        let ranges = [(trained, "range"), (tested, "test range")].map(|(n, what)| crate::terminal::counted(n, what));
        let text = format!("{} and {} are given; give each range its own, in the same order", ranges[0], ranges[1]);
        let alone = "--test-range belongs to --range; give it, too";
        anyhow::ensure!(tested == 0 || trained > 0, nalm_lab::Error::Request(alone.into()));
        anyhow::ensure!(tested == 0 || tested == trained, nalm_lab::Error::Request(text));
        let steps = self.steps.map(Value::from);
        let stream = self.stream.map(|stream| stream.to_string().into());
        let test = |k: usize| self.test_range.get(k).map(ToString::to_string);
        Ok(Overrides {
            preset: self.preset.clone(),
            seeds: self.seeds.clone(),
            set: chosen(&[("steps", steps), ("stream", stream)], &self.set)?,
            ranges: self.range.iter().enumerate().map(|(k, range)| (range.to_string(), test(k))).collect(),
            sweep: self.sweep.clone(),
        })
    }
}

/// Train everything an experiment asks for that the store does not hold yet, on all cores. Stop it whenever you like (Ctrl-C, TERM,
/// USR1: exit code 75); the same command continues.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm run single-module --preset quick\n  nalm run my-experiment.toml --seeds 100 --dry-run\n  nalm run single-module --set learning_rate=0.01\n  nalm run noise-sweep --preset paper --shard auto --steal"
)]
pub(crate) struct Sharded {
    #[command(flatten)]
    pub(crate) run: Run,
    /// Carry out one of N parts of the plan, counted from 0. With auto, the variables of the scheduler say which (Slurm, LSF, SGE, MPI), or auto/N where
    /// they do not tell how many there are (PBS, HyperQueue)
    #[arg(long, value_name = "I/N|auto", value_parser = parse_part)]
    pub(crate) shard: Option<Part>,
    /// Then go on with what the other parts still lack.
    #[arg(long, requires = "shard")]
    pub(crate) steal: bool,
}

fn parse_part(text: &str) -> nalm_lab::Result<Part> {
    text.parse()
}

/// What is to be run, and on what.
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Threads [default: all cores, or those that a scheduler allots]
    #[arg(short = 'j', long, env = "NALM_THREADS", hide_env_values = true, value_parser = count::<usize>, allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Where rows are kept.
    #[arg(long, env = "NALM_STORE", hide_env_values = true, default_value = "results")]
    pub(crate) store: PathBuf,
    /// Where MNIST's four IDX files are [default: NALM_MNIST, or the project's data/mnist]
    #[arg(long, value_name = "DIR")]
    pub(crate) mnist: Option<PathBuf>,
    /// Seconds between two checkpoints of a run with images.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) checkpoint: u64,
    /// Say what would be done.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Write a script in which so many tasks carry out what the store still lacks, and submit it. Tasks may be killed, started twice or never: the
/// same command submits what is missing then. How to go about it: docs/cluster.md.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm submit noise-sweep --preset paper --scheduler slurm --tasks 8 \\\n    --cpus 16 --time 2h --directive=--partition=long\n  nalm submit single-module --scheduler lsf --tasks 4 --print\n  nalm submit single-module --scheduler local --tasks 2 --cpus 1"
)]
pub(crate) struct Submit {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// slurm, lsf, pbs, sge or hq; local for processes on this machine.
    #[arg(long, value_parser = parse_scheduler)]
    pub(crate) scheduler: &'static Scheduler,
    /// Workers; each takes its part of the plan, and then what others lack.
    #[arg(long, default_value_t = 1, value_parser = count::<usize>, allow_negative_numbers = true)]
    pub(crate) tasks: usize,
    /// Processors of each worker.
    #[arg(long, default_value_t = 4, value_parser = count::<usize>, allow_negative_numbers = true)]
    pub(crate) cpus: usize,
    /// The most that a worker may take, such as 90m, 2h or 1:30:00 [default: from what rows in the store took]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time: Option<u64>,
    /// A line of your own for the scheduler, such as --directive=--partition=long; may be repeated.
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    pub(crate) directive: Vec<String>,
    /// Where rows are kept, and scripts and logs in its folder jobs.
    #[arg(long, env = "NALM_STORE", hide_env_values = true, default_value = "results")]
    pub(crate) store: PathBuf,
    /// Where MNIST's four IDX files are [default: NALM_MNIST, or the project's data/mnist]
    #[arg(long, value_name = "DIR")]
    pub(crate) mnist: Option<PathBuf>,
    /// Seconds between two checkpoints of a run with images.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) checkpoint: u64,
    /// Print the script, and submit nothing.
    #[arg(long)]
    pub(crate) print: bool,
}

fn parse_scheduler(text: &str) -> nalm_lab::Result<&'static Scheduler> {
    text.parse()
}

/// Seconds from 90m, 2h, 1h30m, 45s, H:MM:SS or D-H:MM:SS.
fn parse_time(text: &str) -> Result<u64, String> {
    let wrong = || "give a time such as 90m, 2h, 1h30m or 1:30:00 (hours, minutes, seconds)".to_string();
    let whole = |text: &str| text.parse::<u64>().ok().filter(|n| *n < 100_000);
    let sum = |parts: &[(Option<u64>, u64)]| {
        parts.iter().try_fold(0, |sum, (n, unit)| Some(sum + (*n)? * unit)).filter(|seconds| *seconds > 0)
    };
    let (days, rest) = text.split_once('-').map_or((Some(0), text), |(days, rest)| (whole(days), rest));
    if let [hours, minutes, seconds] = *rest.split(':').collect::<Vec<_>>() {
        let parts = [(days, 86_400), (whole(hours), 3_600), (whole(minutes), 60), (whole(seconds), 1)];
        return sum(&parts).ok_or_else(wrong);
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['d', 'h', 'm', 's']) {
        let unit = match rest.as_bytes()[end] {
            b'd' => 86_400,
            b'h' => 3_600,
            b'm' => 60,
            _ => 1,
        };
        parts.push((whole(&rest[..end]), unit));
        rest = &rest[end + 1..];
    }
    if rest.is_empty() { sum(&parts).ok_or_else(wrong) } else { Err(wrong()) }
}

impl Run {
    /// With a store and threads, and nothing else said.
    pub(crate) fn of_store(store: &std::path::Path, threads: Option<usize>) -> Self {
        let choice = Choice { experiments: Vec::new(), changes: Changes::default() };
        Self { choice, threads, store: store.into(), mnist: None, checkpoint: 120, dry_run: false }
    }
}

/// The range that is trained on where none is given.
pub(crate) const RANGE: &str = "U[1,2)";

/// Settings that were given by options of their own and behind --set. One that is given twice is refused, however that was done.
pub(crate) fn chosen(own: &[(&str, Option<Value>)], set: &[(String, Value)]) -> anyhow::Result<Vec<(String, Value)>> {
    let own = own.iter().filter_map(|(key, value)| Some((key.to_string(), value.clone()?)));
    let mut all: Vec<(String, Value)> = own.collect();
    let options = all.len();
    for (key, value) in set {
        if let Some(place) = all.iter().position(|(known, _)| known == key) {
            let option = if place < options { format!("--{}", key.replace('_', "-")) } else { "--set".into() };
            let text = format!("{key} is given by {option} and by --set; leave one out");
            let twice = format!("--set {key} is given twice; leave one out");
            anyhow::bail!(nalm_lab::Error::Request(if place < options { text } else { twice }));
        }
        all.push((key.clone(), value.clone()));
    }
    Ok(all)
}

/// A value as TOML has it; text that is none is taken as it stands.
pub(crate) fn value(text: &str) -> Value {
    reading::value(text).unwrap_or_else(|| text.into())
}

/// A value as text that [`value`] reads as the same.
fn written(given: &Value) -> String {
    match given {
        Value::String(text) if value(text) == *given => text.clone(),
        other => other.to_string(),
    }
}

fn parse_set(text: &str) -> Result<(String, Value), String> {
    let (key, given) = text.split_once('=').ok_or("give KEY=VALUE, such as learning_rate=0.01")?;
    Ok((key.trim().into(), value(given)))
}

fn parse_sweep(text: &str) -> Result<(String, Vec<Value>), String> {
    let (key, values) = text.split_once('=').ok_or("give KEY=A;B, such as 'noise=U[1,2];U[1,5]'")?;
    Ok((key.trim().into(), values.split(';').map(|text| value(text.trim())).collect()))
}

/// Run, then write the report.
#[derive(Args, Debug)]
#[command(after_help = "Example: nalm reproduce single-module")]
pub(crate) struct Reproduce {
    #[command(flatten)]
    pub(crate) run: Run,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Where a report goes, and in which forms.
#[derive(Args, Debug)]
pub(crate) struct Output {
    /// Where pages, figures and tables go.
    #[arg(short, long, default_value = "report")]
    pub(crate) out: PathBuf,
    /// Write each figure as PNG, too.
    #[arg(long)]
    pub(crate) png: bool,
    /// Put figure and table of each experiment between its markers in this file: <!-- nalm:NAME --> and <!-- /nalm:NAME -->, or
    /// one of them between <!-- nalm:NAME figure --> (table) and its end.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "README.md")]
    pub(crate) readme: Option<PathBuf>,
    /// Print what was found as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Output {
    /// Refuses what cannot be written, before anybody waits for it.
    pub(crate) fn check(&self) -> nalm_lab::Result<()> {
        if self.out.exists() && !self.out.is_dir() {
            let text =
                format!("{} is a file, and pages go into a folder; give another one with --out", self.out.display());
            return Err(nalm_lab::Error::Request(text));
        }
        if self.png { nalm_lab::figure::png::available() } else { Ok(()) }
    }
}

/// Write a page, figures and tables from what the store holds.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm report single-module --out report\n  nalm report all --preset paper --store record/2026-11-16-numerical --png"
)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) choice: Choice,
    /// Where rows are kept.
    #[arg(long, env = "NALM_STORE", hide_env_values = true, default_value = "results")]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Hold every statement of the paper against what stores have, each statement once. Numbers in texts stand between <!-- nalm:NAME; METRIC;
/// MODEL; RANGE --> and <!-- /nalm -->.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  nalm claims record/2026-11-16-numerical record/2026-11-16-mnist \\\n    --out docs/results --readme README.md"
)]
pub(crate) struct Claims {
    /// The stores [default: that of nalm run]
    pub(crate) stores: Vec<PathBuf>,
    /// Where rows are kept, if no stores are named.
    #[arg(long, env = "NALM_STORE", hide_env_values = true, default_value = "results")]
    pub(crate) store: PathBuf,
    /// Write claims.md and claims.html here.
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Fill in the numbers that this file quotes; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) readme: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check the laboratory against what was published, or a record against itself. Without --record: carry out the part of each
/// experiment that published values speak about, and compare. With it: run a random sample of the record's rows again, which
/// must give the same bits. Exits with 1 if anything differs that the experiment does not list as known.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm verify\n  nalm verify arithmetic\n  nalm verify single-module --preset paper\n  nalm verify --record record/2026-11-16-numerical --sample 50"
)]
pub(crate) struct Verify {
    /// Experiments [default: all]
    #[arg(conflicts_with = "record")]
    pub(crate) experiments: Vec<String>,
    /// How much of it: smoke, quick or paper; with images also laptop [default: quick, of a file its own]
    #[arg(short, long, conflicts_with = "record")]
    pub(crate) preset: Option<String>,
    /// A store whose rows are to be run again.
    #[arg(long, value_name = "STORE")]
    pub(crate) record: Option<PathBuf>,
    /// How many rows of the record.
    #[arg(long, default_value_t = 20, requires = "record", value_parser = size, allow_negative_numbers = true)]
    pub(crate) sample: usize,
    /// Which sample [default: another one every time]
    #[arg(long, requires = "record", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Leave out rows of more steps than this.
    #[arg(long, requires = "record", value_parser = whole, allow_negative_numbers = true)]
    pub(crate) most_steps: Option<u64>,
    /// How many rows of runs with images, each of which takes minutes or hours.
    #[arg(long, default_value_t = 0, requires = "record", value_parser = size, allow_negative_numbers = true)]
    pub(crate) images: usize,
    /// The folder with the four MNIST files [default: $NALM_MNIST, or data/mnist here or above]
    #[arg(long, value_name = "DIR", requires = "record")]
    pub(crate) mnist: Option<PathBuf>,
    /// A CSV file behind rows of the task table; may be repeated.
    #[arg(long, value_name = "FILE", requires = "record")]
    pub(crate) data: Vec<PathBuf>,
    /// Threads [default: all cores]
    #[arg(short = 'j', long, env = "NALM_THREADS", hide_env_values = true, value_parser = count::<usize>, allow_negative_numbers = true)]
    pub(crate) threads: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Rows, segments and conflicts of a store, and how far the experiments are that were run into it.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm status\n  nalm status --all\n  nalm status single-module my-experiment.toml --set learning_rate=0.01\n  nalm status noise-sweep --preset paper --watch\n\nWith names, it exits with 3 while runs of them are missing."
)]
pub(crate) struct Status {
    /// Experiments that come with nalm, or files [default: what the store was asked for, your own first, then those that come with nalm and of which it has runs]
    pub(crate) experiments: Vec<String>,
    /// Also those that come with nalm and of which the store has nothing.
    #[arg(short, long, conflicts_with = "experiments")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// Where rows are kept.
    #[arg(long, env = "NALM_STORE", hide_env_values = true, default_value = "results")]
    pub(crate) store: PathBuf,
    /// Look again every so many seconds, until nothing is missing.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "10", requires = "experiments",
          value_parser = count::<u64>)]
    pub(crate) watch: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write rows as a table or as JSON lines: by experiment, module, settings, range and seed.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm export --csv - | nalm stats -\n  nalm export --csv failures.csv --module snmu --range 'U[-2,-1)' \\\n    --status diverged"
)]
pub(crate) struct Export {
    /// A CSV file with the columns that nalm stats reads; - for the standard output.
    #[arg(long)]
    pub(crate) csv: Option<PathBuf>,
    /// A file with one JSON object per line; - for the standard output, which takes one of the two.
    #[arg(long)]
    pub(crate) jsonl: Option<PathBuf>,
    /// Only rows of this experiment, at any preset, or of a file; may be repeated.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) experiment: Vec<String>,
    /// Only rows of this module, or of stacks with it; may be repeated.
    #[arg(short, long)]
    pub(crate) module: Vec<String>,
    /// Only rows trained on this range; may be repeated.
    #[arg(short, long)]
    pub(crate) range: Vec<nalm::Distribution>,
    /// Only rows that ended so: completed, diverged, solved or unsolved; may be repeated.
    #[arg(long, value_enum)]
    pub(crate) status: Vec<Ended>,
    /// Where rows are kept.
    #[arg(long, env = "NALM_STORE", hide_env_values = true, default_value = "results")]
    pub(crate) store: PathBuf,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ended {
    Completed,
    Diverged,
    Solved,
    Unsolved,
}

/// Intervals for anybody's runs: a CSV with the columns seed and solved, solved_at and sparsity_error where they are known, and any others to group by.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm stats runs.csv\n  nalm stats runs.csv --paired nmu,snmu\n  nalm export --csv - | nalm stats -\n\nsolved is true or false; solved_at and sparsity_error may be NA, or missing."
)]
pub(crate) struct Stats {
    /// The table; - for the standard input.
    pub(crate) file: PathBuf,
    /// Print JSON.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print CSV.
    #[arg(long)]
    pub(crate) csv: bool,
    /// Compare two values of the first grouping column over common seeds: McNemar's test on success, the sign test on
    /// solved-at; and the log-rank test over all runs, with the seeds that would be needed to decide. Over several
    /// settings a seed counts once, for whoever does better at more of them, and there is no log-rank test.
    #[arg(long, value_name = "A,B")]
    pub(crate) paired: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    /// Read every row and hold it against itself; exits with 4 if any conflicts, is forged or cannot be read.
    Check {
        /// The store.
        #[arg(env = "NALM_STORE", hide_env_values = true, default_value = "results")]
        store: PathBuf,
        /// The same as an option, as other verbs take it.
        #[arg(long = "store", value_name = "STORE", hide = true)]
        named: Option<PathBuf>,
    },
    /// Copy the segments of several stores into one.
    Merge {
        /// The stores to read.
        #[arg(required = true)]
        stores: Vec<PathBuf>,
        /// The store to add to.
        #[arg(long)]
        into: PathBuf,
    },
    /// Put the rows of several stores that the target lacks into one compressed segment there, to be kept.
    Pack {
        /// The stores to read.
        #[arg(required = true)]
        stores: Vec<PathBuf>,
        /// The store to write.
        #[arg(long)]
        into: PathBuf,
        /// Leave out lines that cannot be read, instead of refusing their store: nalm run does their runs again.
        #[arg(long)]
        leave_out_damaged: bool,
    },
    /// Print every run once, in the order of identity: the same bytes however the rows came about. The SHA-256 of them goes to the
    /// standard error.
    Compact {
        /// The store.
        #[arg(env = "NALM_STORE", hide_env_values = true, default_value = "results")]
        store: PathBuf,
        /// The same as an option, as other verbs take it.
        #[arg(long = "store", value_name = "STORE", hide = true)]
        named: Option<PathBuf>,
    },
}

/// Find the formula behind a column of a CSV file, and say how far it can be trusted.
///
/// The rows that lie furthest out are held back; a formula must hold there, too. The answer is one of: exact (to the rounding of numbers, or to the printed digits), consistent (what is missed looks like
/// noise), approximate, none.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  nalm fit invoices.csv --target total\n  nalm fit measurements.csv --inputs volts,amperes --target watts \\\n    --save watts.json --html watts.html\n  nalm fit prices.csv --separator ';' --decimal comma --json"
)]
pub(crate) struct Fit {
    /// The CSV file, with the names of its columns in the first line.
    pub(crate) file: PathBuf,
    /// The column to explain; may be repeated, and none of them is an input of another [default: the last one]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) target: Vec<String>,
    /// Columns that may occur in the formula, with commas between them [default: all others that hold numbers]
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) inputs: Vec<String>,
    /// Columns that are not looked at, with commas between them.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) ignore: Vec<String>,
    /// Rows held back to try the formula on: extreme, random, or a CSV file with further rows.
    #[arg(long, default_value = "extreme", value_name = "extreme|random|FILE", allow_negative_numbers = true)]
    pub(crate) holdout: String,
    /// Units of the columns: row, if they are in the line below the names, or a CSV file with the columns column and unit.
    #[arg(long, value_name = "row|FILE")]
    pub(crate) units: Option<String>,
    /// Which formulas are looked for: arithmetic (sums, products, powers, roots), or all (exp, log, sin and cos, too).
    #[arg(long, default_value = "all")]
    pub(crate) forms: Forms,
    /// Recognise constants of nature, such as the speed of light.
    #[arg(long)]
    pub(crate) physical_constants: bool,
    /// Keep at most so many rows: of more, a random sample is drawn, the same every time.
    #[arg(long, default_value_t = 50_000, value_parser = between::<u32>(10, 10_000_000), allow_negative_numbers = true)]
    pub(crate) most_rows: u32,
    #[command(flatten)]
    pub(crate) dialect: Csv,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the formula alone, as a function or expression in a language: text, python, latex, sympy, rust, c or spreadsheet.
    #[arg(long, value_name = "LANGUAGE", conflicts_with = "json")]
    pub(crate) write: Option<String>,
    /// Save the formula to this file, for nalm predict and nalm check; with the ending .safetensors, as a stack of units, if it is a product of sums of columns.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Write a page with figures to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Forms {
    Arithmetic,
    All,
}

/// What is known about a CSV file.
#[derive(Args, Debug)]
pub(crate) struct Csv {
    /// What stands between cells: one character, or tab [default: found out]
    #[arg(long, value_name = "CHARACTER", value_parser = parse_separator)]
    pub(crate) separator: Option<char>,
    /// What stands before decimals [default: found out]
    #[arg(long)]
    pub(crate) decimal: Option<Decimal>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Decimal {
    Point,
    Comma,
}

impl Csv {
    pub(crate) fn dialect(&self) -> nalm::table::Dialect {
        let dialect = nalm::table::Dialect::default();
        let dialect = self.separator.iter().fold(dialect, |dialect, c| dialect.separator(*c));
        let mark = |decimal: &Decimal| if matches!(decimal, Decimal::Comma) { ',' } else { '.' };
        self.decimal.iter().fold(dialect, |dialect, decimal| dialect.decimal(mark(decimal)))
    }
}

fn parse_separator(text: &str) -> Result<char, String> {
    let mut all = text.chars();
    match (text, all.next(), all.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(c), None) => Ok(c),
        _ => Err("give one character, such as ; or |, or the word tab".into()),
    }
}

/// Add a column with a saved formula's values to a CSV file. Cells stay as they are; rows that lack a number get none.
#[derive(Args, Debug)]
#[command(after_help = "Example: nalm predict watts.json new.csv --out predicted.csv")]
pub(crate) struct Predict {
    /// What nalm fit --save wrote.
    pub(crate) model: PathBuf,
    /// The CSV file with the columns that the formula needs.
    pub(crate) file: PathBuf,
    /// Where to write [default: the standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Whether the line below the names holds units: row
    #[arg(long, value_name = "row", value_parser = ["row"])]
    pub(crate) units: Option<String>,
    #[command(flatten)]
    pub(crate) dialect: Csv,
}

/// List the rows of a CSV file that a saved formula does not hold for: wrong lines of a ledger, faults of a sensor. A row may be away from the formula as far as those were that it was found from, and by half a
/// unit of its last printed digit. Exits with 1 if there are any.
#[derive(Args, Debug)]
#[command(after_help = "Example: nalm check total.json invoices.csv")]
pub(crate) struct Check {
    /// What nalm fit --save wrote.
    pub(crate) model: PathBuf,
    /// The CSV file with the columns that the formula needs, and its target.
    pub(crate) file: PathBuf,
    /// List at most so many rows.
    #[arg(long, default_value_t = 100, value_parser = size, allow_negative_numbers = true)]
    pub(crate) most: usize,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Whether the line below the names holds units: row
    #[arg(long, value_name = "row", value_parser = ["row"])]
    pub(crate) units: Option<String>,
    #[command(flatten)]
    pub(crate) dialect: Csv,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// How many known formulas are found, and whether anything is called exact that is not.
    ///
    /// Without --suite: the whole benchmark. The suites: feynman (120 laws of physics), own (everyday formulas, odd signs and ranges, many columns, wrong columns), false (tables on which it is easy to
    /// claim too much). Answers are judged by their values on fresh rows from ranges three times as wide.
    #[command(
        after_help = "Examples:\n  nalm bench fit\n  nalm bench fit --suite feynman --rows 500 --noise 0.001 --only I.8.14\n  nalm bench fit --json > fit.json"
    )]
    Fit(BenchFit),
    /// How the time of a training step grows with the batch, the inputs, the layers and the threads, as a figure.
    #[command(after_help = "Example: nalm bench growth growth.svg")]
    Growth {
        /// The figure to write, as SVG.
        figure: PathBuf,
    },
}

#[derive(Args, Debug)]
pub(crate) struct BenchFit {
    /// One suite alone.
    #[arg(long)]
    pub(crate) suite: Option<String>,
    /// Rows of each table.
    #[arg(long, default_value_t = 300, requires = "suite", value_parser = between::<u32>(20, 1_000_000), allow_negative_numbers = true)]
    pub(crate) rows: u32,
    /// Noise, as a share of the target's standard deviation.
    #[arg(long, default_value_t = 0.0, requires = "suite", value_parser = number, allow_negative_numbers = true)]
    pub(crate) noise: f64,
    /// Which rows are drawn.
    #[arg(long, default_value_t = 0, value_parser = whole, allow_negative_numbers = true)]
    pub(crate) seed: u64,
    /// Only tables whose formula is arithmetic.
    #[arg(long, requires = "suite")]
    pub(crate) arithmetic: bool,
    /// These tables alone; may be repeated.
    #[arg(long, value_name = "TABLE")]
    pub(crate) only: Vec<String>,
    /// Threads; times are those of one core only with 1.
    #[arg(long, default_value = "1", value_parser = count::<usize>)]
    pub(crate) threads: usize,
    /// Print every table, not just the sums.
    #[arg(long)]
    pub(crate) each: bool,
    /// Search nothing: write every table as ID.csv, and the rows that answers are judged on as ID.judge.csv, into this folder, for other programs.
    #[arg(long, value_name = "FOLDER", requires = "suite", conflicts_with_all = ["each", "json", "readme"])]
    pub(crate) tables: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Put the table of the whole benchmark between the markers <!-- nalm:bench-fit table --> and <!-- /nalm:bench-fit table --> of this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) readme: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, seconds) in [
            ("90m", 5_400),
            ("2h", 7_200),
            ("1h30m", 5_400),
            ("45s", 45),
            ("1d", 86_400),
            ("1:30:00", 5_400),
            ("2-00:00:10", 172_810),
        ] {
            assert_eq!(parse_time(text), Ok(seconds), "{text}");
        }
        for text in ["", "0", "10", "1:30", "h", "-1h", "0h", "2h3", "1:2:3:4", "x:00:00", "99999999999h", "1:-1:00"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    /// Help breaks longer lines where it likes, and a command that is broken so cannot be pasted.
    #[test]
    fn examples_fit_eighty_columns() {
        fn all(command: &clap::Command) -> Vec<String> {
            let own = command.get_after_help().map(ToString::to_string);
            own.into_iter().chain(command.get_subcommands().flat_map(all)).collect()
        }
        let examples = all(&<Cli as clap::CommandFactory>::command());
        assert!(examples.len() > 20);
        for line in examples.iter().flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= 78, "{line}");
        }
        for lines in examples.iter().map(|text| text.lines().collect::<Vec<_>>()) {
            for pair in lines.windows(2) {
                assert_eq!(pair[0].ends_with('\\'), pair[1].starts_with("    "), "{pair:?}");
            }
        }
    }

    /// What `submit` hands on to `run` means the same there.
    #[test]
    fn a_choice_is_written_as_it_was_read() {
        let words = [
            "single-module",
            "own.toml",
            "--preset",
            "quick",
            "--seeds",
            "3",
            "--steps",
            "100",
            "--stream",
            "reference",
            "--range",
            "U[1,2)",
            "--range",
            "U[3,4)",
            "--test-range",
            "U[2,6)",
            "--test-range",
            "U[4,5)",
            "--set",
            "learning_rate=0.01",
            "--set",
            "noise=U[1,3]",
            "--set",
            "start=[0.5,0.9]",
            "--set",
            "label=\"5\"",
            "--set",
            "halved=true",
            "--sweep",
            "noise=U[1,2];batch",
            "--sweep",
            "inputs=2;3",
        ];
        let read = |words: &[String]| match Cli::try_parse_from(
            ["nalm", "run"].into_iter().map(String::from).chain(words.to_vec()),
        )
        .unwrap()
        .verb
        {
            Verb::Run(sharded) => sharded.run.choice,
            other => panic!("{other:?}"),
        };
        let first = read(&words.map(String::from));
        let second = read(&first.words());
        assert_eq!(format!("{first:?}"), format!("{second:?}"));
        assert_eq!((first.changes.set.len(), first.changes.sweep.len()), (5, 2));
    }
}
