//! What printed digits say: a row that was rounded allows all numbers that round to it, and the constants that all rows allow are few.

use crate::columns::Columns;
use crate::constants;
use crate::dense::{Matrix, Qr, root_mean_square};
use crate::form::{Form, monomial, multiply};
use std::borrow::Cow;

/// Steps towards the constants whose worst row is best.
const STEPS: usize = 60;
/// Constants that are no multiples of each other: the smallest part of a derivative that the others do not explain.
const APART: f64 = 1e-10;

/// A target whose rows were printed with so many digits.
pub(crate) struct Printed<'a> {
    x: Cow<'a, [Vec<f64>]>,
    y: Cow<'a, [f64]>,
    /// How far from each row what was printed can lie.
    halves: Vec<f64>,
}

/// A constant of a form: the factor in front, or that of a term of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Factor,
    Term(usize, usize),
}

impl Place {
    fn of(self, form: &mut Form) -> &mut f64 {
        match self {
            Place::Factor => &mut form.factor,
            Place::Term(s, t) => &mut form.sums[s].terms[t].factor,
        }
    }
}

/// The factor in front of a form, and those of all terms, in order.
fn all_places(form: &Form) -> impl Iterator<Item = Place> {
    let terms = form.sums.iter().enumerate().flat_map(|(s, sum)| (0..sum.terms.len()).map(move |t| Place::Term(s, t)));
    [Place::Factor].into_iter().chain(terms)
}

/// The constants of a form that are not 1. Those give a sum its scale, or are known without a digit.
fn places(form: &Form) -> Vec<Place> {
    let mut copy = form.clone();
    all_places(form).filter(|place| place.of(&mut copy).abs() != 1.0).collect()
}

impl<'a> Printed<'a> {
    /// `units` are those of the last digits.
    pub(crate) fn new(columns: &'a Columns, units: &[f64]) -> Self {
        let half = |(y, unit): (&f64, &f64)| 0.5 * unit * (1.0 + 1e-9) + 4e-16 * y.abs();
        Self {
            x: Cow::Borrowed(&columns.x),
            y: Cow::Borrowed(&columns.y),
            halves: columns.y.iter().zip(units).map(half).collect(),
        }
    }

    /// Rows that a share of themselves may be off, or this many digits.
    pub(crate) fn or_share(mut self, share: f64) -> Self {
        self.halves.iter_mut().zip(self.y.iter()).for_each(|(half, y)| *half = half.max(share * y.abs()));
        self
    }

    /// Whether every row is within half a unit of its last digit.
    pub(crate) fn meets(&self, form: &Form) -> bool {
        let values = form.values(&self.x, self.y.len());
        (0..self.y.len()).all(|k| (values[k] - self.y[k]).abs() <= self.halves[k])
    }

    /// For every row that says something about the factor in front of a form, between which bounds it must be.
    fn bounds(&self, form: &Form) -> Vec<(f64, f64)> {
        let values = Form { factor: 1.0, ..form.clone() }.values(&self.x, self.y.len());
        let row = |k: usize| {
            let ends = ((self.y[k] - self.halves[k]) / values[k], (self.y[k] + self.halves[k]) / values[k]);
            (ends.0.min(ends.1), ends.0.max(ends.1))
        };
        (0..self.y.len()).map(row).filter(|(low, high)| low.is_finite() && high.is_finite()).collect()
    }

    /// The factors in front of a form that all rows allow.
    fn factors(&self, form: &Form) -> Option<(f64, f64)> {
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        let (low, high) = self.bounds(form).iter().fold(all, |all, own| (all.0.max(own.0), all.1.min(own.1)));
        (low <= high && low.is_finite() && high.is_finite()).then_some((low, high))
    }

    /// The form with the simplest factor in front that all rows allow, if that is much simpler than the rows leave room. Nothing else will do: the middle of all
    /// rows, say, is off by what their printed digits were rounded.
    pub(crate) fn with_meant_factor(&self, form: &Form) -> Option<Form> {
        let (low, high) = self.factors(form)?;
        Some(Form { factor: constants::between(low, high)?.value, ..form.clone() })
    }

    /// The same with the factor that most rows allow.
    pub(crate) fn with_factor_of_most(&self, form: &Form) -> Option<Form> {
        let (low, high, _) = of_most(&self.bounds(form))?;
        Some(Form { factor: constants::between(low, high)?.value, ..form.clone() })
    }

