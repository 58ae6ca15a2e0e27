//! Experiments are data: a TOML file as written, and the same thing checked and complete.

mod checker;
mod claim;
mod study;
mod written;

pub(crate) use claim::{Claim, Expectation};
pub(crate) use study::{Study, load, load_all, names, presets};

use crate::figure::Kind;
use crate::runspec::RunSpec;
use checker::check;
use std::ops::Range;
use std::path::Path;

/// An experiment, checked and complete.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) analysis: String,
    pub(crate) preset: String,
    /// The command that makes it.
    pub(crate) command: String,
    pub(crate) figures: Vec<Kind>,
    pub(crate) sections: Vec<Section>,
    /// Labels of the models, in the order of the file.
    pub(crate) models: Vec<String>,
    pub(crate) runs: Vec<RunSpec>,
    /// Section after section, model after model, range after range.
    pub(crate) groups: Vec<Group>,
    pub(crate) expectations: Vec<Expectation>,
    /// Models that the others are compared with, seed by seed.
    pub(crate) baselines: Vec<usize>,
}

/// A part of an experiment with one problem.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Empty if the experiment has only one.
    pub(crate) name: String,
    pub(crate) ranges: Vec<String>,
    /// Starting weights along each side of the unit square, where runs differ by these and not by seed.
    pub(crate) grid: Option<usize>,
    /// What takes the place of the ranges, where something else is varied.
    pub(crate) axis: Option<&'static str>,
}

/// The runs of one model on one range: those that differ by seed only.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) section: usize,
    pub(crate) model: usize,
    pub(crate) range: String,
    /// Places in [`Experiment::runs`].
    pub(crate) runs: Range<usize>,
}

/// What the command line changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) preset: Option<String>,
    pub(crate) seeds: Option<u64>,
    pub(crate) steps: Option<u64>,
    pub(crate) stream: Option<String>,
    /// Options of every model, as TOML values.
    pub(crate) set: Vec<(String, toml::Value)>,
}

impl Overrides {
    /// As they are typed, the preset excepted.
    pub(crate) fn typed(&self) -> String {
        let quoted = |text: String| if text.contains(['"', '\'', ' ', '[']) { format!("'{text}'") } else { text };
        let flag = |name: &str, value: Option<String>| value.map(|value| format!(" --{name} {value}"));
        let flags = [
            flag("seeds", self.seeds.map(|n| n.to_string())),
            flag("steps", self.steps.map(|n| n.to_string())),
            flag("stream", self.stream.clone()),
        ];
        let set = self.set.iter().map(|(key, value)| format!(" --set {}", quoted(format!("{key}={value}"))));
        flags.into_iter().flatten().chain(set).collect()
    }

    /// A preset and nothing else.
    pub(crate) fn preset(name: &str) -> Self {
        Self { preset: Some(name.into()), ..Self::default() }
    }
}

