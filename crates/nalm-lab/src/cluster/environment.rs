//! What schedulers tell a process about its place among others, as data: which variables, and from where they count.

use super::Shard;
use crate::error::{Error, Result, ensure};

/// The value of an environment variable by its name, if it is set.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// How a scheduler numbers what it starts.
struct Numbering {
    index: &'static str,
    /// The variable with the first number, or that number where none tells it.
    first: Result<&'static str, usize>,
    /// How many there are, if anything tells it.
    size: Size,
}

enum Size {
    /// A variable with the last number and one with the distance between two.
    Last(&'static str, &'static str),
    Count(&'static str),
    Untold,
}

/// Array tasks. HyperQueue comes first: its workers run inside allocations of the others, and its tasks inherit their variables.
const ARRAYS: &[Numbering] = &[
    Numbering { index: "HQ_TASK_ID", first: Err(0), size: Size::Untold },
    Numbering {
        index: "SLURM_ARRAY_TASK_ID",
        first: Ok("SLURM_ARRAY_TASK_MIN"),
        size: Size::Last("SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"),
    },
    // Counts from 1; 0 is a job that is no array.
    Numbering { index: "LSB_JOBINDEX", first: Err(1), size: Size::Last("LSB_JOBINDEX_END", "LSB_JOBINDEX_STEP") },
    Numbering { index: "PBS_ARRAY_INDEX", first: Err(0), size: Size::Untold },
    Numbering { index: "PBS_ARRAYID", first: Err(0), size: Size::Untold },
    // Counts from 1 unless told otherwise; "undefined" is a job that is no array.
    Numbering {
        index: "SGE_TASK_ID",
        first: Ok("SGE_TASK_FIRST"),
        size: Size::Last("SGE_TASK_LAST", "SGE_TASK_STEPSIZE"),
    },
];

/// Processes of one job. Open MPI and its like start their own by one step of Slurm per node, and so come before it. Slurm's own variables are those
/// of a step: a batch script, which is one process, has SLURM_NTASKS, too.
const RANKS: &[Numbering] = &[
    Numbering { index: "OMPI_COMM_WORLD_RANK", first: Err(0), size: Size::Count("OMPI_COMM_WORLD_SIZE") },
    Numbering { index: "MV2_COMM_WORLD_RANK", first: Err(0), size: Size::Count("MV2_COMM_WORLD_SIZE") },
    Numbering { index: "PMI_RANK", first: Err(0), size: Size::Count("PMI_SIZE") },
    Numbering { index: "SLURM_PROCID", first: Err(0), size: Size::Count("SLURM_STEP_NUM_TASKS") },
];

/// A number that a variable holds.
fn number(variables: &Variables<'_>, name: &str) -> Option<usize> {
    variables(name)?.trim().parse().ok()
}

/// A place among others, and how many there are, if that is told.
type Place = (usize, Option<usize>);

/// What one numbering says; nothing if it does not apply.
fn place(variables: &Variables<'_>, numbering: &Numbering) -> Result<Option<Place>> {
    let Numbering { index, first, size } = numbering;
    let first = match first {
        Ok(name) => number(variables, name).unwrap_or(1),
        Err(first) => *first,
    };
    let Some(found) = number(variables, index).filter(|found| *found >= first) else { return Ok(None) };
    let (step, count) = match size {
        Size::Untold => (1, None),
        Size::Count(name) => (1, number(variables, name)),
        Size::Last(last, step) => {
            let step = number(variables, step).unwrap_or(1).max(1);
            (step, number(variables, last).map(|last| last.saturating_sub(first) / step + 1))
        }
    };
    // Without their number, ranks say nothing: a variable of an outer program may be left over.
    if count.is_none() && !matches!(size, Size::Untold) {
        return Ok(None);
    }
    ensure!(
        (found - first) % step == 0,
        "{index} is {found}, which is not among the numbers from {first} in steps of {step}; say --shard I/N"
    );
    Ok(Some(((found - first) / step, count)))
}

/// The part of a process by the variables of its scheduler, and the variable that told it; of `of` parts where that was said. Everything, if no
/// scheduler started it. Tasks of an array that consist of several processes are divided further.
pub(super) fn shard(variables: &Variables<'_>, of: Option<usize>) -> Result<(Shard, Option<&'static str>)> {
    let first = |all: &'static [Numbering]| -> Result<Option<(&'static str, Place)>> {
        for one in all {
            if let Some(found) = place(variables, one)? {
                return Ok(Some((one.index, found)));
            }
        }
        Ok(None)
    };
    let array = first(ARRAYS)?;
    let inherited = array.as_ref().is_some_and(|(name, _)| *name == "HQ_TASK_ID");
    let rank = if inherited { None } else { first(RANKS)? };
    let (ranks, own) = match rank {
        Some((_, (rank, Some(ranks)))) => (ranks, rank),
        _ => (1, 0),
    };
    let told = match (array, of) {
        (Some((name, (_, None))), None) => {
            let text = format!(
                "{name} says which task this is, but not of how many: say --shard auto/N with their number, counted from 0"
            );
            return Err(Error::Request(text));
        }
        (Some((name, (index, count))), of) => {
            let count = of.map_or(count, |of| Some(of / ranks)).unwrap_or(1);
            Some((name, index * ranks + own, count * ranks))
        }
        (None, of) => rank.map(|(name, _)| (name, own, of.unwrap_or(ranks))),
    };
    let Some((name, index, count)) = told else { return Ok((Shard::new(0, of.unwrap_or(1))?, None)) };
    ensure!(
        index < count && own < ranks,
        "{name} makes this task {index} of {count}; tasks are counted from 0, so number the array from 0 to {}",
        count.saturating_sub(1)
    );
    Ok((Shard::new(index, count)?, Some(name)))
}