    /// Some of the rows.
    pub(crate) fn part(&self, rows: &[usize]) -> Printed<'static> {
        let part = |v: &[f64]| rows.iter().map(|&k| v[k]).collect::<Vec<f64>>();
        let x = self.x.iter().map(|x| part(x)).collect();
        Printed { x: Cow::Owned(x), y: Cow::Owned(part(&self.y)), halves: part(&self.halves) }
    }

    /// The share of the rows that can agree on a factor in front of a form.
    pub(crate) fn share_of_most(&self, form: &Form) -> f64 {
        let bounds = self.bounds(form);
        of_most(&bounds).map_or(0.0, |(_, _, count)| count as f64 / bounds.len() as f64)
    }

    /// The form with constants so that all rows are met, if there are some, with as few digits as the rows allow.
    pub(crate) fn fitted(&self, form: &Form) -> Option<Form> {
        if form.add.is_some() {
            return None;
        }
        let mut form = form.clone();
        if places(&form).iter().all(|place| *place == Place::Factor) {
            let (low, high) = self.factors(&form)?;
            form.factor = low + 0.5 * (high - low);
        } else {
            form = self.with_smallest_worst_row(form)?;
        }
        for place in places(&form) {
            let Some((low, high)) = self.room(&form, place) else { continue };
            let own = *place.of(&mut form);
            // Other constants need some of the room.
            let part = if places(&form).len() > 1 { 0.25 } else { 1.0 };
            *place.of(&mut form) = constants::shortest(own + part * low, own + part * high);
            if !self.meets(&form) {
                *place.of(&mut form) = own;
            }
        }
        self.meets(&form).then_some(form)
    }

    /// Least squares again and again, each with more weight on the rows that are off most (Lawson).
    fn with_smallest_worst_row(&self, mut form: Form) -> Option<Form> {
        let rows = self.y.len();
        let off = |form: &Form| -> Vec<f64> {
            let values = form.values(&self.x, rows);
            (0..rows).map(|k| (self.y[k] - values[k]) / self.halves[k]).collect()
        };
        let mut errors = off(&form);
        // Rounding leaves 0.6; what is much more does not come down to 1 anywhere.
        let usual = root_mean_square(&errors);
        if usual.is_nan() || usual >= 1.0 {
            return None;
        }
        let mut weights = vec![1.0f64; rows];
        for _ in 0..STEPS {
            if errors.iter().all(|e| e.abs() <= 1.0) {
                return Some(form);
            }
            let places = places(&form);
            let mut a = Matrix::new(rows);
            for place in &places {
                let slope = self.slope(&form, *place);
                a.push((0..rows).map(|k| slope[k] / self.halves[k] * weights[k].sqrt()));
            }
            let lengths = a.normalise();
            let t: Vec<f64> = errors.iter().zip(&weights).map(|(e, w)| e * w.sqrt()).collect();
            let step = Qr::new(a, APART).solve(&t);
            for ((place, step), length) in places.iter().zip(&step).zip(&lengths) {
                *place.of(&mut form) += step / length;
            }
            errors = off(&form);
            let worst = errors.iter().fold(0.0f64, |worst, e| worst.max(e.abs()));
            if !worst.is_finite() || worst == 0.0 {
                return None;
            }
            weights.iter_mut().zip(&errors).for_each(|(w, e)| *w *= (e.abs() / worst).max(1e-3));
        }
        None
    }

    /// The derivative of a form by one of its constants.
    fn slope(&self, form: &Form, place: Place) -> Vec<f64> {
        let rows = self.y.len();
        match place {
            Place::Factor => Form { factor: 1.0, ..form.clone() }.values(&self.x, rows),
            Place::Term(s, t) => {
                let sum = &form.sums[s];
                let mut slope = form.values(&self.x, rows);
                let mut total = vec![0.0; rows];
                for term in &sum.terms {
                    let mut m = vec![term.factor; rows];
                    multiply(&mut m, &self.x, &term.powers);
                    total.iter_mut().zip(m).for_each(|(t, m)| *t += m);
                }
                let own = monomial(&self.x, &sum.terms[t].powers, rows);
                for k in 0..rows {
                    // Next to 0 the sum is no divisor; its power may be.
                    let rest = if sum.power == 1.0 && total[k] == 0.0 { 0.0 } else { slope[k] / total[k] };
                    slope[k] = sum.power * own[k] * rest;
                }
                slope
            }
        }
    }

    /// How far down and up a constant can go until a row is off, all others as they are.
    fn room(&self, form: &Form, place: Place) -> Option<(f64, f64)> {
        let values = form.values(&self.x, self.y.len());
        let slope = self.slope(form, place);
        let mut room = (f64::NEG_INFINITY, f64::INFINITY);
        for k in (0..self.y.len()).filter(|&k| slope[k] != 0.0) {
            let ends = [-1.0, 1.0].map(|side| (self.y[k] + side * self.halves[k] - values[k]) / slope[k]);
            room = (room.0.max(ends[0].min(ends[1])), room.1.min(ends[0].max(ends[1])));
        }
        (room.0 <= room.1 && room.0.is_finite() && room.1.is_finite()).then_some(room)
    }

    /// How far down and up some constants of a form that meets all rows can go where all of them are free: what one of them does, others undo in
    /// part, by as much as an error of it is larger where they are fitted, too. None where one can have any value.
    fn rooms(&self, form: &Form, places: &[Place]) -> Option<Vec<(f64, f64)>> {
        let mut a = Matrix::new(self.y.len());
        for place in places {
            let slope = self.slope(form, *place);
            a.push(slope.iter().zip(&self.halves).map(|(slope, half)| slope / half));
        }
        a.normalise();
        let qr = Qr::new(a, APART);
        if qr.rank() < places.len() {
            return None;
        }
        let own = places.iter().zip(qr.standard_errors()).map(|(place, more)| {
            let (low, high) = self.room(form, *place)?;
            Some((low * more.max(1.0), high * more.max(1.0)))
        });
        own.collect()
    }

    /// For the factor in front and the factors of all terms of a form that meets all rows, how far off each can be; 0 for a 1.
    pub(crate) fn errors(&self, form: &Form) -> Option<Vec<f64>> {
        let free = places(form);
        let rooms = self.rooms(form, &free)?;
        let error = |place: Place| {
            let room = free.iter().zip(&rooms).find(|(other, _)| **other == place);
            // What several constants can do together has corners that errors of a fit do not have.
            let corners = if free.len() > 1 { 2.0 } else { 1.0 };
            room.map_or(0.0, |(_, (low, high))| corners * high.max(-low))
        };
        Some(all_places(form).map(error).collect())
    }

    /// Whether the rows leave each constant of a form so little room that the number it is, is no coincidence. The surest comes first: what is known
    /// leaves the others less room, and where one number is meant, so are the others.
    pub(crate) fn are_known(&self, form: &Form) -> bool {
        let mut free = places(form);
        let mut is_first = true;
        while !free.is_empty() {
            let Some(rooms) = self.rooms(form, &free) else { return false };
            let spare = |(place, (low, high)): (&Place, &(f64, f64))| {
                let c = *place.of(&mut form.clone());
                constants::spare(c, 0.5 * (high - low) / c, is_first)
            };
            let spare = free.iter().zip(&rooms).map(spare).enumerate();
            match spare.max_by(|a, b| a.1.total_cmp(&b.1)) {
                Some((k, spare)) if spare >= 0.0 => free.remove(k),
                _ => return false,
            };
            is_first = false;
        }
        true
    }
}

