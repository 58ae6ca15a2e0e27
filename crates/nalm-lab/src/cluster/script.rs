//! Scripts for schedulers: what each wants to be told, as data, around one body that all have in common.

use crate::error::{Error, Result};
pub use crate::files::quoted;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A job that consists of equal tasks, each of which is one worker.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name, without spaces.
    pub name: String,
    /// What it is about, as lines of a comment.
    pub about: Vec<String>,
    /// The folder in which everything is relative.
    pub folder: PathBuf,
    /// Where logs go.
    pub logs: PathBuf,
    /// The command of a worker without its part: `nalm run …`.
    pub command: Vec<String>,
    /// How many tasks.
    pub tasks: usize,
    /// Processors of each.
    pub cpus: usize,
    /// Seconds that a task may take; 0 for as long as it likes, on this machine.
    pub seconds: u64,
    /// Seconds before that at which a worker is told to come to an end.
    pub warning: u64,
    /// Further lines for the scheduler, such as `--partition=long`.
    pub directives: Vec<String>,
}

/// A scheduler that scripts can be written for.
#[derive(Debug)]
pub struct Scheduler {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its own name.
    pub label: &'static str,
    /// The command that submits a script.
    pub command: &'static str,
    /// Arguments before the script; nothing if the script comes on the standard input.
    arguments: Option<&'static [&'static str]>,
    /// What begins a line for it.
    prefix: &'static str,
    directives: fn(&Job) -> Vec<String>,
    /// Whether it tells how many tasks there are.
    tells_size: bool,
    /// Whether it warns before the time is up.
    warns: bool,
    /// What starts a task again that was warned, and what that does.
    again: Option<&'static str>,
}

/// Waits for a worker. A signal interrupts `wait`, which then says more than 128. A shell that is interrupted just as the worker ends may say 255, or may
/// have forgotten the code when it is asked again: all that is known then is that the worker was told to stop and has stopped.
const ENDED: &str = r#"told=0
# The code that a worker ends with; a signal interrupts waiting.
ended() {
  wait "$1"
  code=$?
  while [ "$code" -gt 128 ] && kill -0 "$1" 2>/dev/null; do
    wait "$1"
    code=$?
  done
  # It may have ended right after a signal.
  if [ "$code" -gt 128 ]; then
    wait "$1" 2>/dev/null
    again=$?
    if [ "$again" -lt 127 ]; then
      code=$again
    elif [ "$told" = 1 ]; then
      # The shell has forgotten the code. Workers that are told to stop end with 75.
      case $code in 130 | 143 | 255 | $((128 + $(kill -l USR1)))) code=75 ;; esac
    fi
  fi
}
"#;

