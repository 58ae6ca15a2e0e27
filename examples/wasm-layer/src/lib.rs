//! A multiplication unit that JavaScript trains on rows of its own: numbers go through one buffer, so no glue code is needed.
//!
//! 1. `buffer(length)` makes room for numbers and says where they are in `memory`.
//! 2. `train(inputs)` takes the buffer as rows of so many inputs and a target.
//! 3. `predict()` takes the buffer as one row of inputs.

#![expect(unsafe_code, reason = "a function that JavaScript calls has to keep its name")]

use nalm::{Config, Error, Network, Nmu, Split, Stopping, Table, TableTask, train_until};
use std::cell::RefCell;

thread_local! {
    static BUFFER: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
    static TRAINED: RefCell<Option<(Network<f64>, Vec<f64>)>> = const { RefCell::new(None) };
}

/// Makes room for so many numbers and returns their address. It holds until the next call; `memory.buffer` may be another one afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn buffer(length: usize) -> *mut f64 {
    BUFFER.with_borrow_mut(|numbers| {
        numbers.clear();
        numbers.resize(length, 0.0);
        numbers.as_mut_ptr()
    })
}

/// Trains a unit with so many inputs on the rows in the buffer. Returns the mean squared error on rows that were kept for the test, or NaN if
/// these rows cannot be trained on.
#[unsafe(no_mangle)]
pub extern "C" fn train(inputs: usize) -> f64 {
    let trained = BUFFER.with_borrow(|numbers| train_on(numbers, inputs));
    let error = trained.as_ref().map_or(f64::NAN, |(_, _, error)| *error);
    TRAINED.set(trained.ok().map(|(network, params, _)| (network, params)));
    error
}

/// The unit's output for the inputs in the buffer; NaN without a trained unit, or if these are not its inputs.
#[unsafe(no_mangle)]
pub extern "C" fn predict() -> f64 {
    TRAINED
        .with_borrow(|trained| {
            let (network, params) = trained.as_ref()?;
            let outputs = BUFFER.with_borrow(|inputs| network.predict(params, inputs)).ok()?;
            (outputs.len() == 1).then(|| outputs[0])
        })
        .unwrap_or(f64::NAN)
}

fn train_on(numbers: &[f64], inputs: usize) -> Result<(Network<f64>, Vec<f64>, f64), Error> {
    if inputs >= numbers.len() || !numbers.len().is_multiple_of(inputs + 1) {
        let what = "numbers in the buffer, as whole rows of inputs and a target".into();
        return Err(Error::Shape { what, got: numbers.len(), want: inputs.saturating_add(1) });
    }
    let network = Network::single(Nmu::new(inputs, 1)?);
    let rows = numbers.chunks_exact(inputs + 1);
    let names: Vec<String> = (0..=inputs).map(|column| format!("x{column}")).collect();
    let columns = names.iter().enumerate().map(|(k, name)| (name.as_str(), rows.clone().map(|row| row[k]).collect()));
    let table = Table::new(columns)?;

    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let split = Split::Random { validation: 0.2, test: 0.2 };
    let task = TableTask::new(table, &names[..inputs], names[inputs], split, TableTask::GOAL)?;
    let config = Config::published(&network).ramp(5_000, 10_000);
    let outcome = train_until(&network, &task, 0, &config, &Stopping::default(), &mut ())?;
    Ok((network, outcome.params, outcome.test_error))
}