/// What to type for an experiment: its name, or its file if it did not come with the binary.
pub(crate) fn command(name: &str, path: &Path, preset: &str, overrides: &Overrides) -> String {
    let own = path.display().to_string();
    let given = if names().contains(&name) && own == format!("experiments/{name}.toml") { name } else { &own };
    format!("nalm reproduce {given} --preset {preset}{}", overrides.typed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_experiment_and_preset_is_sound() {
        for name in names() {
            for preset in presets(name) {
                let study = load(name, &Overrides::preset(preset));
                let study = study.unwrap_or_else(|error| panic!("{name} {preset}: {error:#}"));
                let mut ids = study.ids();
                let runs = ids.len();
                ids.sort();
                ids.dedup();
                assert_eq!(ids.len(), runs, "{name} {preset} runs something twice");
                assert!(!study.title().is_empty() && study.preset() == *preset);
                let (figures, analysis, grouped) = match &study {
                    Study::Numbers(e) => {
                        (e.figures.len(), &e.analysis, e.groups.iter().map(|group| group.runs.len()).sum::<usize>())
                    }
                    Study::Images(e) => {
                        (e.figures.len(), &e.analysis, e.groups.iter().map(|group| group.runs.len()).sum())
                    }
                };
                assert!(figures > 0 && !analysis.is_empty(), "{name}");
                assert_eq!(grouped, runs, "{name} {preset}");
            }
        }
    }

    #[test]
    fn every_experiment_file_is_built_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let mut known = names();
        files.sort();
        known.sort_unstable();
        assert_eq!(files, known);
    }

    #[test]
    fn mistakes_are_named_with_file_line_and_nearest_name() {
        let good = include_str!("../../../../experiments/single-module-snmu.toml");
        for (from, to, hints) in [
            ("module = \"snmu\"", "module = \"smnu\"", ["line", "did you mean 'snmu'"]),
            ("task = \"single-module\"", "task = \"single-modul\"", ["line", "did you mean 'single-module'"]),
            ("title =", "titel =", ["bad.toml", "titel"]),
            ("title =", "figures = [\"facet\"]\ntitle =", ["line 2", "did you mean 'facets'"]),
            ("title =", "operation = \"mull\"\ntitle =", ["line 2", "did you mean 'mul'"]),
            ("\"U[-2,-1)\"", "\"U[-1,-2)\"", ["line", "above the lower bound"]),
            ("default_preset = \"paper\"", "default_preset = \"papr\"", ["bad.toml", "did you mean 'paper'"]),
            ("success = 1.0", "success = 1.0\nbelow = 1.0", ["line", "exactly one"]),
            ("model = \"snmu\"", "model = \"snm\"", ["line", "did you mean 'snmu'"]),
        ] {
            assert!(good.contains(from), "{from}");
            let overrides = match from {
                "\"U[-2,-1)\"" => Overrides::preset("smoke"),
                _ => Overrides::default(),
            };
            let error = check("bad", Path::new("bad.toml"), &good.replacen(from, to, 1), &overrides).unwrap_err();
            let message = format!("{error:#}");
            assert!(hints.iter().all(|hint| message.contains(hint)), "{message}");
        }
    }

    #[test]
    fn mistakes_in_schedules_and_axes_are_named() {
        let ranges = include_str!("../../../../experiments/arithmetic-all-ranges.toml");
        let limits = include_str!("../../../../experiments/second-order-limits.toml");
        for (good, from, to, hints) in [
            (ranges, "schedule = \"equal-time\"", "schedule = \"equal-tim\"", ["line", "did you mean 'equal-time'"]),
            (ranges, "steps = 24800, ramp", "steps = 0, ramp", ["schedule equal-samples", "steps of a phase is 0"]),
            (ranges, "optimiser = \"adam\"", "optimiser = \"adamm\"", ["phase 1", "did you mean 'adam'"]),
            (limits, "axis = \"overlap\"", "axis = \"overlapp\"", ["line", "did you mean 'overlap'"]),
            (limits, "values = [20]", "values = [2.5]", ["section inputs", "a whole number"]),
            (limits, "values = [0.25]", "values = [1.25]", ["section subset ratio", "subset ratio is 1.25"]),
            (limits, "values = [0.05]", "", ["smoke", "no values"]),
        ] {
            assert!(good.contains(from), "{from}");
            let error = check("bad", Path::new("bad.toml"), &good.replacen(from, to, 1), &Overrides::preset("smoke"));
            let message = format!("{:#}", error.unwrap_err());
            assert!(hints.iter().all(|hint| message.contains(hint)), "{message}");
        }
    }

    #[test]
    fn an_axis_takes_the_place_of_the_ranges() {
        let experiment = load("second-order-limits", &Overrides::preset("paper")).unwrap().numbers().unwrap();
        let name = "label noise on U[1.1,1.2)";
        let place = experiment.sections.iter().position(|section| section.name == name).unwrap();
        let section = &experiment.sections[place];
        assert_eq!(section.axis, Some("Relative deviation of the labels"));
        assert_eq!(section.ranges, ["1e-7", "1e-6", "1e-5", "1e-4", "0.001", "0.01"]);
        for group in experiment.groups.iter().filter(|group| group.section == place) {
            let run = &experiment.runs[group.runs.start];
            let noise = run.problem.as_ref().and_then(|problem| problem.label_noise).unwrap();
            assert_eq!((group.range.parse::<f64>().unwrap(), run.range.as_str()), (noise, "U[1.1,1.2)"));
        }
    }

    #[test]
    fn options_can_be_set_for_every_model() {
        let set = |key: &str, value: toml::Value| Overrides { set: vec![(key.into(), value)], ..Overrides::default() };
        let experiment = load("single-module", &set("learning_rate", 0.01.into())).unwrap().numbers().unwrap();
        assert!(experiment.runs.iter().all(|run| run.options.learning_rate == Some(0.01)));
        let error = load("single-module", &set("learning_rat", 0.01.into())).unwrap_err();
        assert!(error.to_string().contains("did you mean 'learning_rate'"), "{error}");
        let error = load("single-module", &set("learning_rate", "fast".into())).unwrap_err();
        assert!(error.to_string().contains("--set learning_rate"), "{error}");
        let Study::Images(experiment) = load("mnist-isolated", &set("batch", 64.into())).unwrap() else {
            panic!("images")
        };
        assert!(experiment.runs.iter().all(|run| run.settings.batch == Some(64)));
        let error = load("mnist-isolated", &set("learning_rate", 0.01.into())).unwrap_err();
        assert!(error.to_string().contains("unknown field `learning_rate`"), "{error}");
    }
}
