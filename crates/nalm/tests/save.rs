//! Networks and training states survive a file to the bit.

use nalm::module::{self, Dispatch};
use nalm::train::resume;
use nalm::{Compiled, Config, Network, Recurrent, Rng, SingleModule, Snmu, Stream, rng::Purpose, save, train};

fn bits<R: nalm::Real>(numbers: &[R]) -> Vec<u64> {
    numbers.iter().map(|x| x.bits()).collect()
}

fn round_trip<R: Compiled>(network: &Network<R>) {
    let mut params = vec![R::ZERO; network.param_len()];
    network.init(&mut params, &mut Rng::fast("save", Purpose::Init));
    let bytes = save::to_bytes(network, &params).unwrap();
    let (again, read) = save::from_bytes::<R>(&bytes, &module::find).unwrap();
    assert_eq!(bits(&read), bits(&params), "{}", network.name());
    assert_eq!(again.architecture(), network.architecture());
    let rows: Vec<R> = (0..7 * network.shape().inputs).map(|k| R::of(0.5 + 0.1 * k as f64)).collect();
    let outputs = |network: &Network<R>| bits(&network.predict(&params, &rows).unwrap());
    assert_eq!(outputs(&again), outputs(network), "{}", network.name());
    assert_eq!(save::to_bytes(&again, &read).unwrap(), bytes, "equal networks have equal bytes");
}

fn every<R: Compiled>() {
    for spec in module::list::<R>() {
        let unit = (spec.build)(nalm::Shape::new(2, 1).unwrap(), &nalm::Options::new()).unwrap();
        round_trip(&Network::new(vec![unit]).unwrap());
    }
    let noise = nalm::Noise::LogUniform { low: 0.1, high: 1.0 / 3.0 };
    let stack: Vec<Box<dyn Dispatch<R>>> = vec![
        Box::new(nalm::Nau::new(6, 4).unwrap()),
        Box::new(Recurrent::every_state(Box::new(Snmu::new(2, 1).unwrap()), 4, 0.1).unwrap()),
        Box::new(Snmu::with(4, 3, noise, nalm::Denoiser::default()).unwrap().starting_in(0.1, 0.7).unwrap()),
        Box::new(nalm::Mlp::new(3, 5, 2).unwrap()),
    ];
    round_trip(&Network::new(stack).unwrap());
    round_trip(&Network::<R>::single(Recurrent::new(Box::new(Snmu::new(3, 1).unwrap()), 4, 1.0).unwrap()));
}

#[test]
fn every_listed_module_and_a_stack_come_back_to_the_bit() {
    every::<f32>();
    every::<f64>();
}

#[test]
fn files_of_others_of_newer_versions_and_of_other_numbers_are_refused() {
    let network = Network::<f32>::single(nalm::Nmu::new(2, 1).unwrap());
    let bytes = save::to_bytes(&network, &[1.0, 0.5]).unwrap();
    let fail = |bytes: &[u8]| save::from_bytes::<f32>(bytes, &module::find).unwrap_err().to_string();
    let change = |from: &str, to: &str| {
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let mut changed = bytes.clone();
        changed[at..at + from.len()].copy_from_slice(to.as_bytes());
        changed
    };
    let start = "cannot use this file of tensors: ";
    let newer = "its form is version 7, and this program reads 1; use a newer one";
    assert_eq!(fail(&change("nalm 1", "nalm 7")), format!("{start}{newer}"));
    let others = "it does not say how the network is built; nalm did not write it";
    assert_eq!(fail(&nalm::tensor::to_bytes::<f32>(&[], None).unwrap()), format!("{start}{others}"));
    let double = save::from_bytes::<f64>(&bytes, &module::find).unwrap_err().to_string();
    assert_eq!(double, format!("{start}its numbers are f32, and f64 were asked for"));
    assert_eq!(
        fail(&change("layer nmu", "layer nmx")).split(" (valid").next().unwrap(),
        "layer 1 (nmx): unknown module 'nmx'; did you mean 'nmu'?"
    );
    assert!(fail(&change("2->1", "3->1")).contains("numbers in layer1.nmu: got 2, but 3 is needed"));
    assert!(fail(&bytes[..bytes.len() - 1]).starts_with(start));
    assert!(
        save::to_bytes(&network, &[1.0]).unwrap_err().to_string().contains("parameters of nmu: got 1, but 2 is needed")
    );
    let none = save::training_from_bytes::<f32>(&bytes, &module::find).unwrap_err().to_string();
    assert!(none.contains("a network without the state of its training"), "{none}");
}

