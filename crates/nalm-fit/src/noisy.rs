//! Formulas for noisy targets: candidates of all engines, fitted in the units of the target, made simple as far as their errors allow, and
//! chosen by the length of their description.

use crate::columns::{Columns, Split, View};
use crate::dense::{Matrix, Qr, dot, least_squares, median, quantile, root_mean_square};
use crate::engine::noisy as engines;
use crate::engine::{Sink, design, divide, laurent_and_pairs};
use crate::form::{Form, is_whole};
use crate::judge::{has_pole_at_a_row, with_right_signs};
use crate::polish::{Free, Part, Polished, polish_roughly};
use crate::report::Noise;
use crate::settle::{Settled, settle};
use crate::special::incomplete_beta;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A candidate with what its description takes, in bits.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    pub(crate) bits: f64,
    /// Over the scaled view.
    pub(crate) form: Form,
    pub(crate) squares: f64,
    pub(crate) engine: &'static str,
    /// Over the columns themselves, with constants as simple as they are meant.
    settled: Option<Settled>,
}

/// What came of the search.
pub(crate) struct Outcome {
    pub(crate) noise: Noise,
    /// The best over the columns themselves, with simple constants, and the errors of its constants.
    pub(crate) form: Form,
    pub(crate) sigmas: Vec<f64>,
    /// Whether every constant is a number that somebody means.
    pub(crate) meant: bool,
    pub(crate) engine: &'static str,
    /// The size of the noise in the units of its kind.
    pub(crate) size: f64,
    /// Weighted errors over all rows.
    pub(crate) inside: f64,
    pub(crate) outside: f64,
    /// Probability that errors without any pattern look as patterned as these.
    pub(crate) white: f64,
    /// How much neighbouring errors are alike, in standard errors.
    pub(crate) alike: f64,
    /// All candidates over the columns themselves, the best first.
    pub(crate) others: Vec<(Form, &'static str)>,
    /// Another candidate that explains the rows as well and differs outside of their range.
    pub(crate) ambiguous: Option<usize>,
    /// Whether errors are of one size, and if not, the rows that stand apart.
    pub(crate) one_size: bool,
    pub(crate) apart: Vec<usize>,
}

impl Outcome {
    /// All forms, the best first.
    pub(crate) fn forms(&self) -> impl Iterator<Item = &Form> {
        [&self.form].into_iter().chain(self.others.iter().map(|(form, _)| form))
    }
}

/// Bits of an exponent.
fn bits_of_exponent(e: f64) -> f64 {
    let part = |whole: bool, bits: f64| if whole { 0.0 } else { bits };
    // One that is no simple fraction is a number of three digits.
    let fraction = part(is_whole(e), 2.0) + part(is_whole(2.0 * e), 3.0) + part(is_whole(6.0 * e), 6.0);
    if e == 0.0 { 0.0 } else { 2.0 + e.abs() + fraction }
}

/// Bits of a form without its constants.
pub(crate) fn bits_of_form(form: &Form) -> f64 {
    let powers = |p: &[f64]| p.iter().map(|e| bits_of_exponent(*e)).sum::<f64>();
    let mut bits = 4.0 + powers(&form.powers);
    for sum in &form.sums {
        let q = sum.power;
        bits += 3.0 + if q == 1.0 { 0.0 } else { 2.0 + q.abs() + if is_whole(q) { 0.0 } else { 2.0 } };
        bits += sum.terms.iter().map(|t| 2.0 + powers(&t.powers)).sum::<f64>();
    }
    bits + form.add.as_ref().map_or(0.0, |add| bits_of_form(add))
}

/// How rows are weighted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Model {
    Additive,
    Relative,
    /// By the unit of the last printed digit.
    Printed,
}

/// The unit of the last digit, as a share of the number, below which a number has all the digits that double precision holds.
const ALL_DIGITS: f64 = 1e-13;

/// Whether printed digits are those of a rounding. Programs print numbers that are not rounded with as many digits as each of them needs.
pub(crate) fn are_rounded(y: &[f64], units: &[f64]) -> bool {
    let shares = y.iter().zip(units).filter(|(y, _)| **y != 0.0).map(|(y, unit)| unit / y.abs());
    let shares: Vec<f64> = shares.collect();
    !shares.is_empty() && median(shares) > ALL_DIGITS
}

