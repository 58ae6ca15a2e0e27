//! Products of powers and powers of sums, in logarithms: ln|y| = a + p·u + Σ q ln|1 + Σ s exp(E·u)| with u = ln|x|.
//!
//! What is linear, a, p and q, is eliminated by projection (Golub and Pereyra, in Kaufman's form), so roots, ratios and squares
//! need no enumeration. The Hessian of ln|y| over u has, for one sum of two terms, rank one, and its eigenvector is the direction of E.

use super::dictionary::products;
use super::{Engine, Sink};
use crate::columns::{Draws, View};
use crate::dense::{Matrix, Qr, add, deviation, dot, eigen, least_squares, norm, solve_damped};
use crate::form::{Form, Sum, Term};
use std::ops::ControlFlow;

/// Sums of a few terms. Each list says for every term beyond the first to which sum it belongs.
pub(crate) struct Logarithms {
    pub(crate) shapes: &'static [&'static [usize]],
    pub(crate) starts: usize,
}

impl Engine for Logarithms {
    fn name(&self) -> &'static str {
        "logarithms"
    }

    fn search(&self, view: &View, sink: &mut dyn Sink) -> ControlFlow<()> {
        let view = view.without_zeros();
        let Some(sign) = view.sign() else { return ControlFlow::Continue(()) };
        let space = Space::new(&view, None);
        for &sums in self.shapes {
            let settings = Settings { starts: self.starts, kept: 4, good: 1e-7 };
            for (form, rms) in space.search(sums, sign, &settings, sink)? {
                sink.offer(form, rms)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Operations for all starts of a shape.
const MOST: f64 = 3e9;

/// How long to search.
pub(crate) struct Settings {
    pub(crate) starts: usize,
    /// Solutions kept of each shape.
    pub(crate) kept: usize,
    /// An error at which no further start is needed.
    pub(crate) good: f64,
}

/// Orthonormal columns.
#[derive(Clone, Default)]
pub(crate) struct Basis(Vec<Vec<f64>>);

impl Basis {
    /// Adds what a column has beyond the basis; false if that is next to nothing.
    pub(crate) fn push(&mut self, mut column: Vec<f64>, least: f64) -> bool {
        let before = norm(&column);
        self.project_out(&mut column);
        self.project_out(&mut column);
        let own = norm(&column);
        let enough = own > least * before && own > 0.0;
        if enough {
            column.iter_mut().for_each(|x| *x /= own);
            self.0.push(column);
        }
        enough
    }

    /// The column that came last.
    pub(crate) fn last(&self) -> &[f64] {
        self.0.last().map_or(&[], |column| column)
    }

    pub(crate) fn project_out(&self, v: &mut [f64]) {
        for q in &self.0 {
            let along = -dot(q, v);
            add(v, along, q);
        }
    }
}

/// Gradient and Hessian of a quadratic fit to ln|y| over u.
pub(crate) fn quadratic(
    logs: &[Vec<f64>],
    target: &[f64],
    weights: Option<&[f64]>,
) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
    let d = logs.len();
    if (d + 1) * (d + 2) / 2 > target.len() * 4 / 5 {
        return None;
    }
    let list = products(d, 2);
    let plain = vec![1.0; target.len()];
    let weights = weights.unwrap_or(&plain);
    let mut normal = super::dictionary::design(logs, &list, weights);
    let lengths = normal.normalise();
    let weighted: Vec<f64> = target.iter().zip(weights).map(|(t, w)| t * w).collect();
    let (c, _) = least_squares(&normal, &weighted);
    let (mut gradient, mut hessian) = (vec![0.0; d], vec![vec![0.0; d]; d]);
    for ((exponents, c), length) in list.iter().zip(&c).zip(&lengths) {
        let c = c / length;
        let places: Vec<usize> = (0..d).filter(|&i| exponents[i] > 0).collect();
        match (places.as_slice(), exponents.iter().sum::<i32>()) {
            (&[i], 1) => gradient[i] = c,
            (&[i], 2) => hessian[i][i] = 2.0 * c,
            (&[i, j], 2) => {
                hessian[i][j] = c;
                hessian[j][i] = c;
            }
            _ => {}
        }
    }
    Some((gradient, hessian))
}

/// The logarithms of a view, with weights.
pub(crate) struct Space {
    logs: Vec<Vec<f64>>,
    target: Vec<f64>,
    weights: Option<Vec<f64>>,
    base: Basis,
    /// Weighted target beyond the base.
    rest: Vec<f64>,
    /// Eigenvectors of the Hessian in units of the columns, the strongest first.
    directions: Vec<Vec<f64>>,
    /// The strongest without weights, where there are weights.
    second: Option<Vec<f64>>,
}

/// Eigenvectors of the Hessian of the logarithms in units of the columns, the strongest first.
fn directions(logs: &[Vec<f64>], target: &[f64], weights: Option<&[f64]>) -> Vec<Vec<f64>> {
    let Some((_, mut hessian)) = quadratic(logs, target, weights) else { return Vec::new() };
    let sd: Vec<f64> = logs.iter().map(|l| deviation(l)).collect();
    for i in 0..sd.len() {
        for j in 0..sd.len() {
            hessian[i][j] *= sd[i] * sd[j];
        }
    }
    if !hessian.iter().flatten().all(|h| h.is_finite()) {
        return Vec::new();
    }
    eigen(hessian).into_iter().map(|(_, v)| v.iter().zip(&sd).map(|(v, s)| v / s).collect()).collect()
}

/// A point of the search.
#[derive(Clone)]
struct Point {
    rms: f64,
    s: Vec<f64>,
    e: Vec<Vec<f64>>,
}

/// What an evaluation leaves for the Jacobian.
struct State {
    cost: f64,
    monomials: Vec<Vec<f64>>,
    totals: Vec<Vec<f64>>,
    basis: Basis,
    r: Vec<f64>,
    q: Vec<f64>,
}

impl Space {
    pub(crate) fn new(view: &View, weights: Option<Vec<f64>>) -> Self {
        let logs = view.logs();
        let target: Vec<f64> = view.y.iter().map(|y| libm::log(y.abs())).collect();
        let weighted = |v: &[f64]| match &weights {
            Some(w) => v.iter().zip(w).map(|(v, w)| v * w).collect(),
            None => v.to_vec(),
        };
        let mut base = Basis::default();
        base.push(weighted(&vec![1.0; target.len()]), 0.0);
        for log in &logs {
            base.push(weighted(log), 1e-10);
        }
        let mut rest = weighted(&target);
        base.project_out(&mut rest);
        let directions = directions(&logs, &target, weights.as_deref());
        // With noise a direction is a guess, and one more is worth a try.
        let second = if weights.is_some() { self::directions(&logs, &target, None) } else { Vec::new() };
        Self { logs, target, weights, base, rest, directions, second: second.into_iter().next() }
    }

    fn rows(&self) -> usize {
        self.target.len()
    }

    fn weigh(&self, mut v: Vec<f64>) -> Vec<f64> {
        if let Some(w) = &self.weights {
            v.iter_mut().zip(w).for_each(|(v, w)| *v *= w);
        }
        v
    }

    fn exponentials(&self, e: &[f64]) -> Option<Vec<f64>> {
        let mut z = vec![0.0; self.rows()];
        for (log, &e) in self.logs.iter().zip(e) {
            if e != 0.0 {
                add(&mut z, e, log);
            }
        }
        if z.iter().any(|z| z.abs() > 60.0 || z.is_nan()) {
            return None;
        }
        z.iter_mut().for_each(|z| *z = libm::exp(*z));
        Some(z)
    }

    fn evaluate(&self, sums: &[usize], s: &[f64], e: &[Vec<f64>]) -> Option<State> {
        let count = sums.iter().max()? + 1;
        let monomials: Vec<Vec<f64>> = e.iter().map(|e| self.exponentials(e)).collect::<Option<_>>()?;
        let mut totals = vec![vec![1.0; self.rows()]; count];
        for ((m, &s), &sum) in monomials.iter().zip(s).zip(sums) {
            add(&mut totals[sum], s, m);
        }
        let mut basis = self.base.clone();
        let (mut r, mut columns) = (self.rest.clone(), Vec::new());
        let before = basis.0.len();
        for total in &totals {
            let first = total[0].signum();
            if total.iter().any(|t| t.signum() != first || *t == 0.0) {
                return None;
            }
            let column = self.weigh(total.iter().map(|t| libm::log(t.abs())).collect());
            columns.push(column.clone());
            if !basis.push(column, 1e-9) {
                return None;
            }
        }
        // q from the part of the basis that belongs to the sums: a small triangular system.
        let new = &basis.0[before..];
        let along: Vec<f64> = new.iter().map(|b| dot(b, &r)).collect();
        for (b, a) in new.iter().zip(&along) {
            add(&mut r, -a, b);
        }
        let mut q = along;
        for k in (0..count).rev() {
            for j in k + 1..count {
                q[k] -= dot(&new[k], &columns[j]) * q[j];
            }
            q[k] /= dot(&new[k], &columns[k]);
        }
        if q.iter().any(|q| q.abs() > 30.0 || q.is_nan()) {
            return None;
        }
        Some(State { cost: dot(&r, &r), monomials, totals, basis, r, q })
    }

    fn minimise(&self, sums: &[usize], start: &Point, most: usize, sink: &mut dyn Sink) -> Option<Point> {
        let (rows, d, terms) = (self.rows(), self.logs.len(), sums.len());
        let (mut s, mut e) = (start.s.clone(), start.e.clone());
        let mut state = self.evaluate(sums, &s, &e)?;
        let mut damping = 1e-2;
        for step_number in 0..most {
            let mut j = Matrix::new(rows);
            let slope = |k: usize| -> Vec<f64> {
                let q = state.q[sums[k]];
                let ratio = state.monomials[k].iter().zip(&state.totals[sums[k]]).map(|(m, t)| q * m / t).collect();
                self.weigh(ratio)
            };
            let slopes: Vec<Vec<f64>> = (0..terms).map(slope).collect();
            for slope in &slopes {
                j.push(slope.iter().copied());
            }
            for (slope, s) in slopes.iter().zip(&s) {
                for log in &self.logs {
                    j.push(slope.iter().zip(log).map(|(g, l)| g * s * l));
                }
            }
            for k in 0..j.columns() {
                state.basis.project_out(j.column_mut(k));
            }
            let lengths: Vec<f64> = (0..j.columns()).map(|k| norm(j.column(k)).max(1e-12)).collect();
            for (k, &length) in lengths.iter().enumerate() {
                j.column_mut(k).iter_mut().for_each(|x| *x /= length);
            }
            let (h, g) = (j.gram(), j.transposed_times(&state.r));
            let n = g.len();
            if sink.spend((rows * n * (4 * state.basis.0.len() + n)) as f64).is_break() {
                return None;
            }
            let mut taken = None;
            for _ in 0..6 {
                if let Some(mut step) = solve_damped(&h, damping, &g) {
                    step.iter_mut().zip(&lengths).for_each(|(s, l)| *s /= l);
                    let largest = step[terms..].iter().fold(0.0f64, |m, s| m.max(s.abs()));
                    if largest > 1.0 {
                        step.iter_mut().for_each(|s| *s /= largest);
                    }
                    let s2: Vec<f64> = s.iter().zip(&step).map(|(a, b)| a + b).collect();
                    let e2: Vec<Vec<f64>> = (0..terms)
                        .map(|k| e[k].iter().zip(&step[terms + k * d..]).map(|(a, b)| a + b).collect())
                        .collect();
                    if let Some(next) = self.evaluate(sums, &s2, &e2).filter(|next| next.cost < state.cost) {
                        taken = Some((s2, e2, next));
                        break;
                    }
                }
                damping = damping * 6.0 + 1e-13;
            }
            let Some((s2, e2, next)) = taken else { break };
            let gain = (state.cost - next.cost) / state.cost;
            (s, e, state) = (s2, e2, next);
            damping = f64::max(damping / 5.0, 1e-13);
            if state.cost < 1e-30 * rows as f64 || (step_number > 6 && gain * (step_number as f64) < 1e-5) {
                break;
            }
        }
        Some(Point { rms: (state.cost / rows as f64).sqrt(), s, e })
    }

    fn start(&self, number: usize, terms: usize, draws: &mut Draws) -> Point {
        let d = self.logs.len();
        let (mut s, mut e) = (vec![0.0; terms], vec![vec![0.0; d]; terms]);
        let largest = |v: &[f64]| v.iter().fold(0.0f64, |m, v| m.max(v.abs())).max(1e-300);
        for k in 0..terms {
            let trusted = if self.second.is_some() { 22 } else { 32 };
            if !self.directions.is_empty() && terms == 1 && number < trusted {
                let v = self.second.as_ref().filter(|_| number >= 12).unwrap_or(&self.directions[0]);
                let scale = [1.0, 2.0, 0.5, 3.0][number / 4 % 4] / largest(v);
                e[k] = v.iter().map(|v| v * scale).map(|v| if v.abs() < 0.08 { 0.0 } else { v }).collect();
                s[k] = [0.5, -0.4, 2.0, -0.1][number % 4];
            } else if !self.directions.is_empty() && draws.uniform() < 0.5 {
                let mut z = vec![0.0; d];
                for v in self.directions.iter().take(terms + 1) {
                    add(&mut z, draws.normal(), v);
                }
                let scale = draws.of(&[0.5, 1.0, 1.0, 2.0, 2.0, 3.0]) / largest(&z);
                e[k] = z.iter().map(|z| z * scale).collect();
                s[k] = draws.of(&[0.3, 1.0, -0.2, -0.5]);
            } else {
                let count = 1 + draws.below(d.min(4));
                for i in draws.some(count, d) {
                    e[k][i] = draws.of(&[-2.0, -1.0, -1.0, 1.0, 1.0, 2.0]);
                }
                s[k] = draws.of(&[0.3, 1.0, -0.2, -0.5]);
            }
        }
        // Sums must keep their sign over all rows.
        for k in 0..terms {
            let Some(m) = self.exponentials(&e[k]) else { continue };
            if s[k] < 0.0 {
                let most = m.iter().fold(0.0f64, |a, b| a.max(*b));
                s[k] = -0.7 / terms as f64 / most * draws.of(&[1.0, 0.3]);
            } else {
                s[k] /= crate::dense::median(m);
            }
        }
        Point { rms: f64::INFINITY, s, e }
    }

    /// The best forms of one shape, the best first.
    pub(crate) fn search(
        &self,
        sums: &[usize],
        sign: f64,
        settings: &Settings,
        sink: &mut dyn Sink,
    ) -> ControlFlow<(), Vec<(Form, f64)>> {
        let mut draws = Draws::new(&format!("logarithms {sums:?}"));
        let mut points: Vec<Point> = Vec::new();
        if self.rows() < self.logs.len() + sums.len() * (self.logs.len() + 1) + 3 {
            return ControlFlow::Continue(Vec::new());
        }
        // With many columns fewer starts fit into the time that there is.
        let unknowns = sums.len() * (self.logs.len() + 1);
        let each = (30 * self.rows() * unknowns * (5 * self.logs.len() + unknowns)) as f64;
        let starts = settings.starts.min((MOST / each) as usize);
        for number in 0..starts {
            let start = self.start(number, sums.len(), &mut draws);
            let point = self.minimise(sums, &start, 10, sink);
            sink.spend(0.0)?;
            let Some(point) = point else { continue };
            let promising = point.rms < 1e-3;
            points.push(point);
            if promising || number % 8 == 7 {
                points.sort_by(|a, b| a.rms.total_cmp(&b.rms));
                if let Some(better) = self.minimise(sums, &points[0], 80, sink) {
                    points[0] = better;
                    if points[0].rms < settings.good {
                        break;
                    }
                }
            }
        }
        points.sort_by(|a, b| a.rms.total_cmp(&b.rms));
        points.truncate(settings.kept);
        let mut found = Vec::new();
        for mut point in points {
            if point.rms > settings.good {
                point = self.minimise(sums, &point, 80, sink).unwrap_or(point);
            }
            sink.spend(0.0)?;
            let done = point.rms < settings.good;
            found.extend(self.form(sums, sign, &point).map(|form| (form, point.rms)));
            if done {
                break;
            }
        }
        ControlFlow::Continue(found)
    }

    /// The form at a point, with what is linear solved for.
    fn form(&self, sums: &[usize], sign: f64, point: &Point) -> Option<Form> {
        let state = self.evaluate(sums, &point.s, &point.e)?;
        let d = self.logs.len();
        let mut a = Matrix::new(self.rows());
        a.push(self.weigh(vec![1.0; self.rows()]));
        for log in &self.logs {
            a.push(self.weigh(log.clone()));
        }
        for total in &state.totals {
            a.push(self.weigh(total.iter().map(|t| libm::log(t.abs())).collect()));
        }
        let c = Qr::new(a, 1e-12).solve(&self.weigh(self.target.clone()));
        let mut form = Form::monomial(sign * libm::exp(c[0]), c[1..=d].to_vec());
        for (j, &q) in c[d + 1..].iter().enumerate() {
            let mut terms = vec![Term { factor: 1.0, powers: vec![0.0; d] }];
            for k in (0..sums.len()).filter(|&k| sums[k] == j) {
                terms.push(Term { factor: point.s[k], powers: point.e[k].clone() });
            }
            // ln|S|: a sum that is negative throughout is turned round.
            if state.totals[j][0] < 0.0 {
                terms.iter_mut().for_each(|t| t.factor = -t.factor);
            }
            form.sums.push(Sum { power: q, terms });
        }
        Some(form)
    }
}