/// The bounds of the place that most intervals cover, and how many they are.
fn of_most(intervals: &[(f64, f64)]) -> Option<(f64, f64, usize)> {
    // Where one begins as another ends, both cover the point.
    let mut ends: Vec<(f64, bool)> = intervals.iter().flat_map(|(low, high)| [(*low, false), (*high, true)]).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut open, mut most, mut best) = (0usize, 0, None);
    for (k, (at, is_end)) in ends.iter().enumerate() {
        if *is_end {
            open -= 1;
            continue;
        }
        open += 1;
        if open > most {
            most = open;
            best = ends.get(k + 1).map(|next| (*at, next.0, open));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Draws;
    use crate::form::Term;
    use nalm::expression::Expression;

    /// Columns of numbers with one decimal, and a target with so many.
    fn columns(draws: &mut Draws, rows: usize, decimals: usize, law: &dyn Fn(f64, f64) -> f64) -> Columns {
        let tenths = |draws: &mut Draws| (10.0 + (590.0 * draws.uniform()).round()) / 10.0;
        let x: Vec<Vec<f64>> = (0..2).map(|_| (0..rows).map(|_| tenths(draws)).collect()).collect();
        let y = (0..rows).map(|k| format!("{:.decimals$}", law(x[0][k], x[1][k])).parse().unwrap()).collect();
        let named = ["a", "b"].into_iter().zip(x).map(|(name, x)| (Expression::variable(name), x));
        Columns::new(named.collect(), y)
    }

    const KINDS: [[f64; 2]; 7] =
        [[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.5, 0.0]];

    /// The true factor and the one that is recognised in the `k`th table of a kind.
    fn recognised(draws: &mut Draws, powers: [f64; 2], k: usize, c: f64) -> Option<f64> {
        let (rows, decimals) = ([30, 60, 100][k % 3], 1 + (k / 3) % 3);
        let law = |a: f64, b: f64| c * libm::pow(a, powers[0]) * libm::pow(b, powers[1]);
        let table = columns(draws, rows, decimals, &law);
        let printed = Printed::new(&table, &vec![libm::pow(10.0, -(decimals as f64)); rows]);
        let form = Form::monomial(1.0, powers.to_vec());
        let (low, high) = printed.factors(&form).unwrap();
        assert!((low..=high).contains(&c), "{low} {c} {high}");
        let fitted = printed.fitted(&form).unwrap();
        assert!(printed.meets(&fitted) && (low..=high).contains(&fitted.factor));
        let found = printed.with_meant_factor(&form)?;
        assert!(printed.meets(&found) && (low..=high).contains(&found.factor));
        Some(found.factor)
    }

    /// Factors without meaning in front of products and quotients, rounded: the truth is always allowed, no number outside of what all rows allow is recognised, and
    /// hardly ever one that is another number.
    #[test]
    fn factors_without_meaning_are_hardly_ever_taken_for_others() {
        let mut draws = Draws::new("random factors");
        let mut wrong = 0;
        for powers in KINDS {
            for k in 0..600 {
                let c = libm::pow(10.0, 6.0 * draws.uniform() - 2.0);
                let found = recognised(&mut draws, powers, k, c);
                wrong += usize::from(found.is_some_and(|found| (found / c - 1.0).abs() > 1e-6));
            }
        }
        assert!(wrong <= 8, "{wrong} of 4200");
    }

    /// Of factors that somebody means, the usual ones.
    #[test]
    fn factors_with_a_meaning_are_recognised() {
        let mut draws = Draws::new("meant factors");
        for c in
            [1.19, 1.0 / 1.19, 0.19 / 1.19, 0.5, 2.54, 3.785_411_784, 1.609_344, 1.0 / 0.453_592_37, 0.923, 2.0 / 3.0]
        {
            for k in 6..9 {
                let found = recognised(&mut draws, [1.0, 0.0], k, c);
                assert!(found.is_some_and(|found| (found / c - 1.0).abs() < 1e-14), "{c} {k}: {found:?}");
            }
        }
    }

    /// A line whose offset has a meaning and whose slope has none is met in all rows, and is not known.
    #[test]
    fn constants_of_a_sum_are_looked_for_until_all_rows_are_met() {
        let mut draws = Draws::new("lines");
        let mut outside = 0;
        for k in 0..100 {
            let (a, b) = (0.5 + draws.uniform(), 4.0 + draws.uniform());
            let table = columns(&mut draws, 60, 2, &|x, _| a * x + b);
            let printed = Printed::new(&table, &[0.01; 60]);
            let near = |c: f64| c * (1.0 + 1e-5);
            let terms = vec![
                Term { factor: near(b), powers: vec![0.0, 0.0] },
                Term { factor: near(a), powers: vec![1.0, 0.0] },
            ];
            let form = printed.fitted(&Form::sum(1.0, 1.0, terms, 2)).expect("some line meets all rows");
            assert!(printed.meets(&form), "{k}");
            let errors = printed.errors(&form).unwrap();
            assert_eq!(errors[0], 0.0);
            for (term, (truth, error)) in form.sums[0].terms.iter().zip([b, a].into_iter().zip(&errors[1..])) {
                outside += usize::from((term.factor - truth).abs() > *error);
            }
            assert!(!printed.are_known(&form), "{k}: {form:?}");
        }
        assert!(outside <= 10, "{outside} of 200");
        let table = columns(&mut draws, 60, 2, &|x, _| 1.8 * x + 32.0);
        let terms = vec![Term { factor: 32.0, powers: vec![0.0, 0.0] }, Term { factor: 1.8, powers: vec![1.0, 0.0] }];
        assert!(Printed::new(&table, &[0.01; 60]).are_known(&Form::sum(1.0, 1.0, terms, 2)));
    }

    #[test]
    fn most_intervals_share_a_place() {
        let all = [(1.0, 2.0), (1.5, 3.0), (1.8, 1.9), (7.0, 8.0), (1.9, 4.0)];
        assert_eq!(of_most(&all), Some((1.9, 1.9, 4)));
        assert_eq!(of_most(&[]), None);
    }
}