/// The search for a noisy target.
pub(crate) struct Noisy<'a> {
    columns: &'a Columns,
    split: &'a Split,
    printed: Option<&'a [f64]>,
    model: Model,
    /// The rows that are fitted: few while candidates are looked for, then more.
    rows: &'a [usize],
    /// The same, scaled.
    view: View,
    weights: Vec<f64>,
    /// Bits of the weights themselves.
    constant: f64,
    pool: Vec<Fitted>,
    best: f64,
    engine: &'static str,
    /// Whether the units of a form over the columns themselves are right, if units are known.
    fits: Option<&'a dyn Fn(&Form) -> bool>,
}

/// Bits that right units are worth.
const UNITS: f64 = 40.0;
/// Exponents beyond which a power is no law, but a way to bend a formula at the end of a range.
const MOST_EXPONENT: f64 = 12.0;
/// Candidates that are so many bits behind the best are not followed.
const BEHIND: f64 = 30.0;
/// Two candidates closer than this many bits are equally good.
const EQUAL: f64 = 10.0;
/// How many times as much as the best a candidate may miss that explains the rows as well.
const AS_WELL: f64 = 1.6;
/// Candidates whose constants are settled.
const SETTLED: usize = 40;
/// Candidates that grow in a round, the products to choose from, and the rounds.
const GROWN: (usize, usize, usize) = (3, 400, 3);

impl<'a> Noisy<'a> {
    pub(crate) fn new(
        columns: &'a Columns,
        split: &'a Split,
        printed: Option<&'a [f64]>,
        fits: Option<&'a dyn Fn(&Form) -> bool>,
    ) -> Self {
        let rows = &split.searched;
        let printed = printed.filter(|units| are_rounded(&columns.y, units));
        let mut own = Self {
            columns,
            split,
            printed,
            rows,
            model: if printed.is_some() { Model::Printed } else { Model::Additive },
            view: columns.view(rows),
            weights: Vec::new(),
            constant: 0.0,
            pool: Vec::new(),
            best: f64::INFINITY,
            engine: "",
            fits,
        };
        own.weigh(own.model);
        own
    }

    fn weights_of(&self, model: Model, y: &[f64], rows: &[usize], scale: f64) -> Vec<f64> {
        match (model, self.printed) {
            (Model::Printed, Some(units)) => rows.iter().map(|&k| scale / units[k].max(f64::MIN_POSITIVE)).collect(),
            (Model::Relative, _) => {
                let least = 1e-3 * median(y.iter().map(|y| y.abs()).collect());
                y.iter().map(|y| 1.0 / y.abs().max(least).max(f64::MIN_POSITIVE)).collect()
            }
            _ => vec![1.0 / crate::dense::deviation(y).max(f64::MIN_POSITIVE); y.len()],
        }
    }

    fn weigh(&mut self, model: Model) {
        self.model = model;
        self.weights = self.weights_of(model, &self.view.y, self.rows, self.columns.target_scale);
        self.constant = -self.weights.iter().map(|w| libm::log2(*w)).sum::<f64>();
        self.pool.clear();
        self.best = f64::INFINITY;
    }

    /// Bits of the errors alone.
    fn bits_of_errors(&self, squares: f64) -> f64 {
        let n = self.view.rows() as f64;
        // An error far below rounding or the printed digit says nothing more.
        let least = if self.model == Model::Printed { 1e-2 } else { 1e-26 };
        n / 2.0 * libm::log2((squares / n).max(least)) + self.constant
    }

    fn polished(&self, form: &Form, free: &Free<'_>, most: usize) -> Option<Polished> {
        polish_roughly(form, &self.view, &self.weights, &self.columns.mixed, free, most)
    }

    fn hopeless(&self, squares: f64) -> bool {
        self.bits_of_errors(squares) + 8.0 > self.best + BEHIND
    }

    /// Fits a candidate, makes it simple, and keeps it.
    pub(crate) fn consider(&mut self, form: &Form) {
        let form = with_right_signs(form.clone(), &self.columns.mixed, self.columns.parity.as_ref());
        if form.add.is_some() {
            return;
        }
        self.simplify(&form, &BTreeSet::new());
    }

