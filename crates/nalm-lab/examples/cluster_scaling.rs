//! How a sweep scales: run times are recorded once, and workers who divide the plan and help each other out are simulated from them. Which worker carries
//! out what, and in which order, is what the library says and not a model of it.
//!
//! ```text
//! cluster_scaling record NAME PRESET STEPS SEEDS DISPATCH >trace.csv   times of runs on one core; DISPATCH is what a scheduler takes to start a task
//! cluster_scaling simulate NAME PRESET STEPS trace.csv                 a table, in Markdown
//! ```

use nalm_lab::cluster::{Plan, Shard};
use nalm_lab::experiment::{Experiment, Overrides, Seeds};
use nalm_lab::pool::{Order, Quiet, carry_out};
use nalm_lab::run::Spec;
use nalm_lab::store::{Segment, machine};
use nalm_lab::{Error, Registry};
use std::collections::{BinaryHeap, HashMap};
use std::time::Instant;

/// A row is on the disk so many seconds after its run, and others look once a second.
const SYNC: f64 = 0.25;
const LOOK: f64 = 1.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["record", name, preset, steps, seeds, dispatch] => {
            record(name, &overrides(preset, steps.parse()?, Some(seeds.parse()?)), dispatch.parse()?)?;
        }
        ["simulate", name, preset, steps, trace] => {
            let experiment = Registry::default().load(name, &overrides(preset, steps.parse()?, None))?;
            simulate(&experiment, &Trace::read(&std::fs::read_to_string(trace)?)?)?;
        }
        _ => return Err("give: record NAME PRESET STEPS SEEDS DISPATCH, or: simulate NAME PRESET STEPS TRACE".into()),
    }
    Ok(())
}

fn overrides(preset: &str, steps: u64, seeds: Option<u64>) -> Overrides {
    Overrides { seeds: seeds.map(Seeds::Count), set: vec![("steps".into(), steps.into())], ..Overrides::preset(preset) }
}

/// What runs of the same kind have in common: everything but the seed.
fn kind(run: &Spec) -> String {
    run.with("seed", 0).id()
}

/// Carries out an experiment on one core, and prints what each run took of the processor.
fn record(name: &str, overrides: &Overrides, dispatch: f64) -> Result<(), Error> {
    let cpu = || machine::cpu_seconds().unwrap_or_default();
    let start = Instant::now();
    let registry = Registry::default();
    let experiment = registry.load(name, overrides)?;
    let folder = tempfile::tempdir().map_err(Error::file("cannot make", std::path::Path::new("a folder")))?;
    let store = registry.store(folder.path());
    let plan = Plan::new(&registry.catalogue, &experiment.runs)?;
    plan.part(Shard::new(0, 1)?);
    let mut segment = Segment::create(&store, &[])?;
    let startup = start.elapsed().as_secs_f64();
    let (mut before, mut lines) = (cpu(), Vec::new());
    carry_out(
        &registry.catalogue,
        &Order { runs: &experiment.runs, ..Order::default() },
        &Quiet::default(),
        |finished| {
            if let Some(finished) = &finished {
                let now = cpu();
                lines.push(format!("{},{:.2}", kind(&finished.row.spec), now - before));
                before = now;
            }
            segment.keep(finished.as_ref())
        },
    )?;
    segment.seal()?;
    let start = Instant::now();
    let rows = store.index()?.entries().len();
    let scan = start.elapsed().as_secs_f64() / rows as f64;
    println!("kind,seconds\nstartup,{startup:.4}\nscan,{scan:.9}\ndispatch,{dispatch:.4}");
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// What was recorded: seconds that a task takes to be started, to begin, to read a row of a store; and those of runs by their kind.
struct Trace {
    dispatch: f64,
    startup: f64,
    scan: f64,
    times: HashMap<String, Vec<f64>>,
}

impl Trace {
    fn read(text: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let mut times: HashMap<String, Vec<f64>> = HashMap::new();
        for line in text.lines().skip(1) {
            let (kind, seconds) = line.split_once(',').ok_or("a line has no comma")?;
            times.entry(kind.into()).or_default().push(seconds.parse()?);
        }
        let mut one = |name: &str| {
            times.remove(name).and_then(|all| all.first().copied()).ok_or_else(|| format!("there is no {name}"))
        };
        Ok(Self { dispatch: one("dispatch")?, startup: one("startup")?, scan: one("scan")?, times })
    }

    /// A time of the run's kind, always the same for the same run.
    fn of(&self, run: &Spec) -> Option<f64> {
        let all = self.times.get(&kind(run))?;
        let hash = u64::from_str_radix(&run.id()[..15], 16).unwrap_or_default();
        Some(all[hash as usize % all.len()])
    }
}

/// Where the time of all workers went, in seconds.
#[derive(Default)]
struct Spent {
    wall: f64,
    starting: f64,
    looking: f64,
    twice: f64,
    /// Runs that were begun although another worker had begun or finished them.
    begun_twice: usize,
}

/// Something that happens to a worker; the earliest comes first.
#[derive(PartialEq)]
struct Event {
    at: f64,
    worker: usize,
    /// Which of its states this is about; others are out of date.
    state: u64,
}

impl Eq for Event {}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.at.total_cmp(&self.at).then(other.worker.cmp(&self.worker))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Default)]
struct Worker {
    order: Vec<usize>,
    next: usize,
    looked: f64,
    /// The run under way and when it was begun.
    running: Option<(usize, f64)>,
    state: u64,
}

