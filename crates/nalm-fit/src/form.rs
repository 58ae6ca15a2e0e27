//! The one form that every engine ends in: c x^p Π (Σ a x^e)^q, and perhaps another of its kind added.
//!
//! It is a power unit over sums over power units. All later steps work on it alone.

use crate::dense;

/// A product of powers with a factor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    pub(crate) factor: f64,
    pub(crate) powers: Vec<f64>,
}

/// A sum of terms to a power.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sum {
    pub(crate) power: f64,
    pub(crate) terms: Vec<Term>,
}

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Form {
    pub(crate) factor: f64,
    pub(crate) powers: Vec<f64>,
    pub(crate) sums: Vec<Sum>,
    pub(crate) add: Option<Box<Form>>,
}

pub(crate) fn is_whole(x: f64) -> bool {
    (x - x.round()).abs() < 1e-9
}

/// Whether a power changes its sign with its base.
pub(crate) fn is_odd(power: f64) -> bool {
    power.round().rem_euclid(2.0) == 1.0
}

/// x to a power; NaN for a root of a negative number.
pub(crate) fn power(x: f64, e: f64) -> f64 {
    if is_whole(e) {
        let whole = e.round();
        let positive = match whole.abs() as u32 {
            0 => 1.0,
            1 => x,
            2 => x * x,
            3 => x * x * x,
            4 => (x * x) * (x * x),
            5 => (x * x) * (x * x) * x,
            6 => (x * x * x) * (x * x * x),
            _ => libm::pow(x, whole.abs()),
        };
        return if whole < 0.0 { 1.0 / positive } else { positive };
    }
    match e {
        0.5 => x.sqrt(),
        -0.5 => 1.0 / x.sqrt(),
        1.5 => x * x.sqrt(),
        -1.5 => 1.0 / (x * x.sqrt()),
        2.5 => (x * x) * x.sqrt(),
        -2.5 => 1.0 / ((x * x) * x.sqrt()),
        _ if x < 0.0 => f64::NAN,
        _ => libm::pow(x, e),
    }
}

/// Multiplies `by` with powers of columns.
pub(crate) fn multiply(by: &mut [f64], columns: &[Vec<f64>], powers: &[f64]) {
    for (column, &e) in columns.iter().zip(powers) {
        if e == 0.0 {
            continue;
        }
        for (m, &x) in by.iter_mut().zip(column) {
            *m *= power(x, e);
        }
    }
}

pub(crate) fn monomial(columns: &[Vec<f64>], powers: &[f64], rows: usize) -> Vec<f64> {
    let mut m = vec![1.0; rows];
    multiply(&mut m, columns, powers);
    m
}

/// The factor that a number in front of a sum becomes outside of its power.
pub(crate) fn outside(scale: f64, q: f64) -> f64 {
    if is_whole(q) { power(scale, q) } else { power(scale.abs(), q) }
}

impl Form {
    pub(crate) fn monomial(factor: f64, powers: Vec<f64>) -> Self {
        Self { factor, powers, sums: Vec::new(), add: None }
    }

    /// A sum to a power, with one sign in front.
    pub(crate) fn sum(sign: f64, power: f64, terms: Vec<Term>, columns: usize) -> Self {
        Self { factor: sign, powers: vec![0.0; columns], sums: vec![Sum { power, terms }], add: None }
    }

    /// Values over columns.
    pub(crate) fn values(&self, columns: &[Vec<f64>], rows: usize) -> Vec<f64> {
        self.evaluate(columns, rows, None)
    }

    /// Values, and for every row how much larger the error of rounding can be than that of a single product.
    pub(crate) fn values_and_conditions(&self, columns: &[Vec<f64>], rows: usize) -> (Vec<f64>, Vec<f64>) {
        let mut conditions = vec![1.0; rows];
        let values = self.evaluate(columns, rows, Some(&mut conditions));
        (values, conditions)
    }

    fn evaluate(&self, columns: &[Vec<f64>], rows: usize, mut conditions: Option<&mut Vec<f64>>) -> Vec<f64> {
        let mut values = monomial(columns, &self.powers, rows);
        values.iter_mut().for_each(|v| *v *= self.factor);
        for sum in &self.sums {
            let (mut total, mut size) = (vec![0.0; rows], vec![0.0; rows]);
            for term in &sum.terms {
                let mut m = vec![term.factor; rows];
                multiply(&mut m, columns, &term.powers);
                for k in 0..rows {
                    total[k] += m[k];
                    size[k] += m[k].abs();
                }
            }
            for k in 0..rows {
                values[k] *= power(total[k], sum.power);
            }
            if let Some(conditions) = &mut conditions {
                for k in 0..rows {
                    conditions[k] += sum.power.abs() * size[k] / total[k].abs().max(1e-300);
                }
            }
        }
        let Some(other) = &self.add else { return values };
        let mut own = vec![1.0; rows];
        let added = other.evaluate(columns, rows, conditions.is_some().then_some(&mut own));
        for k in 0..rows {
            let total = values[k] + added[k];
            if let Some(conditions) = &mut conditions {
                let size = conditions[k] * values[k].abs() + own[k] * added[k].abs();
                conditions[k] = size / total.abs().max(1e-300);
            }
            values[k] = total;
        }
        values
    }