    /// The same with the powers of sums at usual values: with noise, free ones end at 8/3.
    pub(crate) fn consider_with_powers(&mut self, form: &Form) {
        self.consider(form);
        const ONE: [&[f64]; 6] = [&[1.0], &[-1.0], &[0.5], &[-0.5], &[2.0], &[-2.0]];
        const TWO: [&[f64]; 11] = [
            &[1.0, -0.5],
            &[-0.5, 1.0],
            &[1.0, -1.0],
            &[-1.0, 1.0],
            &[1.0, 1.0],
            &[0.5, -0.5],
            &[-0.5, 0.5],
            &[1.0, -2.0],
            &[-2.0, 1.0],
            &[1.0, 0.5],
            &[0.5, 1.0],
        ];
        let lists: &[&[f64]] = match form.sums.len() {
            1 => &ONE,
            2 => &TWO,
            _ => &[],
        };
        for powers in lists {
            let mut fixed = form.clone();
            fixed.sums.iter_mut().zip(*powers).for_each(|(sum, p)| sum.power = *p);
            self.simplify(&fixed, &(0..powers.len()).map(Part::SumPower).collect());
        }
    }

    fn simplify(&mut self, form: &Form, fixed: &BTreeSet<Part>) -> Option<()> {
        let half = |e: f64| is_whole(2.0 * e);
        let mut simple = form.sums.iter().all(|sum| half(sum.power));
        form.clone().map_powers(&mut |_, e| {
            simple &= half(e);
            e
        });
        let mut found = if simple {
            let nearest = |e: f64| (2.0 * e).round() / 2.0;
            let mut form = form.clone();
            form.map_powers(&mut |_, e| nearest(e));
            form.sums.iter_mut().for_each(|sum| sum.power = nearest(sum.power));
            self.polished(&form, &Free::Factors, 20)?
        } else {
            let mut fixed = fixed.clone();
            let mut found = self.polished(form, &Free::AllBut(&fixed), 25)?;
            for _ in 0..12 {
                if self.hopeless(found.squares) {
                    return None;
                }
                if fix_simple(&mut found, &mut fixed) == 0 {
                    break;
                }
                found = self.polished(&found.form, &Free::AllBut(&fixed), 15)?;
            }
            found
        };
        for _ in 0..6 {
            if self.hopeless(found.squares) {
                return None;
            }
            let weak = found.parts.iter().zip(&found.sigmas).filter_map(|(part, sigma)| match *part {
                Part::TermFactor(s, t) => {
                    Some((found.form.sums[s].terms[t].factor.abs() / (sigma + 1e-300), s, t)).filter(|w| w.0 < 2.5)
                }
                _ => None,
            });
            let Some((_, s, t)) = weak.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            let mut less = found.form.clone();
            less.sums[s].terms.remove(t);
            if less.sums[s].terms.len() == 1 {
                less = less.simplified(&self.columns.mixed);
            }
            found = self.polished(&less, &Free::Factors, 10)?;
        }
        let free = found.parts.len() as f64;
        let n = self.view.rows() as f64;
        let bits = self.bits_of_errors(found.squares) + bits_of_form(&found.form) + free * 0.5 * libm::log2(n);
        if !bits.is_finite() {
            return None;
        }
        let form = found.form.simplified(&self.columns.mixed);
        if form.largest_exponent() > MOST_EXPONENT || !form.has_telling_terms(&self.view.x, self.view.rows()) {
            return None;
        }
        match self.pool.iter_mut().find(|other| other.form.same(&form)) {
            Some(other) if other.bits <= bits => {}
            Some(other) => *other = Fitted { bits, form, squares: found.squares, engine: self.engine, settled: None },
            None => self.pool.push(Fitted { bits, form, squares: found.squares, engine: self.engine, settled: None }),
        }
        self.best = self.best.min(bits);
        Some(())
    }

