//! Every law finds a module that breaks it, and this law alone.

use nalm::expression::Expression;
use nalm::formula::Style;
use nalm::laws::{self, Broken, Law};
use nalm::module::{self, Build, Dispatch, Pass, Shape, Spec};
use nalm::{BatchLayout, Compiled, Error, InstructionSet, Lane, Module, Nmu, Operation, Options, Real, Rng};

/// What is wrong with an NMU.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Nothing,
    /// It has another name.
    Renamed,
    /// Its backward pass forgets the last lane if there is more than one.
    ForgetsLane,
    /// Its backward pass overwrites the parameters' gradient.
    OverwritesGradient,
    /// Its backward pass adds to the inputs' gradient.
    AddsToInputs,
    /// Its backward pass counts padding that is no copy of the last row.
    CountsPadding,
    /// Its evaluation depends on whether it was trained before.
    Remembers,
    /// Its noise is not on the tape.
    ForgetsNoise,
    /// It starts outside of its box.
    StartsOutside,
    /// It claims a product and has no parameters for it.
    NoGold,
    /// Its sparsity error is never 0.
    NeverSparse,
    /// Its penalty has no gradient.
    FlatPenalty,
    /// Its outputs in f32 are others than in f64.
    Imprecise,
    /// Its counterpart over f64 is another module.
    OtherWide,
    /// It counts the last row twice in batches of 33.
    CountsTwice,
    /// Its formula is that of a sum.
    OtherFormula,
    /// Its bits depend on the instruction set.
    DependsOnSet,
}

#[derive(Debug)]
struct Wrong {
    nmu: Nmu,
    fault: Fault,
}

impl<R: Real> Module<R> for Wrong {
    fn name(&self) -> &'static str {
        if self.fault == Fault::Renamed { "nmu" } else { "wrong" }
    }

    fn shape(&self) -> Shape {
        Module::<R>::shape(&self.nmu)
    }

    fn param_len(&self) -> usize {
        Module::<R>::param_len(&self.nmu)
    }

    /// One lane more, at the end, for what is remembered.
    fn tape_len(&self, at: BatchLayout) -> usize {
        Module::<R>::tape_len(&self.nmu, at) + 1
    }

    fn init(&self, p: &mut [R], rng: &mut Rng) {
        self.nmu.init(p, rng);
        if self.fault == Fault::StartsOutside {
            p.fill(R::of(1.5));
        }
    }

    fn forward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        y: &mut [Lane<R>],
        tape: &mut [Lane<R>],
        at: BatchLayout,
        mut pass: Pass<'_>,
    ) {
        self.nmu.forward(p, x, y, tape, at, pass.reborrow());
        let mut add = |number: f64| y.iter_mut().for_each(|y| *y = *y + R::of(number));
        let whole = p.iter().all(|w| *w == R::ZERO || *w == R::ONE);
        let memory = &mut tape[Module::<R>::tape_len(&self.nmu, at)][0];
        match (self.fault, pass) {
            (Fault::Remembers, Pass::Train(_)) => *memory = R::ONE,
            (Fault::Remembers, Pass::Eval) => add(memory.to_f64()),
            (Fault::ForgetsNoise, Pass::Train(rng)) => add(rng.uniform(0.0, 1.0)),
            (Fault::Imprecise, _) if R::NAME == "f32" && !whole => add(0.1),
            (Fault::DependsOnSet, _) if R::NAME == "f32" && !whole && at.instructions != InstructionSet::PORTABLE => {
                add(1e-6);
            }
            _ => {}
        }
    }

    fn backward(
        &self,
        p: &[R],
        x: &[Lane<R>],
        dy: &[Lane<R>],
        mut dx: Option<&mut [Lane<R>]>,
        dp: &mut [R],
        tape: &mut [Lane<R>],
        at: BatchLayout,
    ) {
        let (last, mut dy) = (at.lanes() - 1, dy.to_vec());
        if self.fault == Fault::ForgetsLane && last > 0 {
            dy.iter_mut().skip(last).step_by(at.lanes()).for_each(|lane| *lane = Lane::ZERO);
        }
        if self.fault == Fault::OverwritesGradient {
            dp.fill(R::ZERO);
        }
        let before = dx.as_deref().map(<[_]>::to_vec);
        self.nmu.backward(p, x, &dy, dx.as_deref_mut(), dp, tape, at);
        if let (Fault::AddsToInputs, Some(dx), Some(before)) = (self.fault, dx, before) {
            dx.iter_mut().zip(before).for_each(|(dx, before)| *dx += before);
        }
        if self.fault == Fault::CountsTwice && at.rows == 33 {
            dp[0] += dp[0];
        }
        if self.fault == Fault::CountsPadding {
            dp[0] += x[last][15] - x[last][at.rows_in(last) - 1];
        }
    }

    fn bounds(&self, _: usize) -> (R, R) {
        (R::ZERO, R::ONE)
    }

    fn penalty(&self, p: &[R], strength: R, dp: &mut [R]) -> R {
        if self.fault == Fault::FlatPenalty {
            return self.nmu.penalty(p, strength, &mut dp.to_vec());
        }
        self.nmu.penalty(p, strength, dp)
    }

    fn sparsity_error(&self, p: &[R]) -> Option<R> {
        if self.fault == Fault::NeverSparse { Some(R::of(0.5)) } else { self.nmu.sparsity_error(p) }
    }

    fn gold(&self, operation: Operation) -> Option<Vec<R>> {
        if self.fault == Fault::NoGold { None } else { self.nmu.gold(operation) }
    }

    fn formula(&self, p: &[f64], inputs: &[Expression], style: Style) -> Option<Vec<Expression>> {
        match self.fault {
            Fault::OtherFormula => {
                Some(vec![Expression::sum(inputs.iter().cloned()); Module::<R>::shape(self).outputs])
            }
            _ => Module::<R>::formula(&self.nmu, p, inputs, style),
        }
    }

    fn options(&self) -> Options {
        Module::<R>::options(&self.nmu)
    }

    fn as_f64(&self) -> Option<Box<dyn Dispatch<f64>>> {
        let nmu = self.nmu.clone();
        if self.fault == Fault::OtherWide { Some(Box::new(nmu)) } else { Some(Box::new(Wrong { nmu, ..*self })) }
    }
}

