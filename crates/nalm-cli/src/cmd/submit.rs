//! `nalm submit`: a script for a scheduler, and its submission.

use super::run::{plan, prepare};
use crate::arguments::Submit;
use crate::progress::duration;
use crate::terminal::counted;
use anyhow::{Context, Result, bail, ensure};
use nalm_lab::cluster::{self, Estimate, Job, Plan, Scheduler};
use nalm_lab::experiment::Experiment;
use nalm_lab::run::Spec;
use nalm_lab::task::Resources;
use nalm_lab::{Error, Registry, files};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A worker is told so many seconds before its time is up, if it has enough of it.
const WARNING: u64 = 120;

/// Nobody asks for less than this.
const LEAST: u64 = 600;

/// What was said about the machine, which workers are told, too.
pub(crate) struct Machine {
    pub(crate) memory: Option<u64>,
    pub(crate) instructions: Option<nalm::InstructionSet>,
}

pub(crate) fn run(registry: &Registry, arguments: &Submit, machine: &Machine) -> Result<()> {
    let Submit { scheduler, choice, .. } = arguments;
    let experiments = registry.load_all(&choice.experiments, &choice.overrides()?)?;
    experiments.iter().flat_map(|experiment| &experiment.notes).for_each(|note| say!("{note}"));
    let store = registry.store(&arguments.store);
    let found = store.index()?;
    let plan = plan(&experiments);
    let missing: Vec<Spec> = plan.iter().filter(|run| !found.has(&run.id())).cloned().collect();
    if missing.is_empty() {
        match plan.len() {
            1 => say!("the one run is done; nothing is submitted"),
            n => say!("all {n} runs are done; nothing is submitted"),
        }
        return super::sound(&found);
    }
    prepare(&registry.catalogue, &missing, &Resources { mnist: arguments.mnist.clone() })?;
    let expected = cluster::estimate(&registry.catalogue, &found, &missing)?;
    // More tasks than there are runs would have nothing to do.
    let tasks = arguments.tasks.min(Plan::new(&registry.catalogue, &missing)?.len());
    let unlimited = scheduler.is_local() && arguments.time.is_none();
    let asked = || if unlimited { 0 } else { enough(&expected, tasks * arguments.cpus) };
    let seconds = arguments.time.unwrap_or_else(asked);
    let warning = WARNING.min(seconds / 5);
    let most = if unlimited { f64::INFINITY } else { (seconds - warning) as f64 };
    ensure!(
        expected.longest <= most,
        Error::Request(format!(
            "one run takes about {}, which is more than a task may take; give --time more than that",
            duration(expected.longest)
        ))
    );
    let (about, spread) = about(&plan, &missing, &expected, tasks * arguments.cpus);
    about.iter().for_each(|line| say!("{line}"));
    if spread > most {
        say!("one turn of {} is not enough for that; give more --tasks or --time, or submit again", duration(most));
    }
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let job = Job {
        name: name(&experiments),
        about,
        logs: folder.join(&arguments.store).join("jobs"),
        folder,
        command: command(arguments, machine)?,
        tasks,
        cpus: arguments.cpus,
        seconds,
        warning,
        directives: arguments.directive.clone(),
    };
    let script = scheduler.script(&job);
    if arguments.print {
        std::io::stdout().lock().write_all(script.as_bytes())?;
        return Ok(());
    }
    let logs = job.logs.display().to_string();
    ensure!(
        scheduler.is_local() || !logs.contains(char::is_whitespace),
        Error::Request(format!(
            "{logs} has a space in it, at which schedulers break their lines; choose another --store"
        ))
    );
    let Some(program) = installed(scheduler.command) else {
        let (command, label) = (scheduler.command, scheduler.label);
        let text = format!(
            "there is no {command} here, the command by which {label} takes jobs, so nothing was submitted; --print shows the script, and \
             --scheduler local starts workers on this machine"
        );
        bail!(Error::Request(text));
    };
    let path = job.logs.join(format!("{}.sh", job.name));
    files::replace(store.files(), &path, script.as_bytes())?;
    say!("script: {}", path.display());
    if scheduler.is_local() { start(&path, &job) } else { submit(scheduler, &program, &path) }
}

/// Half as much again as it should take, two of the longest runs, and the warning: whoever asks for too little is stopped, for too much waits.
fn enough(expected: &Estimate, cores: usize) -> u64 {
    let seconds = 1.5 * expected.seconds / cores as f64 + 2.0 * expected.longest;
    (seconds as u64 + WARNING).next_multiple_of(300).max(LEAST)
}

/// What a script is about, for people, and how long its work takes on so many cores.
fn about(plan: &[Spec], missing: &[Spec], expected: &Estimate, cores: usize) -> (Vec<String>, f64) {
    let Estimate { seconds, rows, .. } = *expected;
    let source =
        if rows > 0 { format!("measured from {}", counted(rows, "row")) } else { "nothing was measured yet".into() };
    let spread = seconds / cores as f64;
    let lines = vec![
        format!("nalm submit: {} of {} runs are missing", missing.len(), plan.len()),
        format!("About {} of one core ({source}), {} on {cores} cores", duration(seconds), duration(spread)),
    ];
    (lines, spread)
}

fn name(experiments: &[Experiment]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let first = experiments.first().map_or("nothing", |experiment| &experiment.name);
    let more = if experiments.len() > 1 { format!("-and-{}-more", experiments.len() - 1) } else { String::new() };
    format!("nalm-{}{more}", first.chars().map(plain).collect::<String>())
}

/// What a worker runs.
fn command(arguments: &Submit, machine: &Machine) -> Result<Vec<String>> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut words = vec![text(&program), "run".into()];
    words.extend(arguments.choice.words());
    words.extend(["--store".into(), text(&arguments.store)]);
    words.extend(arguments.mnist.iter().flat_map(|folder| ["--mnist".into(), text(folder)]));
    if arguments.checkpoint != 120 {
        words.extend(["--checkpoint".into(), arguments.checkpoint.to_string()]);
    }
    words.extend(machine.memory.iter().flat_map(|bytes| ["--memory".into(), nalm_lab::memory::written(*bytes)]));
    words.extend(machine.instructions.iter().flat_map(|set| ["--instructions".into(), set.name().to_string()]));
    Ok(words)
}

/// The file of a command, where there is one.
fn installed(command: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(command)).find(|file| file.is_file())
}

/// Hands a script to a scheduler, and repeats what it says.
fn submit(scheduler: &Scheduler, program: &Path, script: &Path) -> Result<()> {
    let mut command = Command::new(program);
    match scheduler.submission(script) {
        Some(arguments) => command.args(arguments).stdin(Stdio::null()),
        None => command.stdin(File::open(script).with_context(|| format!("cannot read {}", script.display()))?),
    };
    let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{} refused the script: {}{}", scheduler.command, out.trim(), err.trim());
    say!("{}: {}", scheduler.command, out.trim());
    say!("nalm status with the same names says how far it is; the same command again submits what is missing then");
    Ok(())
}

/// Starts the workers on this machine, where they stay when this program ends.
fn start(script: &Path, job: &Job) -> Result<()> {
    let mut command = Command::new("bash");
    command.arg(script).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = command.spawn().context("cannot start bash")?;
    let (id, logs) = (child.id(), job.logs.join(&job.name));
    say!("{}, logs in {}-0.log and so on; kill {id} stops them in order", counted(job.tasks, "worker"), logs.display());
    Ok(())
}