/// All of them.
pub const SCHEDULERS: &[Scheduler] = &[
    Scheduler {
        name: "slurm",
        label: "Slurm",
        command: "sbatch",
        arguments: Some(&[]),
        prefix: "#SBATCH",
        directives: |job| {
            vec![
                format!("--job-name={}", job.name),
                format!("--array=0-{}", job.tasks - 1),
                "--ntasks=1".into(),
                format!("--cpus-per-task={}", job.cpus),
                format!("--time={}", clock(job.seconds.next_multiple_of(60))),
                format!("--signal=B:USR1@{}", job.warning),
                "--requeue".into(),
                "--open-mode=append".into(),
                format!("--output={}-%A_%a.log", log(job)),
            ]
        },
        tells_size: true,
        warns: true,
        again: Some("scontrol requeue \"${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}\" && exit 0"),
    },
    Scheduler {
        name: "lsf",
        label: "LSF",
        command: "bsub",
        arguments: None,
        prefix: "#BSUB",
        directives: |job| {
            let minutes = job.seconds.div_ceil(60);
            vec![
                format!("-J \"{}[1-{}]\"", job.name, job.tasks),
                format!("-n {}", job.cpus),
                "-R \"span[hosts=1]\"".into(),
                format!("-W {}:{:02}", minutes / 60, minutes % 60),
                format!("-wt {} -wa USR1", job.warning.div_ceil(60)),
                "-r".into(),
                "-Q \"75\"".into(),
                format!("-o {}-%J_%I.log", log(job)),
            ]
        },
        tells_size: true,
        warns: true,
        again: Some("exit 75 # which -Q makes LSF start again"),
    },
    Scheduler {
        name: "pbs",
        label: "PBS",
        command: "qsub",
        arguments: Some(&[]),
        prefix: "#PBS",
        directives: |job| {
            // An array of one is none.
            let array = (job.tasks > 1).then(|| format!("-J 0-{}", job.tasks - 1));
            let rest = [
                format!("-l select=1:ncpus={}", job.cpus),
                format!("-l walltime={}", clock(job.seconds)),
                "-r y".into(),
                "-j oe".into(),
                format!("-o {}", job.logs.display()),
            ];
            std::iter::once(format!("-N {}", short(&job.name))).chain(array).chain(rest).collect()
        },
        tells_size: false,
        warns: false,
        again: None,
    },
    Scheduler {
        name: "sge",
        label: "SGE",
        command: "qsub",
        arguments: Some(&[]),
        prefix: "#$",
        directives: |job| {
            vec![
                format!("-N {}", job.name),
                "-S /bin/bash".into(),
                format!("-t 1-{}", job.tasks),
                format!("-pe smp {}", job.cpus),
                format!("-l h_rt={}", clock(job.seconds)),
                format!("-l s_rt={}", clock(job.seconds - job.warning)),
                "-r y".into(),
                "-j y".into(),
                format!("-o {}-$JOB_ID.$TASK_ID.log", log(job)),
            ]
        },
        tells_size: true,
        warns: true,
        again: Some("exit 99 # which makes SGE start the task again"),
    },
    Scheduler {
        name: "hq",
        label: "HyperQueue",
        command: "hq",
        arguments: Some(&["submit"]),
        prefix: "#HQ",
        directives: |job| {
            vec![
                format!("--name={}", job.name),
                format!("--array=0-{}", job.tasks - 1),
                format!("--cpus={}", job.cpus),
                format!("--time-limit={}s", job.seconds),
                format!("--stdout={}-%{{JOB_ID}}_%{{TASK_ID}}.log", log(job)),
                format!("--stderr={}-%{{JOB_ID}}_%{{TASK_ID}}.log", log(job)),
            ]
        },
        tells_size: false,
        warns: false,
        again: None,
    },
    Scheduler {
        name: "local",
        label: "this machine",
        command: "bash",
        arguments: Some(&[]),
        prefix: "",
        directives: |_| Vec::new(),
        tells_size: false,
        warns: false,
        again: None,
    },
];

impl FromStr for &'static Scheduler {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let names: Vec<&str> = SCHEDULERS.iter().map(|scheduler| scheduler.name).collect();
        let found = SCHEDULERS.iter().find(|scheduler| scheduler.name == text);
        found.ok_or_else(|| nalm::Error::unknown("scheduler", text, &names).into())
    }
}