fn build<R: Real>(shape: Shape, fault: Fault) -> Result<Box<dyn Dispatch<R>>, Error> {
    Ok(Box::new(Wrong { nmu: Nmu::new(shape.inputs, shape.outputs)?, fault }))
}

/// Built without a word it starts elsewhere than built with what it says of itself.
fn elsewhere<R: Real>(shape: Shape, options: &Options) -> Result<Box<dyn Dispatch<R>>, Error> {
    let low = if options.get("start").is_some() { 0.25 } else { 0.3 };
    let nmu = Nmu::starting_in(shape.inputs, shape.outputs, low, 0.75)?;
    Ok(Box::new(Wrong { nmu, fault: Fault::Nothing }))
}

fn spec<R: Compiled>(build: Build<R>) -> Spec<R> {
    Spec { name: "wrong", build, ..module::find("nmu").unwrap() }
}

/// Functions that build modules capture nothing, so every fault has its own.
macro_rules! check {
    ($fault:ident) => {
        laws::check(
            &spec(|shape, _| build(shape, Fault::$fault)), //
            &spec(|shape, _| build(shape, Fault::$fault)),
        )
    };
}

#[test]
fn every_law_finds_a_module_that_breaks_it() {
    assert_eq!(check!(Nothing), Ok(()));
    let mut found = vec![
        (Law::Built, check!(Renamed)),
        (Law::Gradients, check!(ForgetsLane)),
        (Law::Accumulation, check!(OverwritesGradient)),
        (Law::Accumulation, check!(AddsToInputs)),
        (Law::Determinism, check!(Remembers)),
        (Law::Replay, check!(ForgetsNoise)),
        (Law::Padding, check!(CountsPadding)),
        (Law::Boxes, check!(StartsOutside)),
        (Law::Gold, check!(NoGold)),
        (Law::Sparsity, check!(NeverSparse)),
        (Law::Penalty, check!(FlatPenalty)),
        (Law::Precision, check!(Imprecise)),
        (Law::Widening, check!(OtherWide)),
        (Law::Rows, check!(CountsTwice)),
        (Law::Formula, check!(OtherFormula)),
        (Law::Options, laws::check(&spec(elsewhere), &spec(elsewhere))),
    ];
    if InstructionSet::available().len() > 1 {
        found.push((Law::InstructionSets, check!(DependsOnSet)));
    }
    for (law, result) in &found {
        assert_eq!(result.as_ref().map_err(|broken| broken.law), Err(*law), "{result:?}");
    }
    let without = |law: &Law| found.iter().all(|(found, _)| found != law);
    let unbroken: Vec<Law> = Law::ALL.into_iter().filter(without).filter(|law| *law != Law::InstructionSets).collect();
    assert_eq!(unbroken, [], "laws without a module that breaks them");
}

#[test]
fn the_error_names_module_law_and_finding() {
    let message = check!(ForgetsLane).unwrap_err().to_string();
    let start = "wrong breaks the law \"gradients agree with central differences\": the worst relative error is ";
    assert!(message.starts_with(start) && message.ends_with("(inputs: 2, outputs: 1)"), "{message}");
    let Broken { module, how, .. } = check!(Renamed).unwrap_err();
    assert_eq!((module, how.as_str()), ("wrong", "the module built is called nmu instead of wrong"));
}

/// Modules that cannot have every shape say so, and are checked in those that they can have.
#[test]
fn a_module_may_refuse_all_but_the_usual_shape() {
    fn only<R: Real>(shape: Shape) -> Result<Box<dyn Dispatch<R>>, Error> {
        match (shape.inputs, shape.outputs) {
            (2, 1) => build(shape, Fault::Nothing),
            _ => Err(Error::Shape { what: "inputs".into(), got: shape.inputs, want: 2 }),
        }
    }
    assert_eq!(laws::check(&spec(|shape, _| only(shape)), &spec(|shape, _| only(shape))), Ok(()));
    let never: Build<f32> = |_, _| Err(Error::unknown("shape", "2", &[]));
    let broken = laws::check(&spec(never), &spec(|shape, _| only(shape))).unwrap_err();
    assert_eq!(broken.law, Law::Built);
}
