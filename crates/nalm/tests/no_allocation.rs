//! After the first step, a run allocates nothing: counted by the allocator itself.

#![allow(unsafe_code)]

use nalm::module;
use nalm::rng::Stream;
use nalm::task::{Arithmetic, SingleModule, Task};
use nalm::{Config, GradientNoise, Observer, train};
use nalm::{Dispatch, LoggedErrors, Nau, Network, Operation, Options, Shape, Snmu, Uniform};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Remembers the count after the first step and at the last one.
#[derive(Default)]
struct Watch {
    first: u64,
    last: u64,
    rows: u64,
}

impl Observer<f32> for Watch {
    fn logged(&mut self, _: &LoggedErrors, _: &[f32]) -> ControlFlow<()> {
        self.rows += 1;
        ControlFlow::Continue(())
    }

    fn stepped(&mut self, step: u64, _: f32, _: f32, _: &[f32]) -> ControlFlow<()> {
        let now = COUNT.with(Cell::get);
        if step == 0 {
            self.first = now;
        }
        self.last = now;
        ControlFlow::Continue(())
    }
}

fn allocations(network: &Network<f32>, task: &dyn Task<f32>, config: &Config) -> u64 {
    let mut watch = Watch::default();
    train(network, task, 0, config, &mut watch).unwrap();
    assert!(watch.rows >= 3, "evaluations are part of the loop");
    watch.last - watch.first
}

#[test]
fn the_counter_counts() {
    let before = COUNT.with(Cell::get);
    drop(std::hint::black_box(vec![1u8; 100]));
    assert_eq!(COUNT.with(Cell::get), before + 1);
}

#[test]
fn no_module_allocates_after_the_first_step() {
    let task = SingleModule::mul(1.0, 2.0, 2.0, 6.0).unwrap();
    for spec in module::list::<f32>() {
        let unit = (spec.build)(Shape::new(2, 1).unwrap(), &Options::default()).unwrap();
        let network = Network::new(vec![unit]).unwrap();
        for stream in [Stream::Fast, Stream::Reference] {
            let config = Config { log_every: 100, ..Config::published(&network).steps(300) }.stream(stream);
            assert_eq!(allocations(&network, &task, &config), 0, "{} {stream}", spec.name);
        }
    }
}

#[test]
fn stacks_and_training_options_do_not_allocate_either() {
    let range = |text: &str| text.parse::<Uniform>().unwrap();
    let task = Arithmetic::new(Operation::Mul, 100, 0.25, 0.5, range("U[-2,2)"), range("U[-6,-2)∪U[2,6)")).unwrap();
    let layers: Vec<Box<dyn Dispatch<f32>>> =
        vec![Box::new(Nau::new(100, 2).unwrap()), Box::new(Snmu::new(2, 1).unwrap())];
    let network = Network::new(layers).unwrap();
    let config = Config {
        log_every: 50,
        gradient_noise: Some(GradientNoise::new(0.01)),
        clip: Some(0.1),
        reinit: Some(nalm::Reinit { every: 10, patience: 50, error_above: 0.0 }),
        ..Config::published(&network).steps(200)
    };
    for stream in [Stream::Fast, Stream::Reference] {
        assert_eq!(allocations(&network, &task, &config.clone().stream(stream)), 0, "{stream}");
    }
}

/// Iterations of a fit, with a new linearisation or without, and rounding.
#[cfg(feature = "second-order")]
#[test]
fn fits_do_not_allocate_after_their_construction() {
    use nalm::batch::Batch;
    use nalm::second_order::{LevenbergMarquardt, Settings, Step, discretise};
    let layers: Vec<Box<dyn Dispatch<f64>>> =
        vec![Box::new(Nau::new(20, 2).unwrap()), Box::new(Snmu::new(2, 1).unwrap())];
    let network = Network::new(layers).unwrap();
    let range = |text: &str| text.parse::<Uniform>().unwrap();
    let task = Arithmetic::new(Operation::Mul, 20, 0.25, 0.5, range("U[1,2)"), range("U[2,6)")).unwrap();
    let mut batch = Batch::zeros(20, 1, nalm::BatchLayout::new(200).unwrap());
    Task::<f64>::open(&task, Stream::Fast, 0).unwrap().train(&mut batch);
    let mut start = vec![0.0; network.param_len()];
    network.init(&mut start, &mut nalm::Rng::init(Stream::Fast, "fit", 0));
    let (mut rounded, mut scratch) = (start.clone(), Vec::with_capacity(start.len()));
    let mut fit = LevenbergMarquardt::new(&network, batch, start, Settings::default()).unwrap();
    let before = COUNT.with(Cell::get);
    let mut steps = [0; 2];
    for _ in 0..60 {
        match fit.iterate() {
            Step::Accepted => steps[0] += 1,
            _ => steps[1] += 1,
        }
        rounded.copy_from_slice(fit.params());
        discretise(&network, &mut rounded, &mut scratch).unwrap();
    }
    assert_eq!(COUNT.with(Cell::get), before);
    assert!(steps[0] > 5 && steps[1] > 0, "{steps:?}");
}
