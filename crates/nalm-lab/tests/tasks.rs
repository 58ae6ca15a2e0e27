//! The built configuration of every task, and rows of the record run again.

use nalm_lab::Registry;
use nalm_lab::pool::{Order, Quiet, carry_out};
use nalm_lab::run::{Row, Spec};
use nalm_lab::store::Store;
use nalm_lab::task::{Built, Choices};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn record(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../record").join(name)
}

fn choices(module: &str, values: serde_json::Value) -> Choices {
    let values: BTreeMap<_, _> = values.as_object().unwrap().clone().into_iter().collect();
    Choices { module: Some(module.into()), values, ..Choices::default() }
}

fn built(task: &str, choices: &Choices) -> (Spec, Built) {
    let registry = Registry::default();
    let task = registry.catalogue.task(task).unwrap();
    let spec = task.specify(&registry.catalogue, choices).unwrap();
    let built = task.built(&registry.catalogue, &spec).unwrap().unwrap();
    (spec, built)
}

/// Steps, ramps, sizes and rates as they were published.
#[test]
fn tasks_are_built_as_published() {
    let (spec, single) = built("single-module", &choices("nmu", json!({})));
    assert_eq!((single.config.steps, single.config.batch, single.network.shape().inputs), (50_000, 128, 2));
    // The last step is evaluated whatever the interval; published lengths are multiples of it.
    let published = |network: &nalm::Network<f32>| nalm::Config { log_last: true, ..nalm::Config::published(network) };
    assert_eq!(single.config, published(&single.network).steps(50_000).ramp(20_000, 35_000));
    assert_eq!((spec.text("range"), spec.text("test_range"), spec.text("operation")), ("U[1,2)", "U[2,6)", "mul"));
    assert!((single.task.thresholds().flat, single.schedule.is_none()) == (Some(1e-5), true));
    let (spec, stack) = built("arithmetic", &choices("snmu", json!({"range": "U[-2,2)"})));
    assert_eq!(stack.config, published(&stack.network).steps(5_000_000).ramp(1_000_000, 2_000_000));
    assert_eq!(stack.network.layers().iter().map(|layer| layer.name()).collect::<Vec<_>>(), ["nau", "snmu"]);
    assert_eq!((stack.network.param_len(), spec.whole("inputs")), (202, Some(100)));
    assert_eq!(stack.task.thresholds().simulated, 0.000230715983456882);
    let (_, wide) = built("arithmetic", &choices("nmu", json!({"inputs": 40, "factors": 3})));
    assert_eq!((wide.network.param_len(), wide.network.layers()[0].shape().outputs), (40 * 3 + 3, 3));
    let (_, spare) = built("arithmetic", &choices("nmu", json!({"inputs": 40, "sums": 5})));
    assert_eq!(spare.network.layers()[0].shape().outputs, 5);
}

#[test]
fn settings_change_what_they_say() {
    let of = |values| built("single-module", &choices("nmu", values)).1.config;
    let published = of(json!({}));
    assert_eq!(of(json!({"ramp": [3, 9]})), published.clone().ramp(3, 9));
    assert_eq!(of(json!({"steps": 7})).steps, 7);
    assert_eq!(of(json!({"stream": "reference"})).stream, nalm::Stream::Reference);
    assert_eq!(of(json!({"learning_rate": 0.5})).optimiser, nalm::Optimiser::adam(0.5));
    assert!(published.clamp && !of(json!({"clamp": false})).clamp);
    assert_eq!(of(json!({"penalty": false})).penalties, [nalm::Penalty::NONE]);
    assert_eq!(of(json!({"gradient_noise": 0.25})).gradient_noise, Some(nalm::GradientNoise::new(0.25)));
    assert_eq!(of(json!({"weights": [0.5, 1.0]})).start, Some(vec![0.5, 1.0]));
    // What an alias stands for.
    let noisy = built("single-module", &choices("nmu-grad-noise", json!({}))).1.config;
    assert_eq!(noisy.gradient_noise, Some(nalm::GradientNoise::new(0.01)));
    assert_eq!(built("single-module", &choices("mlp-1", json!({}))).1.network.param_len(), 5);
    assert_eq!(built("single-module", &choices("mlp", json!({"hidden": 3}))).1.network.param_len(), 13);
}