/// So many workers of one core each.
fn sweep(
    plan: &Plan<'_>,
    places: &HashMap<*const Spec, usize>,
    times: &[f64],
    trace: &Trace,
    count: usize,
    steal: bool,
) -> Result<Spent, Error> {
    let place = |run: &&Spec| places[&std::ptr::from_ref::<Spec>(run)];
    let look = trace.scan * times.len() as f64;
    let pause = LOOK.max(20.0 * look);
    let mut spent = Spent::default();
    let mut workers = Vec::new();
    let mut events = BinaryHeap::new();
    for worker in 0..count {
        let shard = Shard::new(worker, count)?;
        let others = if steal { plan.others(shard, worker as u64) } else { Vec::new() };
        let order = plan.part(shard).iter().map(place).chain(others.iter().map(place)).collect();
        let start = trace.dispatch * (worker + 1) as f64 + trace.startup + look;
        spent.starting += start;
        workers.push(Worker { order, looked: start, ..Worker::default() });
        events.push(Event { at: start, worker, state: 0 });
    }
    let mut done_at = vec![f64::INFINITY; times.len()];
    let mut begun: Vec<Vec<usize>> = vec![Vec::new(); times.len()];
    while let Some(Event { at, worker: k, state }) = events.pop() {
        if workers[k].state != state {
            continue;
        }
        let mut now = at;
        if let Some((run, since)) = workers[k].running.take() {
            begun[run].retain(|other| *other != k);
            if done_at[run].is_infinite() {
                done_at[run] = now;
                // Whoever else is at it gives up when the row is seen.
                for &other in &begun[run] {
                    let Some((_, since)) = workers[other].running else { continue };
                    let end = (now + SYNC + pause).min(since + times[run]);
                    workers[other].state += 1;
                    events.push(Event { at: end, worker: other, state: workers[other].state });
                }
            } else {
                spent.twice += now - since;
            }
        }
        loop {
            if now - workers[k].looked >= pause {
                workers[k].looked = now;
                spent.looking += look;
                now += look;
            }
            let worker = &mut workers[k];
            let Some(&run) = worker.order.get(worker.next) else {
                spent.wall = spent.wall.max(now);
                break;
            };
            worker.next += 1;
            if done_at[run] + SYNC <= worker.looked {
                continue;
            }
            spent.begun_twice += usize::from(done_at[run].is_finite() || !begun[run].is_empty());
            worker.running = Some((run, now));
            worker.state += 1;
            begun[run].push(k);
            let seen = if done_at[run].is_finite() { (done_at[run] + SYNC).max(now) + pause } else { f64::INFINITY };
            events.push(Event { at: (now + times[run]).min(seen), worker: k, state: worker.state });
            break;
        }
    }
    Ok(spent)
}

/// Prints how long sweeps of several lengths take by the number of workers, and where their time goes.
fn simulate(experiment: &Experiment, trace: &Trace) -> Result<(), Error> {
    let registry = Registry::default();
    let plan = Plan::new(&registry.catalogue, &experiment.runs)?;
    let places: HashMap<*const Spec, usize> =
        experiment.runs.iter().enumerate().map(|(k, run)| (std::ptr::from_ref(run), k)).collect();
    let missing = || Error::Request("the trace has no run of some kind of this experiment".into());
    let short: Vec<f64> =
        experiment.runs.iter().map(|run| trace.of(run).ok_or_else(missing)).collect::<Result<_, _>>()?;
    println!(
        "| runs | workers | time | speed-up | efficiency | starting | idle | done twice | looking | without helping out |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (factor, length) in [(1.0, "a tenth"), (10.0, "full length")] {
        let times: Vec<f64> = short.iter().map(|time| factor * time).collect();
        let total: f64 = times.iter().sum();
        for count in [1, 2, 8, 32, 128, 512, 1_024] {
            let spent = sweep(&plan, &places, &times, trace, count, true)?;
            let alone = sweep(&plan, &places, &times, trace, count, false)?;
            let all = count as f64 * spent.wall;
            let share = |part: f64| format!("{:.1} %", 100.0 * part / all);
            let idle = all - total - spent.starting - spent.twice - spent.looking;
            println!(
                "| {}, {length} | {count} | {:.1} s | {:.1} | {} | {} | {} | {} ({}) | {} | {:.1} s |",
                times.len(),
                spent.wall,
                total / spent.wall,
                share(total),
                share(spent.starting),
                share(idle.max(0.0)),
                share(spent.twice),
                spent.begun_twice,
                share(spent.looking),
                alone.wall
            );
        }
    }
    Ok(())
}