    /// Takes what all terms of a sum share out of it, and sums of one term apart. Not out of a root for columns of both signs.
    pub(crate) fn simplified(mut self, mixed: &[bool]) -> Self {
        let mut kept = Vec::new();
        for mut sum in std::mem::take(&mut self.sums) {
            // Columns that depend on others have no factor of their own.
            if sum.terms.iter().any(|t| t.factor != 0.0) {
                sum.terms.retain(|t| t.factor != 0.0);
            }
            let whole = is_whole(sum.power);
            for i in 0..self.powers.len() {
                if mixed[i] && !whole {
                    continue;
                }
                let least = sum.terms.iter().map(|t| t.powers[i]).fold(f64::INFINITY, f64::min);
                self.powers[i] += sum.power * least;
                sum.terms.iter_mut().for_each(|t| t.powers[i] -= least);
            }
            if sum.terms.len() == 1 && sum.terms[0].powers.iter().all(|e| *e == 0.0) {
                self.factor *= outside(sum.terms[0].factor, sum.power);
            } else {
                kept.push(sum);
            }
        }
        self.sums = kept;
        self.powers.iter_mut().for_each(|p| *p = if p.abs() < 1e-12 { 0.0 } else { *p });
        self.add = self.add.map(|add| Box::new(add.simplified(mixed)));
        self
    }

    /// A form over some columns as one over all `columns` of them, times a monomial.
    pub(crate) fn lifted(&self, places: &[usize], columns: usize, times: &[f64]) -> Self {
        let spread = |powers: &[f64]| {
            let mut all = vec![0.0; columns];
            for (&place, &e) in places.iter().zip(powers) {
                all[place] += e;
            }
            all
        };
        let mut powers = spread(&self.powers);
        powers.iter_mut().zip(times).for_each(|(p, t)| *p += t);
        let term = |t: &Term| Term { factor: t.factor, powers: spread(&t.powers) };
        let sum = |s: &Sum| Sum { power: s.power, terms: s.terms.iter().map(term).collect() };
        Self { factor: self.factor, powers, sums: self.sums.iter().map(sum).collect(), add: None }
    }

    /// Changes every exponent of a column.
    pub(crate) fn map_powers(&mut self, change: &mut dyn FnMut(usize, f64) -> f64) {
        let each = |powers: &mut Vec<f64>, change: &mut dyn FnMut(usize, f64) -> f64| {
            powers.iter_mut().enumerate().for_each(|(i, e)| *e = change(i, *e));
        };
        each(&mut self.powers, change);
        for term in self.sums.iter_mut().flat_map(|sum| &mut sum.terms) {
            each(&mut term.powers, change);
        }
        if let Some(add) = &mut self.add {
            add.map_powers(change);
        }
    }

    /// The form over columns that were divided by `scales`, as one over the columns themselves.
    pub(crate) fn rescaled(&self, scales: &[f64], target: f64) -> Self {
        let mut form = self.clone();
        let unscaled = |powers: &[f64]| -> f64 {
            let log: f64 = powers.iter().zip(scales).map(|(e, g)| e * libm::log(*g)).sum();
            if powers.iter().all(|e| is_whole(*e) && e.abs() < 20.0) && log.abs() < 300.0 {
                return powers.iter().zip(scales).fold(1.0, |m, (e, g)| m * power(*g, -e));
            }
            libm::exp(-log)
        };
        form.factor *= target * unscaled(&form.powers);
        for term in form.sums.iter_mut().flat_map(|sum| &mut sum.terms) {
            term.factor *= unscaled(&term.powers);
        }
        form.add = form.add.map(|add| Box::new(add.rescaled(scales, target)));
        form
    }

    /// Constants that the data had to determine.
    pub(crate) fn free_constants(&self) -> usize {
        let own = 1 + self.sums.iter().map(|sum| sum.terms.len() - 1).sum::<usize>();
        own + self.add.as_ref().map_or(0, |add| add.free_constants())
    }

    /// The largest size of an exponent of a column, roots and powers of sums counted.
    pub(crate) fn largest_power(&self, i: usize) -> f64 {
        let sums = self
            .sums
            .iter()
            .map(|sum| sum.power.abs() * sum.terms.iter().fold(0.0, |m, t| f64::max(m, t.powers[i].abs())));
        let own = sums.fold(self.powers[i].abs(), f64::max);
        self.add.as_ref().map_or(own, |add| own.max(add.largest_power(i)))
    }

    /// Columns that occur.
    pub(crate) fn uses(&self, i: usize) -> bool {
        self.powers[i] != 0.0
            || self.sums.iter().flat_map(|s| &s.terms).any(|t| t.powers[i] != 0.0)
            || self.add.as_ref().is_some_and(|add| add.uses(i))
    }

    /// Sets the factor in front to the median of what it would have to be in every row.
    pub(crate) fn with_median_factor(mut self, columns: &[Vec<f64>], y: &[f64]) -> Option<Self> {
        let before = std::mem::replace(&mut self.factor, 1.0);
        let values = self.values(columns, y.len());
        let ratios = y.iter().zip(values).map(|(y, v)| y / v).filter(|r| r.is_finite() && *r != 0.0);
        let ratio = dense::median(ratios.collect());
        self.factor = if ratio.is_nan() { before } else { ratio };
        self.factor.is_finite().then_some(self)
    }

    /// Whether it says the same but for its constants, in whatever order its sums and their terms stand.
    pub(crate) fn same(&self, other: &Self) -> bool {
        fn pairs_up<T>(a: &[T], b: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
            let mut taken = vec![false; b.len()];
            a.len() == b.len()
                && a.iter().all(|a| {
                    let place = (0..b.len()).find(|&k| !taken[k] && same(a, &b[k]));
                    place.is_some_and(|k| !std::mem::replace(&mut taken[k], true))
                })
        }
        let same_terms = |a: &Term, b: &Term| a.powers == b.powers;
        let same_sums = |a: &Sum, b: &Sum| a.power == b.power && pairs_up(&a.terms, &b.terms, same_terms);
        self.powers == other.powers
            && pairs_up(&self.sums, &other.sums, same_sums)
            && match (&self.add, &other.add) {
                (None, None) => true,
                (Some(a), Some(b)) => a.same(b),
                _ => false,
            }
    }
}