/// Stopped, saved, read and resumed is never stopped, for every listed module and both streams.
#[test]
fn training_goes_on_from_a_file_as_if_nothing_had_happened() {
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0).unwrap();
    for stream in [Stream::Fast, Stream::Reference] {
        for spec in module::list::<f32>() {
            let unit = (spec.build)(nalm::Shape::new(2, 1).unwrap(), &nalm::Options::new()).unwrap();
            let network = Network::new(vec![unit]).unwrap();
            let config = |steps| Config {
                validation: 50,
                test: 50,
                log_every: 10,
                stream,
                ..Config::published(&network).steps(steps)
            };
            let whole = train(&network, &task, 3, &config(60), &mut ()).unwrap();
            let first = train(&network, &task, 3, &config(25), &mut ()).unwrap();
            let bytes = save::training_to_bytes(&network, first.state.as_ref().unwrap()).unwrap();
            let (again, state) = save::training_from_bytes::<f32>(&bytes, &module::find).unwrap();
            assert_eq!(state.step, 25);
            let second = resume(&again, &task, 3, &config(60), &state, &mut ()).unwrap();
            assert_eq!(bits(&second.params), bits(&whole.params), "{} {stream}", spec.name);
            assert_eq!(second.rows, whole.rows[3..], "{} {stream}", spec.name);
            assert_eq!(second.state, whole.state, "{} {stream}", spec.name);
        }
    }
}

/// What acts by the last validation error goes on acting by it, and not only from the next evaluation on.
#[test]
fn penalties_that_look_at_the_validation_error_are_not_interrupted() {
    use nalm::{Penalty, Schedule};
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0).unwrap();
    let network = Network::<f32>::single(nalm::Nmu::new(2, 1).unwrap());
    let schedule = Schedule::Delayed { after: 5, validation_below: 1e9 };
    let config = |steps| Config {
        validation: 50,
        test: 50,
        log_every: 10,
        penalties: vec![Penalty { strength: 0.5, schedule }],
        ..Config::published(&network).steps(steps)
    };
    let whole = train(&network, &task, 3, &config(60), &mut ()).unwrap();
    let first = train(&network, &task, 3, &config(23), &mut ()).unwrap();
    let state = first.state.unwrap();
    let second = resume(&network, &task, 3, &config(60), &state, &mut ()).unwrap();
    assert_eq!(bits(&second.params), bits(&whole.params));
    assert!(second.best_params.is_some());
    let error = resume(&network, &task, 3, &config(23), &state, &mut ()).unwrap_err();
    assert_eq!(error.to_string(), "step to go on from is 23; it must be below the last step");
}

/// Words cannot say a recurrence of a recurrence, and so it is not saved as something else.
#[test]
fn what_words_cannot_make_again_is_refused() {
    let inner = Recurrent::<f32>::new(Box::new(nalm::Nmu::new(2, 1).unwrap()), 4, 1.0).unwrap();
    let outer = Network::single(Recurrent::new(Box::new(inner), 2, 1.0).unwrap());
    let error = save::to_bytes(&outer, &[1.0, 1.0]).unwrap_err().to_string();
    assert!(
        error.starts_with("saving the layer 'nmu 2->1 steps=2 state=1 start=0.25,0.75' is not available"),
        "{error}"
    );
}

/// A state with anything changed is refused or is another state, and never a panic.
#[test]
fn states_that_cannot_be_are_refused() {
    let network = Network::<f32>::single(nalm::Nmu::new(2, 1).unwrap());
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0).unwrap();
    let config = Config { validation: 50, test: 50, ..Config::published(&network).steps(5) };
    let state = train(&network, &task, 3, &config, &mut ()).unwrap().state.unwrap();
    let bytes = save::training_to_bytes(&network, &state).unwrap();
    let (tensors, text) = nalm::tensor::from_bytes::<f32>(&bytes).unwrap();
    let read = |tensors: &[nalm::tensor::Tensor], text: &str| {
        let bytes = nalm::tensor::to_bytes(tensors, Some(text)).unwrap();
        save::training_from_bytes::<f32>(&bytes, &module::find).map(|(_, state)| state)
    };
    assert_eq!(read(&tensors, &text).unwrap(), state);
    for (from, to) in
        [("powers ", "powers zz "), ("step 5", "step -1"), ("starts 0", "starts x"), ("validation ", "validation g")]
    {
        assert!(read(&tensors, &text.replace(from, to)).is_err(), "{to}");
    }
    for spoil in [f32::NAN, -3.0, 1.5, 70_000.0] {
        let mut changed = tensors.clone();
        changed.iter_mut().find(|tensor| tensor.name == "noise").unwrap().data[4] = spoil;
        assert!(read(&changed, &text).is_err(), "{spoil}");
    }
    for steps in ["4611686018427387904", "18446744073709551615"] {
        let huge = text.replace("layer nmu 2->1", &format!("layer nmu 5->4 steps={steps} state=1 output=every"));
        assert!(read(&tensors, &huge).is_err(), "{steps}");
    }
}