/// Seconds as hours, minutes and seconds.
fn clock(seconds: u64) -> String {
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// Older versions of PBS take no longer names.
fn short(name: &str) -> String {
    name.chars().take(15).collect()
}

/// What the names of all logs begin with. Schedulers split their lines at spaces.
fn log(job: &Job) -> String {
    job.logs.join(&job.name).display().to_string()
}

impl Scheduler {
    /// Whether it is this machine itself.
    pub fn is_local(&self) -> bool {
        self.prefix.is_empty()
    }

    /// The arguments with which a script is submitted; nothing if it comes on the standard input.
    pub fn submission(&self, script: &Path) -> Option<Vec<PathBuf>> {
        let arguments = self.arguments?.iter().map(PathBuf::from);
        Some(arguments.chain([script.to_path_buf()]).collect())
    }

    /// A script that carries the job out.
    pub fn script(&self, job: &Job) -> String {
        let mut text = String::from("#!/bin/bash\n");
        for line in &job.about {
            _ = writeln!(text, "# {}", line.replace(char::is_control, " "));
        }
        for line in (self.directives)(job).iter().chain(&job.directives) {
            _ = writeln!(text, "{} {}", self.prefix, line.replace(char::is_control, " "));
        }
        let command: Vec<String> = job.command.iter().map(|argument| quoted(argument)).collect();
        let (command, folder) = (command.join(" "), quoted(&job.folder.display().to_string()));
        // Where nobody else does, the worker is told in time.
        let limit = format!("timeout --preserve-status --signal=USR1 {}s ", job.seconds.saturating_sub(job.warning));
        let limit = if self.warns || job.seconds == 0 { "" } else { &limit };
        _ = write!(text, "\nset -u\ncd {folder} || exit 2\n");
        if self.is_local() {
            let (tasks, cpus) = (job.tasks, job.cpus);
            let list: Vec<String> = (0..tasks).map(|task| task.to_string()).collect();
            let list = list.join(" ");
            let log = quoted(&log(job));
            _ = write!(
                text,
                r#"mkdir -p {logs}

{ENDED}
# A signal lets workers finish their segments and save checkpoints; the same command continues.
workers=()
trap 'told=1; kill -USR1 "${{workers[@]}}" 2>/dev/null' TERM INT USR1
for task in {list}; do
  {limit}{command} --shard "$task/{tasks}" --steal --threads {cpus} >>{log}-"$task".log 2>&1 &
  workers+=("$!")
done
worst=0
for worker in "${{workers[@]}}"; do
  ended "$worker"
  [ "$code" -gt "$worst" ] && worst=$code
done
exit "$worst"
"#,
                logs = quoted(&job.logs.display().to_string()),
            );
            return text;
        }
        let part = match self.tells_size {
            true => "auto".into(),
            // A single task is no array.
            false if job.tasks == 1 && self.name == "pbs" => "0/1".into(),
            false => format!("auto/{}", job.tasks),
        };
        let (mark, told) = match self.again {
            Some(_) => ("warned=0\n", "trap 'warned=1; told=1; kill -USR1 \"$worker\" 2>/dev/null' USR1\n"),
            None => ("", "trap 'told=1; kill -USR1 \"$worker\" 2>/dev/null' USR1\n"),
        };
        _ = write!(
            text,
            r#"
{ENDED}
# A signal lets the worker finish its segment and save checkpoints. It then ends with 75, and goes on where it was when it is started again.
{mark}worker=
{told}trap 'told=1; kill -USR1 "$worker" 2>/dev/null' TERM INT
{limit}{command} --shard {part} --steal &
worker=$!
ended "$worker"
"#
        );
        _ = match self.again {
            Some(again) => write!(
                text,
                "if [ \"$code\" = 75 ] && [ \"$warned\" = 1 ]; then\n  echo \"The time is up; the task is started again.\"\n  {again}\nfi\n"
            ),
            None => writeln!(text, "[ \"$code\" = 75 ] && echo \"Stopped; nalm submit submits what is missing.\""),
        };
        // What LSF would start again was cancelled.
        text += if self.name == "lsf" { "[ \"$code\" = 75 ] && exit 143\n" } else { "" };
        text += "exit \"$code\"\n";
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_in_an_argument_is_one_word_for_a_shell() {
        for text in ["plain", "", "it's", "a b", "$HOME", "U[1,5]", "`ls`", "a\\b", "\"", "*", "noise=U[1,2];U[1,5]"] {
            let script = format!("printf %s {}", quoted(text));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
    }

    #[test]
    fn every_scheduler_is_found_by_its_name() {
        for scheduler in SCHEDULERS {
            assert_eq!(scheduler.name.parse::<&Scheduler>().unwrap().label, scheduler.label);
        }
        assert!("slrm".parse::<&Scheduler>().unwrap_err().to_string().contains("slurm"));
    }
}
