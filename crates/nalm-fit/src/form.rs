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

/// An exponent without what rounding, or a fit of digits, has left beside a simple fraction.
fn without_rounding(e: f64) -> f64 {
    const NEAR: f64 = 1e-9;
    let simple = [1.0, 2.0, 3.0, 4.0, 5.0].into_iter().map(|d| (e * d).round() / d);
    simple.into_iter().find(|simple| (e - simple).abs() < NEAR).unwrap_or(e)
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

/// Most terms of a sum whose square is looked for.
const SQUARED: usize = 5;
/// How closely the terms of a square must agree with those of a sum.
const SQUARE: f64 = 1e-9;

impl Sum {
    /// What another sum has to be multiplied by to be this one, whatever the order of the terms, if there is such a number.
    fn times(&self, other: &Self) -> Option<f64> {
        const SAME: f64 = 1e-14;
        if self.terms.len() != other.terms.len() {
            return None;
        }
        let ratio = |term: &Term| Some(term.factor / other.terms.iter().find(|t| t.powers == term.powers)?.factor);
        let first = ratio(self.terms.first()?)?;
        let same = |term: &Term| ratio(term).is_some_and(|ratio| (ratio / first - 1.0).abs() <= SAME);
        self.terms.iter().all(same).then_some(first)
    }

    /// Under a root of whole powers, the sum whose square this is. The square of a difference cancels where its terms are alike, and its root is no
    /// difference, but its size.
    pub(crate) fn under_root_of_square(&self) -> Option<Vec<Term>> {
        if is_whole(self.power) || !is_whole(2.0 * self.power) || self.terms.len() < 3 {
            return None;
        }
        let before = |a: &Term, b: &Term| b.powers.partial_cmp(&a.powers).unwrap_or(std::cmp::Ordering::Equal);
        let mut rest = self.terms.clone();
        rest.sort_by(before);
        let same = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        let mut size: Vec<f64> = rest.iter().map(|t| t.factor.abs()).collect();
        let mut root: Vec<Term> = Vec::new();
        // As one extracts a root by hand: the leading term of what is left is twice the product of the first term and the next.
        while let Some(lead) = rest.first().cloned() {
            if root.len() == SQUARED || (root.is_empty() && lead.factor <= 0.0) {
                return None;
            }
            let next = match root.first() {
                None => Term { factor: lead.factor.sqrt(), powers: lead.powers.iter().map(|e| e / 2.0).collect() },
                Some(first) => Term {
                    factor: lead.factor / (2.0 * first.factor),
                    powers: lead.powers.iter().zip(&first.powers).map(|(a, b)| a - b).collect(),
                },
            };
            let times = root.iter().map(|t| (t, 2.0)).chain([(&next, 1.0)]);
            let products: Vec<Term> = times
                .map(|(t, times)| Term {
                    factor: times * t.factor * next.factor,
                    powers: t.powers.iter().zip(&next.powers).map(|(a, b)| a + b).collect(),
                })
                .collect();
            for product in products {
                let place = rest.iter().position(|t| same(&t.powers, &product.powers))?;
                rest[place].factor -= product.factor;
                size[place] = size[place].max(product.factor.abs());
            }
            let kept = |k: usize| rest[k].factor.abs() > SQUARE * size[k];
            let kept: Vec<usize> = (0..rest.len()).filter(|&k| kept(k)).collect();
            (rest, size) = (kept.iter().map(|&k| rest[k].clone()).collect(), kept.iter().map(|&k| size[k]).collect());
            root.push(next);
        }
        (root.len() > 1).then_some(root)
    }
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
        self = self.with_sums_once();
        self.map_own_powers(&mut |_, e| without_rounding(e));
        self.sums.iter_mut().for_each(|sum| sum.power = without_rounding(sum.power));
        self.add = self.add.map(|add| Box::new(add.simplified(mixed)));
        self
    }

    /// The form with sums that are multiples of each other as one: `(a - b) (b - a)` is `-(a - b)^2`.
    pub(crate) fn with_sums_once(mut self) -> Self {
        let mut once: Vec<Sum> = Vec::new();
        for sum in std::mem::take(&mut self.sums) {
            let known = once.iter_mut().find_map(|other| {
                let times = sum.times(other)?;
                (times > 0.0 || is_whole(sum.power)).then_some((other, times))
            });
            match known {
                Some((other, times)) => {
                    self.factor *= power(times, sum.power);
                    other.power += sum.power;
                }
                None => once.push(sum),
            }
        }
        once.retain(|sum| sum.power.abs() > 1e-12);
        self.sums = once;
        self
    }

    /// Whether there is a root of a square. It is written as the size of what is squared, whose values do not cancel.
    pub(crate) fn has_root_of_square(&self) -> bool {
        self.sums.iter().any(|sum| sum.under_root_of_square().is_some())
            || self.add.as_ref().is_some_and(|add| add.has_root_of_square())
    }

    /// The form with roots of squares as powers of what is squared, where that has one sign in all rows.
    pub(crate) fn without_roots_of_squares(mut self, columns: &[Vec<f64>], rows: usize) -> Self {
        for sum in &mut self.sums {
            let Some(mut terms) = sum.under_root_of_square() else { continue };
            let own = Self::sum(1.0, 1.0, terms.clone(), columns.len()).values(columns, rows);
            if own.iter().all(|v| *v <= 0.0) {
                terms.iter_mut().for_each(|t| t.factor = -t.factor);
            } else if !own.iter().all(|v| *v >= 0.0) {
                continue;
            }
            *sum = Sum { power: 2.0 * sum.power, terms };
        }
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

    /// Changes every exponent of a column, but for what is added.
    fn map_own_powers(&mut self, change: &mut dyn FnMut(usize, f64) -> f64) {
        let each = |powers: &mut Vec<f64>, change: &mut dyn FnMut(usize, f64) -> f64| {
            powers.iter_mut().enumerate().for_each(|(i, e)| *e = change(i, *e));
        };
        each(&mut self.powers, change);
        for term in self.sums.iter_mut().flat_map(|sum| &mut sum.terms) {
            each(&mut term.powers, change);
        }
    }

    /// Changes every exponent of a column.
    pub(crate) fn map_powers(&mut self, change: &mut dyn FnMut(usize, f64) -> f64) {
        self.map_own_powers(change);
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

    /// The largest size of an exponent or of a power of a sum.
    pub(crate) fn largest_exponent(&self) -> f64 {
        let terms = self.sums.iter().flat_map(|sum| &sum.terms).flat_map(|t| &t.powers);
        let all = self.powers.iter().chain(terms).copied().chain(self.sums.iter().map(|sum| sum.power));
        let own = all.fold(0.0, |most, e| f64::max(most, e.abs()));
        self.add.as_ref().map_or(own, |add| own.max(add.largest_exponent()))
    }

    /// Whether all terms of each sum say something in some row, beside what rounding makes of the others.
    pub(crate) fn has_telling_terms(&self, columns: &[Vec<f64>], rows: usize) -> bool {
        const TELLING: f64 = 1e-15;
        self.sums.iter().filter(|sum| sum.terms.len() > 1).all(|sum| {
            let term = |t: &Term| {
                let mut m = vec![t.factor; rows];
                multiply(&mut m, columns, &t.powers);
                m.iter_mut().for_each(|m| *m = m.abs());
                m
            };
            let all: Vec<Vec<f64>> = sum.terms.iter().map(term).collect();
            let largest = |k: usize| all.iter().fold(0.0, |most, m| f64::max(most, m[k]));
            let largest: Vec<f64> = (0..rows).map(largest).collect();
            all.iter().all(|m| m.iter().zip(&largest).any(|(m, most)| *m > TELLING * most))
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(power: f64, terms: &[(f64, [f64; 2])]) -> Sum {
        Sum { power, terms: terms.iter().map(|(factor, e)| Term { factor: *factor, powers: e.to_vec() }).collect() }
    }

    #[test]
    fn roots_of_squares_are_found_and_nothing_else() {
        let square = sum(0.5, &[(4.0, [2.0, 0.0]), (-12.0, [1.0, 1.0]), (9.0, [0.0, 2.0])]);
        let root = square.under_root_of_square().unwrap();
        assert_eq!(root, sum(1.0, &[(2.0, [1.0, 0.0]), (-3.0, [0.0, 1.0])]).terms);
        // (x + y - 2)^2
        let three = [
            (1.0, [2.0, 0.0]),
            (2.0, [1.0, 1.0]),
            (1.0, [0.0, 2.0]),
            (-4.0, [1.0, 0.0]),
            (-4.0, [0.0, 1.0]),
            (4.0, [0.0, 0.0]),
        ];
        assert_eq!(sum(-0.5, &three).under_root_of_square().unwrap().len(), 3);
        assert_eq!(sum(2.0, &three).under_root_of_square(), None);
        for other in [[1.0, 2.0, 1.001], [1.0, 0.5, 1.0], [-1.0, 2.0, -1.0], [1.0, -2.0, -1.0]] {
            let near = sum(0.5, &[(other[0], [2.0, 0.0]), (other[1], [1.0, 1.0]), (other[2], [0.0, 2.0])]);
            assert_eq!(near.under_root_of_square(), None, "{other:?}");
        }
        assert_eq!(sum(0.5, &[(1.0, [2.0, 0.0]), (1.0, [0.0, 2.0])]).under_root_of_square(), None);
    }

    #[test]
    fn sums_that_are_the_same_are_one_and_exponents_are_without_rounding() {
        let own = [(1.0, [1.0, 0.0]), (3.0, [0.0, 1.0])];
        let mut form = Form::monomial(2.0, vec![0.999_999_999_999_999_8, 1.0 / 3.0 + 1e-13]);
        form.sums = vec![sum(30.0, &own), sum(-30.0, &own), sum(0.5, &[(1.0, [0.0, 2.0]), (1.0, [0.0, 0.0])])];
        let simple = form.simplified(&[false, false]);
        assert_eq!(simple.sums.len(), 1);
        let mut form = Form::monomial(1.0, vec![0.0, 0.0]);
        form.sums = vec![
            sum(1.0, &[(1.0, [1.0, 0.0]), (-1.0, [0.0, 1.0])]),
            sum(1.0, &[(2.0, [0.0, 1.0]), (-2.0, [1.0, 0.0])]),
        ];
        let square = form.simplified(&[false, false]);
        assert_eq!((square.factor, square.sums.len(), square.sums[0].power), (-2.0, 1, 2.0));
        assert_eq!(simple.powers, [1.0, 1.0 / 3.0]);
    }
}