/// Estimates that progress is told by: steps and evaluations in microseconds, added by hand.
#[test]
fn estimates_are_sums_of_their_parts() {
    let registry = Registry::default();
    let cost = |task: &str, module: &str, values| {
        let task = registry.catalogue.task(task).unwrap();
        task.cost(&task.specify(&registry.catalogue, &choices(module, values)).unwrap())
    };
    let near = |got: f64, want: f64| assert!((got - want).abs() < 1e-9 * want, "{got}, not {want}");
    // A step of 0.3 + 2 * 0.04 + 0.2 and 52 evaluations of 156 * 0.4 * 0.5 + 5 * 2.
    near(cost("single-module", "nmu", json!({})), 1e-6 * (50_000.0 * 0.58 + 52.0 * 41.2));
    // 10 inputs, drawn from reference streams: 0.3 + 10 * 0.25 + 0.2, and 7 evaluations of 31.2 + 50.
    let reference = json!({"inputs": 10, "steps": 5_000, "stream": "reference"});
    near(cost("single-module", "nmu", reference), 1e-6 * (5_000.0 * 3.0 + 7.0 * 81.2));
    // A hidden layer of 100: 0.3 + 0.08 + 6, and 3 evaluations of 156 * 0.4 * 6.3 + 10, whichever way it is called.
    let want = 1e-6 * (1_000.0 * 6.38 + 3.0 * 403.12);
    near(cost("single-module", "mlp", json!({"hidden": 100, "steps": 1_000})), want);
    near(cost("single-module", "mlp-100", json!({"steps": 1_000})), want);
}

/// Every specification in the record has the identity under which it was recorded, and is one that its task would make today.
#[test]
fn recorded_identities_survive() {
    let registry = Registry::default();
    for name in ["2026-11-16-numerical", "2026-11-16-mnist"] {
        let index = Store::at(record(name)).index().unwrap();
        assert!(
            index.entries().len() > 20 && index.torn == 0 && index.problems.is_empty(),
            "{name}: {:?}",
            index.problems
        );
        let contents = index.everything().unwrap();
        for row in contents.rows.values() {
            assert_eq!(row.spec.id(), row.id, "{name}");
        }
        // One in five hundred is made anew from its parts.
        for row in contents.rows.values().step_by(500) {
            let Ok(task) = registry.catalogue.task(row.spec.task()) else { continue };
            let map = row.spec.map();
            let taken = ["task", "module", "head", "options", "problem", "settings", "schedule", "seed", "numerics"];
            let top = map.iter().filter(|(key, _)| !taken.contains(&key.as_str()));
            let inner =
                ["options", "problem", "settings"].iter().filter_map(|key| map.get(*key)?.as_object()).flatten();
            let mut values: BTreeMap<_, _> =
                top.chain(inner).map(|(key, value)| (key.clone(), value.clone())).collect();
            let schedule = map.get("schedule").map(|value| serde_json::from_value(value.clone()).unwrap());
            if schedule.is_some() {
                values.remove("steps");
            }
            let choices = Choices {
                module: Some(row.spec.module().into()),
                layers: None,
                schedule,
                values,
                seed: row.spec.seed(),
            };
            let made =
                task.specify(&registry.catalogue, &choices).unwrap_or_else(|error| panic!("{}: {error}", row.id));
            // As of today, or of a version of the numerics whose rows will do.
            let earlier = registry.catalogue.with_earlier_numerics(&made);
            assert!(made == row.spec || earlier.contains(&row.spec), "{made:?} is not {:?}", row.spec);
        }
    }
}

/// A few short rows of the record, run again, are the same in every field.
#[test]
fn recorded_rows_are_made_again() {
    let registry = Registry::default();
    let contents = Store::at(record("2026-11-16-numerical")).index().unwrap().everything().unwrap();
    let mut wanted: BTreeMap<String, &Row> = BTreeMap::new();
    for row in contents.rows.values().filter(|row| row.spec.whole("steps").is_some_and(|steps| steps <= 50_000)) {
        let schedule = if row.spec.get("schedule").is_some() { "a schedule" } else { "steps" };
        let kind = format!("{} {} {} {schedule}", row.spec.task(), row.spec.module(), row.spec.text("stream"));
        wanted.entry(kind).or_insert(row);
    }
    assert!(wanted.len() > 20, "{:?}", wanted.keys());
    let runs: Vec<Spec> = wanted.values().map(|row| row.spec.clone()).collect();
    let mut compared = 0;
    let order = Order { runs: &runs, threads: 2, checkpoints: None };
    carry_out(&registry.catalogue, &order, &Quiet::default(), |finished| {
        for row in finished.iter().map(|finished| &finished.row) {
            assert_eq!(row.differences(&contents.rows[&row.id]), [""; 0], "{}", row.id);
            compared += 1;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(compared, runs.len());
}