    /// Asks all engines, with leftovers of the search for exact formulas.
    fn search(&mut self, leftovers: &[(Form, &'static str)], sink: &mut dyn Sink) -> ControlFlow<()> {
        let view = self.columns.view(&self.split.searched);
        let sign = engines::sign_of_large(&view);
        let sizes: Vec<f64> = view.y.iter().map(|y| y.abs()).collect();
        // Noise of one size spoils the logarithms of small rows most, and turns the signs of the smallest.
        let turned = view.y.iter().filter(|y| **y * sign < 0.0).fold(0.0f64, |m, y| m.max(y.abs()));
        let least = if self.model == Model::Additive { quantile(sizes.clone(), 0.2).max(turned) } else { turned };
        let for_logs = view.filtered(|k| view.y[k] * sign >= least && view.y[k] != 0.0);
        let majority = for_logs.sign().is_some() && 3 * for_logs.rows() > view.rows();
        let for_logs = if majority { for_logs } else { view.clone() };
        let middle = median(sizes);
        let weigh = |y: f64| (y.abs() / middle).min(5.0);
        let weighted = self.model == Model::Additive;
        self.engine = "powers";
        for form in engines::powers(&for_logs, weighted.then_some(&weigh)) {
            self.consider(&form);
        }
        for (form, engine) in leftovers {
            self.engine = engine;
            self.consider(form);
        }
        sink.spend(1e6)?;
        let small = if view.columns() < 6 { 300 } else { 200 };
        if majority {
            self.engine = "logarithms";
            for form in engines::logarithms(&for_logs, &[&[0]], weighted.then_some(&weigh), sink)? {
                self.consider_with_powers(&form);
            }
        }
        if majority {
            self.engine = "library";
            for form in engines::unit_sums(&for_logs, &self.columns.scales, weighted.then_some(&weigh), sink)? {
                let columns = self.view.columns();
                let known = (0..form.sums.len()).flat_map(|s| (0..columns).map(move |i| Part::TermPower(s, 1, i)));
                self.simplify(&form, &known.collect());
            }
        }
        self.engine = "sparse";
        engines::regressions(&view, small, sink, &mut |form| self.consider(&form))?;
        let guesses = divide::pure_powers(&view);
        for powers in guesses.iter().take(2) {
            divide::with_rest(&view, powers, &mut |rest, lift| {
                engines::regressions(rest, 300, sink, &mut |form| self.consider(&lift(form)))
            })?;
        }
        if majority {
            self.engine = "logarithms";
            for form in engines::logarithms(&for_logs, &[&[0, 0], &[0, 1]], weighted.then_some(&weigh), sink)? {
                self.consider_with_powers(&form);
            }
        } else {
            self.engine = "sums";
            for form in engines::sums(&view, sink)? {
                self.consider(&form);
            }
        }
        self.grow(sink)
    }

    /// Lets the best candidates grow by one term or factor, as long as one of them gets better by it.
    fn grow(&mut self, sink: &mut dyn Sink) -> ControlFlow<()> {
        let list = laurent_and_pairs(self.view.columns(), GROWN.1);
        if list.len() > 3 * GROWN.1 {
            return ControlFlow::Continue(());
        }
        let plain = vec![1.0; self.view.rows()];
        let products = design(&self.view.x, &list, &plain);
        let mut done: Vec<Form> = Vec::new();
        self.engine = "grown";
        for _ in 0..GROWN.2 {
            self.pool.sort_by(|a, b| a.bits.total_cmp(&b.bits));
            let limit = self.best + BEHIND;
            let next: Vec<Form> = self
                .pool
                .iter()
                .filter(|fitted| fitted.bits < limit && !done.iter().any(|other| other.same(&fitted.form)))
                .filter(|fitted| {
                    fitted.form.sums.len() < 3 && fitted.form.sums.iter().map(|s| s.terms.len()).sum::<usize>() < 8
                })
                .take(GROWN.0)
                .map(|fitted| fitted.form.clone())
                .collect();
            let simplest =
                self.pool.iter().find(|fitted| fitted.form.sums.is_empty()).map(|fitted| fitted.form.clone());
            let simplest = simplest.filter(|form| done.is_empty() && !next.iter().any(|other| other.same(form)));
            let next: Vec<Form> = next.into_iter().chain(simplest).collect();
            if next.is_empty() {
                break;
            }
            for form in next {
                sink.spend((self.view.rows() * list.len() * 10 * (1 + form.sums.len())) as f64)?;
                for grown in engines::grown(&form, false, &self.view, &self.weights, &list, &products) {
                    self.consider(&grown);
                }
                if form.sums.is_empty() {
                    let columns = self.view.columns();
                    let known = (0..columns).map(|i| Part::TermPower(0, 1, i)).chain([Part::SumPower(0)]).collect();
                    for bent in engines::grown(&form, true, &self.view, &self.weights, &list, &products) {
                        self.simplify(&bent, &known);
                    }
                }
                done.push(form);
            }
        }
        ControlFlow::Continue(())
    }

    /// The whole search.
    pub(crate) fn run(mut self, leftovers: &[(Form, &'static str)], sink: &mut dyn Sink) -> Option<Outcome> {
        let mut stopped = self.search(leftovers, sink).is_break();
        self.pool.sort_by(|a, b| a.bits.total_cmp(&b.bits));
        if !stopped && self.is_more_than_rounding() {
            let found: Vec<(Form, &'static str)> = self.pool.iter().map(|f| (f.form.clone(), f.engine)).collect();
            self.weigh(Model::Additive);
            stopped = self.search(&found, sink).is_break();
            self.pool.sort_by(|a, b| a.bits.total_cmp(&b.bits));
        }
        let usual = self.model;
        if usual != Model::Relative && !stopped && !self.pool.is_empty() {
            // Does noise in proportion to the target explain the errors better?
            let additive = std::mem::take(&mut self.pool);
            self.weigh(Model::Relative);
            for fitted in additive.iter().take(8) {
                self.engine = fitted.engine;
                self.consider(&fitted.form);
            }
            if self.best < additive[0].bits - EQUAL {
                let best: Vec<(Form, &'static str)> =
                    self.pool.iter().map(|fitted| (fitted.form.clone(), fitted.engine)).collect();
                // Whether it was stopped or not, what was found counts.
                let _ = self.search(&best, sink);
            } else {
                self.weigh(usual);
                self.best = additive[0].bits;
                self.pool = additive;
            }
            self.pool.sort_by(|a, b| a.bits.total_cmp(&b.bits));
        }
        self.fit_to_more_rows();
        self.weigh_by_values();
        self.outcome()
    }

    /// Whether rows are weighed by digits that differ from row to row, while errors are larger than those digits: then how a row happens to
    /// be printed says nothing about its error.
    fn is_more_than_rounding(&self) -> bool {
        let differ = self.weights.iter().any(|w| *w != self.weights[0]);
        let rows = self.view.rows() as f64;
        self.model == Model::Printed && differ && self.pool.first().is_none_or(|best| best.squares > rows)
    }

    /// Fits the best candidates again, to all rows that a fit takes.
    fn fit_to_more_rows(&mut self) {
        if self.split.fitted.len() <= self.rows.len() {
            return;
        }
        self.rows = &self.split.fitted;
        self.view = self.columns.view(self.rows);
        let found = std::mem::take(&mut self.pool);
        self.weigh(self.model);
        for fitted in found.iter().take(SETTLED) {
            self.engine = fitted.engine;
            self.consider(&fitted.form);
        }
        if self.pool.is_empty() {
            self.pool = found;
        }
        self.pool.sort_by(|a, b| a.bits.total_cmp(&b.bits));
    }

    /// Noise in proportion is in proportion to what is behind the target. Weights by the noisy target prefer rows that came out too small.
    fn weigh_by_values(&mut self) {
        let Some(best) = self.pool.first().filter(|_| self.model == Model::Relative) else { return };
        let values = best.form.values(&self.view.x, self.view.rows());
        if values.iter().any(|v| !v.is_finite()) {
            return;
        }
        self.weights = self.weights_of(self.model, &values, self.rows, self.columns.target_scale);
        self.constant = -self.weights.iter().map(|w| libm::log2(*w)).sum::<f64>();
        self.best = f64::INFINITY;
        let found = std::mem::take(&mut self.pool);
        for fitted in found.iter().take(SETTLED) {
            self.engine = fitted.engine;
            self.consider(&fitted.form);
        }
        if self.pool.is_empty() {
            self.pool = found;
        }
        self.pool.sort_by(|a, b| a.bits.total_cmp(&b.bits));
    }

    /// Candidates with the right units before others that are not much better.
    fn prefer_units(&mut self) {
        let Some(fits) = self.fits else { return };
        let right = |fitted: &Fitted| fits(&self.columns.unscaled(&fitted.form));
        let (good, bad): (Vec<Fitted>, Vec<Fitted>) = std::mem::take(&mut self.pool).into_iter().partition(right);
        let ahead = |good: &[Fitted]| good.first().is_some_and(|g| bad.first().is_none_or(|b| g.bits < b.bits + UNITS));
        self.pool =
            if ahead(&good) { good.into_iter().chain(bad).collect() } else { bad.into_iter().chain(good).collect() };
    }

    fn outcome(mut self) -> Option<Outcome> {
        self.settle();
        self.prefer_units();
        let best = self.pool.first()?.clone();
        let rows = self.view.rows() as f64;
        let ambiguous = self.ambiguous();
        let Settled { form, errors: sigmas, meant, .. } = best.settled?;
        let Columns { x, y, .. } = self.columns;
        let values = form.values(x, y.len());
        let all: Vec<usize> = (0..y.len()).collect();
        let sizes = if self.model == Model::Relative { &values } else { y };
        let mut weights = self.weights_of(self.model, sizes, &all, 1.0);
        if self.model == Model::Printed {
            // Errors are reported in units of the target's deviation.
            weights = self.weights_of(Model::Additive, y, &all, 1.0);
        }
        let errors: Vec<f64> = (0..y.len()).map(|k| (y[k] - values[k]) * weights[k]).collect();
        let rms = |rows: &[usize]| {
            (rows.iter().map(|&k| errors[k] * errors[k]).sum::<f64>() / rows.len().max(1) as f64).sqrt()
        };
        let inside = rms(&self.split.inside);
        let outside = if self.split.outside.is_empty() { inside } else { rms(&self.split.outside) };
        let plain: Vec<f64> = self.split.inside.iter().map(|&k| y[k] - values[k]).collect();
        let size = match self.model {
            Model::Relative => (best.squares / rows).sqrt(),
            _ => root_mean_square(&plain),
        };
        // What rounding alone leaves.
        let digits = |units: &[f64]| 0.3 * median(units.iter().zip(&weights).map(|(unit, w)| unit * w).collect());
        // Where target and formula are 0, there is nothing to miss.
        let telling: Vec<usize> = all.into_iter().filter(|&k| y[k] != 0.0 || values[k] != 0.0).collect();
        let (one_size, apart) = sizes_of(&errors, &telling, self.printed.map_or(0.0, digits).max(1e-13));
        // Rows that stand apart are not the noise of the others.
        let size = if apart.is_empty() {
            size
        } else {
            let off = |&k: &usize| if self.model == Model::Relative { errors[k] } else { y[k] - values[k] };
            let usual = self.split.inside.iter().filter(|k| !apart.contains(k));
            root_mean_square(&usual.map(off).collect::<Vec<_>>())
        };
        Some(Outcome {
            one_size,
            apart,
            noise: if self.model == Model::Relative { Noise::Relative } else { Noise::Additive },
            sigmas,
            meant,
            engine: best.engine,
            size,
            inside,
            outside,
            white: white(self.columns, &errors),
            alike: alike(self.columns, &form, &errors),
            others: self.pool.iter().skip(1).take(30).map(|f| (self.own(f), f.engine)).collect(),
            ambiguous,
            form,
        })
    }

    /// A candidate over the columns themselves.
    fn own(&self, fitted: &Fitted) -> Form {
        let unsettled = || self.columns.unscaled(&fitted.form).simplified(&self.columns.mixed);
        fitted.settled.as_ref().map_or_else(unsettled, |settled| settled.form.clone())
    }

    /// The first candidate that is as good, on rows held back, too, and differs by more than three standard errors at twice the range.
    fn ambiguous(&self) -> Option<usize> {
        let best = self.pool.first()?;
        let mut draws = crate::columns::Draws::new("twice the range");
        let rows = 200;
        let wide: Vec<Vec<f64>> = self
            .view
            .x
            .iter()
            .map(|x| {
                let (low, high) = x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
                let z = (0..rows).map(|_| (low + high) / 2.0 + (high - low) * (2.0 * draws.uniform() - 1.0));
                z.map(|z| if low > 0.0 { z.max(low / 2.0) } else { z }).collect()
            })
            .collect();
        let own = best.form.values(&wide, rows);
        let sigma = (best.squares / self.view.rows() as f64).sqrt();
        let weight = |k: usize| match self.model {
            Model::Relative => 1.0 / own[k].abs().max(1e-9),
            _ => self.weights[0],
        };
        (1..self.pool.len().min(12)).find(|&k| {
            let other = &self.pool[k];
            if other.bits - best.bits >= EQUAL || self.miss(other) > AS_WELL * self.miss(best) {
                return false;
            }
            let values = other.form.values(&wide, rows);
            let off = (0..rows).map(|k| (values[k] - own[k]) * weight(k)).filter(|d| d.is_finite());
            let off: Vec<f64> = off.collect();
            !off.is_empty() && (dot(&off, &off) / off.len() as f64).sqrt() > 3.0 * sigma
        })
    }

    /// What a candidate misses, of the rows that it was fitted to or of those held back, whichever is more.
    fn miss(&self, fitted: &Fitted) -> f64 {
        let Columns { x, y, .. } = self.columns;
        let values = self.own(fitted).values(x, y.len());
        let weight = |k: usize| if self.model == Model::Relative { 1.0 / values[k].abs() } else { 1.0 };
        let rms = |rows: &[usize]| {
            let off = rows.iter().map(|&k| (values[k] - y[k]) * weight(k));
            root_mean_square(&off.collect::<Vec<f64>>())
        };
        rms(&self.split.inside).max(rms(&self.split.outside))
    }

    /// The best candidates with settled constants, the shortest description first: numbers that are meant are short, and a formula that has
    /// them is preferred to one that needs numbers without meaning to be as good.
    fn settle(&mut self) {
        let rows = self.rows;
        let part = |x: &Vec<f64>| rows.iter().map(|&k| x[k]).collect::<Vec<f64>>();
        let view = View { x: self.columns.x.iter().map(part).collect(), y: part(&self.columns.y) };
        let weights: Vec<f64> = self.weights.iter().map(|w| w / self.columns.target_scale).collect();
        // Errors of rounding are uniform over a digit.
        let least = if self.model == Model::Printed { 1.0 / 12.0 } else { 1e-26 };
        let limit = self.best + 20.0;
        let mut settled_any = false;
        for (place, fitted) in self.pool.iter_mut().enumerate() {
            // Some may have no values in some rows; then the next ones count.
            if settled_any && (place >= SETTLED || fitted.bits >= limit) {
                break;
            }
            let form = self.columns.unscaled(&fitted.form).simplified(&self.columns.mixed);
            let settled = settle(&form, &view, &weights, least);
            let Some(settled) = settled.filter(|settled| !has_pole_at_a_row(self.columns, &settled.form)) else {
                continue;
            };
            fitted.bits = settled.bits + self.constant + bits_of_form(&settled.form);
            fitted.squares = settled.squares;
            fitted.settled = Some(settled);
            settled_any = true;
        }
        self.pool.sort_by(|a, b| {
            (a.settled.is_none(), a.bits).partial_cmp(&(b.settled.is_none(), b.bits)).unwrap_or(Ordering::Equal)
        });
    }
}

/// Standard errors beyond which an exponent is not the simple one next to it.
const SURE: f64 = 50.0;

/// Sets exponents to simple values where that is within their errors, the surest first, at least one a round.
fn fix_simple(found: &mut Polished, fixed: &mut BTreeSet<Part>) -> usize {
    let mut items: Vec<(f64, f64, f64, Part)> = Vec::new();
    for (part, sigma) in found.parts.iter().zip(&found.sigmas) {
        let form = &found.form;
        let v = match *part {
            Part::Power(i) => form.powers[i],
            Part::SumPower(s) => form.sums[s].power,
            Part::TermPower(s, t, i) => form.sums[s].terms[t].powers[i],
            _ => continue,
        };
        let mut best: Option<(f64, f64, f64)> = None;
        for (d, penalty) in [(1.0, 0.0), (2.0, 1.2), (3.0, 2.5), (5.0, 3.5)] {
            let r = (v * d).round() / d;
            if matches!(part, Part::SumPower(_)) && r == 0.0 {
                continue;
            }
            let off = (v - r).abs();
            let z = off / (sigma + 1e-9) + penalty;
            if off < 0.3 / d && best.is_none_or(|best| z < best.0) {
                best = Some((z, off, r));
            }
        }
        items.extend(best.map(|(z, off, r)| (z, off, r, *part)));
    }
    items.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut count = 0;
    for (k, (z, off, r, part)) in items.into_iter().enumerate() {
        if z < 3.0 || (k == 0 && off < 0.12 && z < SURE) {
            match part {
                Part::Power(i) => found.form.powers[i] = r,
                Part::SumPower(s) => found.form.sums[s].power = r,
                Part::TermPower(s, t, i) => found.form.sums[s].terms[t].powers[i] = r,
                _ => {}
            }
            fixed.insert(part);
            count += 1;
        }
    }
    count
}

/// The usual error as a share of the root mean square below which errors are not of one size: it is 0.67 of noise, and 0.44 of noise with tails
/// as long as those of Student's distribution with three degrees of freedom.
const USUAL: f64 = 0.1;
/// Errors that stand apart are so many times the usual one.
const APART: f64 = 30.0;

/// Whether the errors of some rows are of one size, and if not, the rows whose errors stand apart. Errors up to `least` are all the same.
fn sizes_of(errors: &[f64], rows: &[usize], least: f64) -> (bool, Vec<usize>) {
    let own: Vec<f64> = rows.iter().map(|&k| errors[k].abs()).collect();
    let all = root_mean_square(&own);
    let usual = median(own).max(least);
    if rows.is_empty() || usual >= USUAL * all {
        return (true, Vec::new());
    }
    (false, rows.iter().copied().filter(|&k| errors[k].abs() > APART * usual).collect())
}

/// The probability that errors without any pattern are explained by linear and quadratic columns as well as these (an F test).
pub(crate) fn white(columns: &Columns, errors: &[f64]) -> f64 {
    let n = errors.len();
    // Many rows would find the smallest pattern and take for ever.
    let step = n.div_ceil(4000);
    let rows: Vec<usize> = (0..n).step_by(step).collect();
    let d = columns.x.len();
    let standard: Vec<Vec<f64>> = columns
        .x
        .iter()
        .map(|x| {
            let x: Vec<f64> = rows.iter().map(|&k| x[k]).collect();
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let sd = crate::dense::deviation(&x).max(f64::MIN_POSITIVE);
            x.iter().map(|x| (x - mean) / sd).collect()
        })
        .collect();
    let mut a = Matrix::new(rows.len());
    a.push(vec![1.0; rows.len()]);
    for x in standard.iter().take(rows.len() / 3) {
        a.push(x.iter().copied());
    }
    if 1 + d + d * (d + 1) / 2 <= rows.len() / 3 {
        for i in 0..d {
            for j in i..d {
                a.push(standard[i].iter().zip(&standard[j]).map(|(a, b)| a * b));
            }
        }
    } else if 2 * d < rows.len() / 3 {
        for x in &standard {
            a.push(x.iter().map(|x| x * x));
        }
    }
    let e: Vec<f64> = rows.iter().map(|&k| errors[k]).collect();
    let mean = e.iter().sum::<f64>() / e.len() as f64;
    let before: f64 = e.iter().map(|e| (e - mean) * (e - mean)).sum();
    let rank = Qr::new(a.clone(), 1e-10).rank();
    let (_, r) = least_squares(&a, &e);
    let after = r * r * dot(&e, &e);
    let (k, left) = ((rank - 1) as f64, e.len().saturating_sub(rank).max(1) as f64);
    let f = ((before - after) / k) / (after / left + 1e-300);
    if f.is_nan() { 0.0 } else { f_tail(f.max(0.0), k, left) }
}

/// How many standard errors the errors of neighbouring rows are more alike than without any pattern. What a smooth function misses
/// of another is smooth, whatever its shape.
pub(crate) fn alike(columns: &Columns, form: &Form, errors: &[f64]) -> f64 {
    let step = errors.len().div_ceil(800);
    let rows: Vec<usize> = (0..errors.len()).step_by(step).collect();
    let used: Vec<Vec<f64>> = (0..columns.x.len())
        .filter(|&i| form.uses(i))
        .map(|i| {
            let x: Vec<f64> = rows.iter().map(|&k| columns.x[i][k]).collect();
            let sd = crate::dense::deviation(&x).max(f64::MIN_POSITIVE);
            x.iter().map(|x| x / sd).collect()
        })
        .collect();
    let e: Vec<f64> = rows.iter().map(|&k| errors[k]).collect();
    let (n, middle) = (e.len(), median(e.clone()));
    let size = 1.4826 * median(e.iter().map(|e| (e - middle).abs()).collect());
    if used.is_empty() || size <= 0.0 || n < 10 {
        return 0.0;
    }
    let e: Vec<f64> = e.iter().map(|e| ((e - middle) / size).clamp(-3.0, 3.0)).collect();
    let mut product = 0.0;
    for k in 0..n {
        let mut nearest = (f64::INFINITY, 0);
        for j in (0..n).filter(|&j| j != k) {
            let distance: f64 = used.iter().map(|x| (x[k] - x[j]) * (x[k] - x[j])).sum();
            if distance < nearest.0 {
                nearest = (distance, j);
            }
        }
        product += e[k] * e[nearest.1];
    }
    // Some pairs are each other's neighbours and count twice.
    product / (dot(&e, &e) / n as f64) / (1.6 * n as f64).sqrt()
}

/// The upper tail of the F distribution.
fn f_tail(f: f64, a: f64, b: f64) -> f64 {
    incomplete_beta(b / 2.0, a / 2.0, b / (b + a * f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_f_agree_with_tables() {
        // Upper 5 % and 1 % points.
        for (f, a, b, p) in [(4.965, 1.0, 10.0, 0.05), (2.866, 4.0, 20.0, 0.05), (10.044, 1.0, 10.0, 0.01)] {
            assert!((f_tail(f, a, b) / p - 1.0).abs() < 2e-3, "{f} {a} {b}: {}", f_tail(f, a, b));
        }
        assert_eq!(f_tail(0.0, 3.0, 7.0), 1.0);
    }
}