/// Processors that a scheduler gives to a process: a variable that holds their number, or a list of them.
struct Processors {
    name: &'static str,
    /// Only if this is set, too: the name alone is nobody's own.
    beside: Option<&'static str>,
    /// How many processes share them.
    shared_by: Option<&'static str>,
}

const LOCAL: Option<&str> = Some("OMPI_COMM_WORLD_LOCAL_SIZE");

const PROCESSORS: &[Processors] = &[
    Processors { name: "HQ_CPUS", beside: None, shared_by: None },
    Processors { name: "SLURM_CPUS_PER_TASK", beside: None, shared_by: None },
    Processors { name: "SLURM_CPUS_ON_NODE", beside: None, shared_by: Some("SLURM_STEP_TASKS_PER_NODE") },
    Processors { name: "LSB_DJOB_NUMPROC", beside: None, shared_by: LOCAL },
    Processors { name: "NSLOTS", beside: Some("SGE_TASK_ID"), shared_by: LOCAL },
    Processors { name: "NCPUS", beside: Some("PBS_JOBID"), shared_by: LOCAL },
];

/// How many threads the scheduler allows this process, if one started it.
pub fn threads(variables: &Variables<'_>) -> Option<usize> {
    PROCESSORS.iter().find_map(|one| {
        let text = variables(one.name)?;
        one.beside.is_none_or(|name| variables(name).is_some()).then_some(())?;
        let own = if text.contains(',') || one.name == "HQ_CPUS" {
            text.split(',').count()
        } else {
            text.trim().parse().ok()?
        };
        // Slurm writes 2(x3) for two on each of three nodes.
        let digits =
            |text: String| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse::<usize>().ok();
        let by = one.shared_by.and_then(variables).and_then(digits).unwrap_or(1).max(1);
        (own > 0).then(|| (own / by).max(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    }

    type Case<'a> = (&'a [(&'a str, &'a str)], Option<usize>, (usize, usize));

    #[test]
    fn every_scheduler_has_its_expected_part() {
        let slurm = [("SLURM_ARRAY_TASK_ID", "13"), ("SLURM_ARRAY_TASK_MIN", "10"), ("SLURM_ARRAY_TASK_MAX", "15")];
        let cases: &[Case<'_>] = &[
            // No scheduler, and jobs that are no arrays.
            (&[], None, (0, 1)),
            (&[], Some(4), (0, 4)),
            (&[("LSB_JOBINDEX", "0"), ("LSB_JOBINDEX_END", "0")], None, (0, 1)),
            (&[("SGE_TASK_ID", "undefined"), ("SGE_TASK_LAST", "undefined")], None, (0, 1)),
            (&[("SLURM_JOB_ID", "7"), ("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")], None, (0, 1)),
            // Slurm: from any number on, in any steps.
            (
                &[("SLURM_ARRAY_TASK_ID", "0"), ("SLURM_ARRAY_TASK_MIN", "0"), ("SLURM_ARRAY_TASK_MAX", "5")],
                None,
                (0, 6),
            ),
            (
                &[("SLURM_ARRAY_TASK_ID", "5"), ("SLURM_ARRAY_TASK_MIN", "0"), ("SLURM_ARRAY_TASK_MAX", "5")],
                None,
                (5, 6),
            ),
            (&slurm, None, (3, 6)),
            (
                &[
                    ("SLURM_ARRAY_TASK_ID", "9"),
                    ("SLURM_ARRAY_TASK_MIN", "1"),
                    ("SLURM_ARRAY_TASK_MAX", "10"),
                    ("SLURM_ARRAY_TASK_STEP", "4"),
                ],
                None,
                (2, 3),
            ),
            (&[("SLURM_PROCID", "2"), ("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_NTASKS", "8")], None, (2, 4)),
            (&[slurm[0], slurm[1], slurm[2], ("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "2")], None, (7, 12)),
            // LSF counts from 1.
            (&[("LSB_JOBINDEX", "1"), ("LSB_JOBINDEX_END", "6"), ("LSB_JOBINDEX_STEP", "1")], None, (0, 6)),
            (&[("LSB_JOBINDEX", "6"), ("LSB_JOBINDEX_END", "6")], None, (5, 6)),
            (&[("LSB_JOBINDEX", "5"), ("LSB_JOBINDEX_END", "5"), ("LSB_JOBINDEX_STEP", "2")], None, (2, 3)),
            // PBS, Torque and HyperQueue do not tell how many there are.
            (&[("PBS_ARRAY_INDEX", "5"), ("PBS_JOBID", "7[5]")], Some(6), (5, 6)),
            (&[("PBS_ARRAYID", "0")], Some(6), (0, 6)),
            (&[("HQ_TASK_ID", "2"), ("HQ_JOB_ID", "1")], Some(3), (2, 3)),
            (
                &[
                    ("HQ_TASK_ID", "2"),
                    slurm[0],
                    slurm[1],
                    slurm[2],
                    ("SLURM_PROCID", "1"),
                    ("SLURM_STEP_NUM_TASKS", "2"),
                ],
                Some(3),
                (2, 3),
            ),
            // SGE counts from 1, or from where it was told.
            (
                &[("SGE_TASK_ID", "1"), ("SGE_TASK_FIRST", "1"), ("SGE_TASK_LAST", "6"), ("SGE_TASK_STEPSIZE", "1")],
                None,
                (0, 6),
            ),
            (
                &[("SGE_TASK_ID", "6"), ("SGE_TASK_FIRST", "2"), ("SGE_TASK_LAST", "8"), ("SGE_TASK_STEPSIZE", "2")],
                None,
                (2, 4),
            ),
            (&[("SGE_TASK_ID", "6"), ("SGE_TASK_LAST", "6")], None, (5, 6)),
            // MPI, also when it was started by a step of Slurm per node.
            (&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "8")], None, (0, 8)),
            (
                &[
                    ("OMPI_COMM_WORLD_RANK", "7"),
                    ("OMPI_COMM_WORLD_SIZE", "8"),
                    ("SLURM_PROCID", "1"),
                    ("SLURM_STEP_NUM_TASKS", "2"),
                ],
                None,
                (7, 8),
            ),
            (&[("PMI_RANK", "3"), ("PMI_SIZE", "4")], None, (3, 4)),
            (&[("MV2_COMM_WORLD_RANK", "3"), ("MV2_COMM_WORLD_SIZE", "4")], None, (3, 4)),
            (&[("LSB_JOBINDEX", "2"), ("LSB_JOBINDEX_END", "3"), ("PMI_RANK", "1"), ("PMI_SIZE", "4")], None, (5, 12)),
        ];
        for (set, of, (index, count)) in cases {
            let (shard, told) = shard(&among(set), *of).unwrap();
            assert_eq!((shard.index(), shard.of()), (*index, *count), "{set:?}");
            assert!(told.is_none_or(|name| set.iter().any(|(known, _)| *known == name)), "{set:?}: {told:?}");
        }
    }

    /// All tasks of an array together have every part once.
    #[test]
    fn arrays_from_any_number_on_are_partitions() {
        for (first, last, step) in [(0, 5, 1), (1, 6, 1), (3, 20, 1), (1, 10, 3), (0, 9, 4)] {
            let all = (first..=last).step_by(step).map(|id| {
                let [id, first, last, step] = [id, first, last, step].map(|n| n.to_string());
                let set = [
                    ("SLURM_ARRAY_TASK_ID", &*id),
                    ("SLURM_ARRAY_TASK_MIN", &*first),
                    ("SLURM_ARRAY_TASK_MAX", &*last),
                    ("SLURM_ARRAY_TASK_STEP", &*step),
                ];
                shard(&among(&set), None).unwrap().0
            });
            let all: Vec<Shard> = all.collect();
            assert!(all.iter().enumerate().all(|(k, shard)| (shard.index(), shard.of()) == (k, all.len())), "{all:?}");
        }
    }

    #[test]
    fn what_cannot_be_a_part_is_refused_with_what_would_be_right() {
        for (set, of, hint) in [
            (&[("PBS_ARRAY_INDEX", "3")][..], None, "--shard auto/N"),
            (&[("HQ_TASK_ID", "3")], None, "--shard auto/N"),
            (&[("PBS_ARRAY_INDEX", "6")], Some(6), "from 0 to 5"),
            (&[("PMI_RANK", "4"), ("PMI_SIZE", "4")], None, "from 0 to 3"),
            (
                &[
                    ("SLURM_ARRAY_TASK_ID", "2"),
                    ("SLURM_ARRAY_TASK_MIN", "1"),
                    ("SLURM_ARRAY_TASK_MAX", "9"),
                    ("SLURM_ARRAY_TASK_STEP", "4"),
                ],
                None,
                "in steps of 4",
            ),
        ] {
            let error = shard(&among(set), of).unwrap_err().to_string();
            assert!(error.contains(hint), "{set:?}: {error}");
        }
    }

    #[test]
    fn threads_are_those_of_the_allocation() {
        for (set, want) in [
            (&[][..], None),
            (&[("SLURM_CPUS_PER_TASK", "4"), ("SLURM_CPUS_ON_NODE", "8")], Some(4)),
            (&[("SLURM_CPUS_ON_NODE", "8")], Some(8)),
            (&[("SLURM_CPUS_ON_NODE", "8"), ("SLURM_STEP_TASKS_PER_NODE", "4(x2)")], Some(2)),
            (&[("LSB_DJOB_NUMPROC", "6")], Some(6)),
            (&[("LSB_DJOB_NUMPROC", "6"), ("OMPI_COMM_WORLD_LOCAL_SIZE", "3")], Some(2)),
            (&[("NSLOTS", "3"), ("SGE_TASK_ID", "undefined")], Some(3)),
            (&[("NCPUS", "3")], None),
            (&[("NCPUS", "3"), ("PBS_JOBID", "7")], Some(3)),
            (&[("HQ_CPUS", "0,2,5"), ("SLURM_CPUS_PER_TASK", "64")], Some(3)),
            (&[("HQ_CPUS", "4")], Some(1)),
            (&[("SLURM_CPUS_PER_TASK", "none")], None),
            (&[("SLURM_CPUS_PER_TASK", "0")], None),
        ] {
            assert_eq!(threads(&among(set)), want, "{set:?}");
        }
    }
}
