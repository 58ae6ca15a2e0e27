//! Functions within and around arithmetic: exp, log, sin, cos and their kin, tried one by one over the engines that are cheap.
//!
//! A column is replaced by a function of it, or the target by the inverse of one, and what is left must be arithmetic. Products with a function
//! of another product, M g(s N), are searched in logarithms like sums.

use crate::columns::{Columns, Draws, Split};
use crate::dense::{Matrix, add, dot, eigen, least_squares, norm, solve_damped};
use crate::engine::{Basis, Sink, deep, library, light, product, quadratic};
use crate::form::{Form, Term};
use crate::judge::{Judge, Judged, simple_exponent};
use crate::write;
use nalm::expression::{Expression, Function};
use std::ops::ControlFlow;

/// Operations of the whole search.
const OPERATIONS: f64 = 6e9;
/// Rows that are tried first.
const OUTSIDE: usize = 150;
/// Rows that suffice to rank products of functions.
const RANKED: usize = 72;
/// Most columns of which three at a time are arguments.
const SMALL: usize = 6;
/// Most columns of which pairs, and which alone, are replaced.
const COLUMNS: (usize, usize) = (10, 40);

/// A function of a number, by way of the language of formulas, so that both agree.
fn apply(function: Function, z: f64) -> f64 {
    match Expression::number(z).call(function) {
        Expression::Number(value) => value,
        _ => f64::NAN,
    }
}

fn extent(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// A column in place of others.
type Replaced = (Vec<usize>, Vec<(Expression, Vec<f64>)>);

/// Looks for formulas with functions.
pub(crate) struct Functions<'a> {
    /// A part of the rows.
    columns: Columns,
    split: Split,
    /// Whether an expression meets all rows.
    meets: &'a dyn Fn(&Expression) -> bool,
}

impl<'a> Functions<'a> {
    pub(crate) fn new(columns: &Columns, split: &Split, meets: &'a dyn Fn(&Expression) -> bool) -> Self {
        let outside: Vec<usize> = split.outside.iter().copied().take(OUTSIDE).collect();
        let rows: Vec<usize> = split.searched.iter().copied().chain(outside).collect();
        let part = |x: &[f64]| rows.iter().map(|&k| x[k]).collect::<Vec<f64>>();
        let named = columns.meaning.iter().cloned().zip(columns.x.iter().map(|x| part(x))).collect();
        let inside: Vec<usize> = (0..split.searched.len()).collect();
        let split = Split {
            outside: (inside.len()..rows.len()).collect(),
            searched: inside.clone(),
            fitted: inside.clone(),
            inside,
        };
        Self { columns: Columns::new(named, part(&columns.y)), split, meets }
    }

    /// The first formula that is exact, within a budget of operations.
    pub(crate) fn search(&self, sink: &mut dyn Sink) -> Option<Expression> {
        match self.all(&mut Budget { left: OPERATIONS, sink }) {
            ControlFlow::Continue(found) => found,
            ControlFlow::Break(()) => None,
        }
    }

    fn all(&self, sink: &mut dyn Sink) -> ControlFlow<(), Option<Expression>> {
        let Columns { x, y, .. } = &self.columns;
        if x.is_empty() || x.len() > COLUMNS.1 {
            return ControlFlow::Continue(None);
        }
        let same: Vec<(Expression, Vec<f64>)> = self.named();
        let outer = self.outer();
        for (t, function, sign) in &outer {
            let found = self.attempt(same.clone(), t.clone(), Some((*function, *sign)), &light(true), sink)?;
            if found.is_some() {
                return ControlFlow::Continue(found);
            }
        }
        let mut replaced: Vec<(f64, Replaced)> =
            self.replaced().into_iter().map(|replaced| (self.roughness(&self.with(&replaced)), replaced)).collect();
        replaced.sort_by(|a, b| a.0.total_cmp(&b.0));
        let replaced: Vec<Replaced> = replaced.into_iter().map(|(_, replaced)| replaced).collect();
        for replaced in &replaced {
            let found = self.attempt(self.with(replaced), y.clone(), None, &light(false), sink)?;
            if found.is_some() {
                return ControlFlow::Continue(found);
            }
        }
        for (t, function, sign) in outer.iter().filter(|o| matches!(o.1, Function::Asin | Function::Acos)) {
            for replaced in replaced.iter().filter(|r| is_wave(&r.1[0].0)) {
                let found =
                    self.attempt(self.with(replaced), t.clone(), Some((*function, *sign)), &light(false), sink)?;
                if found.is_some() {
                    return ControlFlow::Continue(found);
                }
            }
        }
        let found = self.products_of_functions(sink)?;
        if found.is_some() {
            return ControlFlow::Continue(found);
        }
        let found = self.products_with_functions(sink)?;
        if found.is_some() {
            return ControlFlow::Continue(found);
        }
        for engine in deep() {
            let engine = [engine];
            for replaced in &replaced {
                let found = self.attempt(self.with(replaced), y.clone(), None, &engine, sink)?;
                if found.is_some() {
                    return ControlFlow::Continue(found);
                }
            }
        }
        ControlFlow::Continue(None)
    }

    /// How much of the target a quadratic leaves with these columns: the right function is easier to follow than what it is of.
    fn roughness(&self, columns: &[(Expression, Vec<f64>)]) -> f64 {
        let y = &self.columns.y;
        if columns.iter().any(|(_, x)| x.iter().any(|x| !x.is_finite())) {
            return 1.0;
        }
        let d = columns.len();
        let rows: Vec<usize> = self.split.searched.iter().copied().take(200).collect();
        if (d + 1) * (d + 2) > rows.len() {
            return 1.0;
        }
        let smooth = |x: &[f64]| {
            let positive = x.iter().all(|x| *x > 0.0);
            let x: Vec<f64> = rows.iter().map(|&k| if positive { libm::log(x[k]) } else { x[k] }).collect();
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let size = crate::dense::deviation(&x).max(f64::MIN_POSITIVE);
            x.iter().map(|x| (x - mean) / size).collect::<Vec<f64>>()
        };
        let x: Vec<Vec<f64>> = columns.iter().map(|(_, x)| smooth(x)).collect();
        let target = smooth(y);
        let mut a = Matrix::new(rows.len());
        a.push(vec![1.0; rows.len()]);
        for i in 0..d {
            a.push(x[i].iter().copied());
            for j in i..d {
                a.push(x[i].iter().zip(&x[j]).map(|(a, b)| a * b));
            }
        }
        least_squares(&a, &target).1
    }

    fn named(&self) -> Vec<(Expression, Vec<f64>)> {
        self.columns.meaning.iter().cloned().zip(self.columns.x.iter().cloned()).collect()
    }

    /// Targets whose function is the target: ln y for exp, and so on.
    fn outer(&self) -> Vec<(Vec<f64>, Function, f64)> {
        let y = &self.columns.y;
        let map = |f: fn(f64) -> f64| y.iter().map(|y| f(*y)).collect::<Vec<f64>>();
        let mut list = Vec::new();
        if y.iter().all(|v| *v > 0.0) || y.iter().all(|v| *v < 0.0) {
            list.push((map(|y| libm::log(y.abs())), Function::Exp, y[0].signum()));
        }
        if extent(y) < 30.0 {
            list.push((map(libm::exp), Function::Ln, 1.0));
        }
        if extent(y) <= std::f64::consts::FRAC_PI_2 {
            list.push((map(libm::sin), Function::Asin, 1.0));
        }
        if y.iter().all(|y| (0.0..=std::f64::consts::PI).contains(y)) {
            list.push((map(libm::cos), Function::Acos, 1.0));
        }
        list
    }

    fn with(&self, (without, new): &Replaced) -> Vec<(Expression, Vec<f64>)> {
        let kept = self.named().into_iter().enumerate().filter(|(i, _)| !without.contains(i)).map(|(_, c)| c);
        kept.chain(new.iter().cloned()).collect()
    }

    fn replaced(&self) -> Vec<Replaced> {
        let Columns { x, meaning, .. } = &self.columns;
        let mut list: Vec<Replaced> = Vec::new();
        let of = |function: Function, of: Expression, z: &[f64]| {
            (of.call(function), z.iter().map(|z| apply(function, *z)).collect::<Vec<f64>>())
        };
        for (i, (x, name)) in x.iter().zip(meaning).enumerate() {
            let (most, positive) = (extent(x), x.iter().all(|x| *x > 0.0));
            if most <= 40.0 {
                list.push((vec![i], vec![of(Function::Cos, name.clone(), x)]));
                list.push((vec![i], vec![of(Function::Sin, name.clone(), x)]));
            }
            if most < 60.0 {
                list.push((vec![i], vec![of(Function::Exp, name.clone(), x)]));
            }
            if positive {
                list.push((vec![i], vec![of(Function::Ln, name.clone(), x)]));
            }
            if most <= 40.0 {
                let half: Vec<f64> = x.iter().map(|x| x / 2.0).collect();
                list.push((vec![i], vec![of(Function::Sin, name.clone().times(0.5), &half)]));
                let both = vec![of(Function::Sin, name.clone(), x), of(Function::Cos, name.clone(), x)];
                list.push((vec![i], both));
            }
        }
        if x.len() > COLUMNS.0 {
            return list;
        }
        for i in 0..x.len() {
            for j in i + 1..x.len() {
                let both =
                    |f: fn(f64, f64) -> f64| -> Vec<f64> { x[i].iter().zip(&x[j]).map(|(a, b)| f(*a, *b)).collect() };
                let (a, b) = (meaning[i].clone(), meaning[j].clone());
                let difference = both(|a, b| a - b);
                if extent(&difference) <= 40.0 {
                    let name = Expression::sum([a.clone(), b.clone().times(-1.0)]);
                    list.push((vec![i, j], vec![of(Function::Cos, name, &difference)]));
                }
                let product = both(|a, b| a * b);
                if extent(&product) <= 40.0 {
                    let name = Expression::product([a.clone(), b.clone()]);
                    list.push((vec![i, j], vec![of(Function::Cos, name, &product)]));
                }
                if x[i].iter().chain(&x[j]).all(|x| *x > 0.0) {
                    let name = Expression::product([a, b.power(-1.0)]);
                    list.push((vec![i, j], vec![of(Function::Ln, name, &both(|a, b| a / b))]));
                }
            }
        }
        list
    }

    /// Lets engines explain a target by columns; the whole formula must meet all rows.
    fn attempt(
        &self,
        columns: Vec<(Expression, Vec<f64>)>,
        y: Vec<f64>,
        outer: Option<(Function, f64)>,
        engines: &[Box<dyn crate::engine::Engine>],
        sink: &mut dyn Sink,
    ) -> ControlFlow<(), Option<Expression>> {
        let finite = |v: &[f64]| v.iter().all(|v| v.is_finite());
        let varies = |v: &[f64]| v.iter().any(|x| *x != v[0]);
        if !finite(&y) || !varies(&y) || !columns.iter().all(|(_, x)| finite(x) && varies(x)) {
            return ControlFlow::Continue(None);
        }
        let mut columns = Columns::new(columns, y);
        columns.conditions = self.conditions(&columns.meaning);
        let judge = Judge::new(&columns, &self.split);
        for engine in engines {
            let mut probe = Probe { judge: &judge, sink, found: None };
            let ended = engine.search(&judge.view, &mut probe);
            if let Some(found) = probe.found {
                let mut ways = Vec::new();
                match outer {
                    Some((function, sign)) => {
                        let signed = |e: Expression| if sign < 0.0 { e.times(-1.0) } else { e };
                        if function == Function::Exp {
                            ways.extend(factor_of_exp(&found.form).map(|(factor, rest)| {
                                let power = write::expression(&rest, &columns.meaning).call(Function::Exp);
                                signed(Expression::product(
                                    crate::constants::factors(factor).into_iter().chain([power]),
                                ))
                            }));
                        }
                        ways.push(signed(write::expression(&found.form, &columns.meaning).call(function)));
                    }
                    None => {
                        let plain = write::expression(&found.form, &columns.meaning);
                        ways.extend([powers_within_exp(&plain), plain]);
                    }
                }
                if let Some(expression) = ways.into_iter().find(|way| (self.meets)(way)) {
                    return ControlFlow::Continue(Some(expression));
                }
                continue;
            }
            ended?;
        }
        ControlFlow::Continue(None)
    }

    /// Products of powers of columns and of up to three functions of simple arguments.
    fn products_of_functions(&self, sink: &mut dyn Sink) -> ControlFlow<(), Option<Expression>> {
        let y = &self.columns.y;
        let named = self.named();
        if named.len() > COLUMNS.0 {
            return ControlFlow::Continue(None);
        }
        let usable = |k: &usize| y[*k] != 0.0 && named.iter().all(|(_, x)| x[*k] != 0.0);
        let rows: Vec<usize> = self.split.searched.iter().copied().filter(usable).take(RANKED).collect();
        if rows.len() < named.len() + 12 {
            return ControlFlow::Continue(None);
        }
        let logs = |x: &[f64]| rows.iter().map(|&k| libm::log(x[k].abs())).collect::<Vec<f64>>();
        let mut base = Basis::default();
        base.push(vec![1.0; rows.len()], 0.0);
        named.iter().for_each(|(_, x)| {
            base.push(logs(x), 1e-10);
        });
        let factors = self.factors(&named);
        let library: Vec<Vec<f64>> = factors
            .iter()
            .map(|(_, z, function)| match function {
                // The factor within exp is the power that it gets.
                Some(Function::Exp) => rows.iter().map(|&k| z[k]).collect(),
                Some(function) => rows.iter().map(|&k| libm::log(apply(*function, z[k]).abs())).collect(),
                None => logs(z),
            })
            .collect();
        sink.spend((library.len() * library.len() * rows.len() + library.len() * y.len() * 50) as f64)?;
        let target = logs(y);
        for set in library::best(&base, &target, &library, &|_| 0.0, 3) {
            let mut a = Matrix::new(rows.len());
            a.push(vec![1.0; rows.len()]);
            named.iter().for_each(|(_, x)| a.push(logs(x)));
            set.iter().for_each(|&j| a.push(library[j].iter().copied()));
            let (c, left) = least_squares(&a, &target);
            if left > 1e-7 {
                continue;
            }
            let mut columns = named.clone();
            for (&j, q) in set.iter().zip(&c[1 + named.len()..]) {
                let (name, z, function) = &factors[j];
                match function {
                    Some(Function::Exp) => {
                        let q = crate::constants::meant(*q, 1e-8).map_or(*q, |m| m.value);
                        let values = z.iter().map(|z| libm::exp(q * z)).collect();
                        columns.push((name.clone().times(q).call(Function::Exp), values));
                    }
                    Some(function) => {
                        let values = z.iter().map(|z| apply(*function, *z)).collect();
                        columns.push((name.clone().call(*function), values));
                    }
                    None => columns.push((name.clone(), z.clone())),
                }
            }
            let found = self.attempt(columns, y.clone(), None, &product(), sink)?;
            if found.is_some() {
                return ControlFlow::Continue(found);
            }
        }
        ControlFlow::Continue(None)
    }

    /// Factors that a product may have beside columns: sums and differences, and functions of simple arguments, given as these.
    fn factors(&self, named: &[(Expression, Vec<f64>)]) -> Vec<(Expression, Vec<f64>, Option<Function>)> {
        let d = named.len();
        let both = |i: usize, j: usize, f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            named[i].1.iter().zip(&named[j].1).map(|(a, b)| f(*a, *b)).collect()
        };
        let name = |i: usize| named[i].0.clone();
        let over = |i: usize| name(i).power(-1.0);
        let mut arguments: Vec<(Expression, Vec<f64>)> = named.to_vec();
        let mut list = Vec::new();
        for i in 0..d {
            for j in (0..d).filter(|&j| j != i) {
                arguments.push((Expression::product([name(i), over(j)]), both(i, j, &|a, b| a / b)));
                if j < i {
                    continue;
                }
                arguments.push((Expression::product([name(i), name(j)]), both(i, j, &|a, b| a * b)));
                let minus = Expression::sum([name(i), name(j).times(-1.0)]);
                let difference = both(i, j, &|a, b| a - b);
                list.push((minus.clone(), difference.clone(), None));
                list.push((Expression::sum([name(i), name(j)]), both(i, j, &|a, b| a + b), None));
                if d <= SMALL {
                    for k in (0..d).filter(|&k| k != i && k != j) {
                        let times = difference.iter().zip(&named[k].1).map(|(a, b)| a * b).collect();
                        arguments.push((Expression::product([minus.clone(), name(k)]), times));
                        let product = both(i, j, &|a, b| a * b);
                        let ratio = product.iter().zip(&named[k].1).map(|(a, b)| a / b).collect();
                        arguments.push((Expression::product([name(i), name(j), over(k)]), ratio));
                    }
                }
                arguments.push((minus, difference));
            }
        }
        for (name, z) in arguments {
            let most = extent(&z);
            for (factor, of) in [
                (1.0, Expression::number(1.0)),
                (0.5, Expression::number(0.5)),
                (2.0, Expression::number(2.0)),
                (std::f64::consts::PI, Expression::Pi),
                (2.0 * std::f64::consts::PI, Expression::product([Expression::number(2.0), Expression::Pi])),
            ] {
                if most * factor > 40.0 {
                    continue;
                }
                let scaled: Vec<f64> = z.iter().map(|z| factor * z).collect();
                let name = if factor == 1.0 { name.clone() } else { Expression::product([of, name.clone()]) };
                for function in [Function::Sin, Function::Cos] {
                    list.push((name.clone(), scaled.clone(), Some(function)));
                }
            }
            if most < 100.0 {
                list.push((name.clone(), z.clone(), Some(Function::Exp)));
            }
            if z.iter().all(|z| *z > 0.0) {
                list.push((name, z, Some(Function::Ln)));
            }
        }
        list
    }

    /// By how much functions enlarge the rounding of their arguments: without bound near the zeros of a wave.
    fn conditions(&self, meaning: &[Expression]) -> Vec<(usize, Vec<f64>)> {
        let mut list = Vec::new();
        for (i, name) in meaning.iter().enumerate() {
            let Expression::Call(function, of) = name else { continue };
            let condition = |z: f64| match function {
                Function::Sin => (z / libm::tan(z)).abs(),
                Function::Cos => (z * libm::tan(z)).abs(),
                Function::Exp => z.abs(),
                Function::Ln => 1.0 / libm::log(z).abs(),
                _ => 1.0,
            };
            let at = |row: usize, name: &str| {
                let place =
                    self.columns.meaning.iter().position(|m| matches!(m, Expression::Variable(own) if own == name));
                place.map_or(f64::NAN, |i| self.columns.x[i][row])
            };
            let own = (0..self.columns.y.len()).map(|row| condition(of.evaluate(&|name| at(row, name))));
            list.push((i, own.map(|c| if c.is_finite() { c } else { 1.0 }).collect()));
        }
        list
    }

    /// M g(s N) for products M and N.
    fn products_with_functions(&self, sink: &mut dyn Sink) -> ControlFlow<(), Option<Expression>> {
        let named = self.named();
        let found = self.inner_products(&named, &Inner::ALL, 16, sink)?;
        if found.is_some() || named.len() > COLUMNS.0 {
            return ControlFlow::Continue(found);
        }
        for i in 0..named.len() {
            for j in i + 1..named.len() {
                let (a, b) = (&named[i], &named[j]);
                let name = Expression::sum([a.0.clone(), b.0.clone().times(-1.0)]).call(Function::Abs);
                let values = a.1.iter().zip(&b.1).map(|(a, b)| (a - b).abs()).collect();
                let mut columns: Vec<_> =
                    named.iter().enumerate().filter(|(k, _)| *k != i && *k != j).map(|(_, c)| c.clone()).collect();
                columns.push((name, values));
                let found = self.inner_products(&columns, &[Inner::Exp, Inner::Sin], 8, sink)?;
                if found.is_some() {
                    return ControlFlow::Continue(found);
                }
            }
        }
        ControlFlow::Continue(None)
    }

    fn inner_products(
        &self,
        named: &[(Expression, Vec<f64>)],
        functions: &[Inner],
        starts: usize,
        sink: &mut dyn Sink,
    ) -> ControlFlow<(), Option<Expression>> {
        let y = &self.columns.y;
        if named.iter().any(|(_, x)| x.iter().any(|x| *x < 0.0)) {
            return ControlFlow::Continue(None);
        }
        let rows: Vec<usize> = self
            .split
            .searched
            .iter()
            .copied()
            .filter(|&k| y[k] != 0.0 && named.iter().all(|(_, x)| x[k] != 0.0))
            .collect();
        let d = named.len();
        if rows.len() < 2 * d + 6 {
            return ControlFlow::Continue(None);
        }
        let one_sign = y.iter().all(|y| *y > 0.0) || y.iter().all(|y| *y < 0.0);
        let mut logs: Vec<Vec<f64>> =
            named.iter().map(|(_, x)| rows.iter().map(|&k| libm::log(x[k])).collect()).collect();
        let means: Vec<f64> = logs.iter().map(|l| l.iter().sum::<f64>() / l.len() as f64).collect();
        logs.iter_mut().zip(&means).for_each(|(l, m)| l.iter_mut().for_each(|l| *l -= m));
        let target: Vec<f64> = rows.iter().map(|&k| libm::log(y[k].abs())).collect();
        let directions = quadratic(&logs, &target, None).map(|(_, hessian)| strongest(hessian, &logs));
        let space = Space::new(logs, target);
        for &function in functions {
            if function.is_positive() && !one_sign {
                continue;
            }
            let mut draws = Draws::new(&format!("functions {function:?}"));
            for start in 0..starts {
                let mut e = vec![0.0; d];
                match directions.as_ref().filter(|_| function.is_positive() && start < 8) {
                    Some(v) => {
                        let scale = [1.0, 1.0, 2.0, 0.5, -1.0, -1.0, -2.0, -0.5][start] / extent(v).max(1e-300);
                        e = v.iter().map(|v| v * scale).map(|v| if v.abs() < 0.1 { 0.0 } else { v }).collect();
                    }
                    None => {
                        let count = 1 + draws.below(d.min(4));
                        for i in draws.some(count, d) {
                            e[i] = draws.of(&[-1.0, 1.0, 1.0, 1.0, 2.0]);
                        }
                    }
                }
                let s = draws.of(&[0.3, 1.0, 2.0, 3.0]);
                let found = space.minimise(function, s, e, 12, sink);
                sink.spend(0.0)?;
                let Some((rms, s, e)) = found.filter(|f| f.0 < 0.4) else { continue };
                let (rms, s, e) = space.minimise(function, s, e.clone(), 60, sink).unwrap_or((rms, s, e));
                sink.spend(0.0)?;
                if rms > 1e-6 {
                    continue;
                }
                let Some(e) = e.iter().map(|e| simple_exponent(*e, 1e-2)).collect::<Option<Vec<f64>>>() else {
                    continue;
                };
                let Some(s) = space.refine(function, s, &e) else { continue };
                let log: f64 = e.iter().zip(&means).map(|(e, m)| e * m).sum();
                let s = s * libm::exp(-log);
                let s = crate::constants::meant(s, 1e-9).map_or(s, |m| m.value);
                let names: Vec<Expression> = named.iter().map(|(name, _)| name.clone()).collect();
                let inner = write::expression(&Form::monomial(s, e.clone()), &names);
                let (name, value) = function.call(inner);
                let values: Vec<Vec<f64>> = named.iter().map(|(_, x)| x.clone()).collect();
                let z = Form::monomial(s, e).values(&values, y.len());
                let mut columns = named.to_vec();
                columns.push((name, z.into_iter().map(value).collect()));
                let found = self.attempt(columns, y.clone(), None, &light(false), sink)?;
                if found.is_some() {
                    return ControlFlow::Continue(found);
                }
            }
        }
        ControlFlow::Continue(None)
    }
}

/// The factor and the rest of exp of a sum with a constant: exp(c + z) is e^c exp(z), and e^c is what somebody means.
fn factor_of_exp(form: &Form) -> Option<(f64, Form)> {
    let [sum] = &form.sums[..] else { return None };
    if sum.power != 1.0 || form.add.is_some() || form.powers.iter().any(|p| *p != 0.0) {
        return None;
    }
    let simple = |c: f64| crate::constants::meant(c, 1e-10).map_or(c, |meant| meant.value);
    let is_constant = |t: &Term| t.powers.iter().all(|p| *p == 0.0);
    let constant = sum.terms.iter().find(|t| is_constant(t))?;
    let rest: Vec<Term> = sum
        .terms
        .iter()
        .filter(|t| !is_constant(t))
        .map(|t| Term { factor: simple(form.factor * t.factor), powers: t.powers.clone() })
        .collect();
    let rest = match &rest[..] {
        [one] => Form::monomial(one.factor, one.powers.clone()),
        _ => Form::sum(1.0, 1.0, rest, form.powers.len()),
    };
    Some((simple(libm::exp(form.factor * constant.factor)), rest))
}

/// exp(z)^p as exp(p z).
fn powers_within_exp(expression: &Expression) -> Expression {
    match expression {
        Expression::Power(of, p) => match &**of {
            Expression::Call(Function::Exp, z) => z.as_ref().clone().times(*p).call(Function::Exp),
            other => Expression::Power(Box::new(powers_within_exp(other)), *p),
        },
        Expression::Product(parts) => Expression::Product(parts.iter().map(powers_within_exp).collect()),
        Expression::Sum(parts) => Expression::Sum(parts.iter().map(powers_within_exp).collect()),
        other => other.clone(),
    }
}

fn is_wave(name: &Expression) -> bool {
    matches!(name, Expression::Call(Function::Sin | Function::Cos, _))
}

fn strongest(mut hessian: Vec<Vec<f64>>, logs: &[Vec<f64>]) -> Vec<f64> {
    let sd: Vec<f64> = logs.iter().map(|l| crate::dense::deviation(l)).collect();
    for i in 0..sd.len() {
        for j in 0..sd.len() {
            hessian[i][j] *= sd[i] * sd[j];
        }
    }
    let first = eigen(hessian).into_iter().next().map_or(vec![1.0; sd.len()], |(_, v)| v);
    first.iter().zip(&sd).map(|(v, s)| v / s).collect()
}

/// Breaks when so many operations are done.
struct Budget<'a> {
    left: f64,
    sink: &'a mut dyn Sink,
}

impl Sink for Budget<'_> {
    fn offer(&mut self, form: Form, rms: f64) -> ControlFlow<()> {
        self.sink.offer(form, rms)
    }

    fn spend(&mut self, operations: f64) -> ControlFlow<()> {
        self.left -= operations;
        if self.left < 0.0 { ControlFlow::Break(()) } else { self.sink.spend(operations) }
    }
}

/// Takes the first exact formula.
struct Probe<'a> {
    judge: &'a Judge<'a>,
    sink: &'a mut dyn Sink,
    found: Option<Judged>,
}

impl Sink for Probe<'_> {
    fn offer(&mut self, form: Form, rms: f64) -> ControlFlow<()> {
        if rms < 1e-5
            && let Some(judged) = self.judge.judge(&form, rms).filter(|judged| judged.exact)
        {
            self.found = Some(judged);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn spend(&mut self, operations: f64) -> ControlFlow<()> {
        self.sink.spend(operations)
    }
}

/// Functions of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Inner {
    Exp,
    ExpMinusOne,
    Tanh,
    Cosh,
    Sin,
    Cos,
    OneMinusCos,
}

impl Inner {
    const ALL: [Inner; 7] =
        [Inner::Exp, Inner::ExpMinusOne, Inner::Tanh, Inner::Cosh, Inner::Sin, Inner::Cos, Inner::OneMinusCos];

    /// Whether it keeps one sign for positive arguments.
    fn is_positive(self) -> bool {
        matches!(self, Inner::Exp | Inner::ExpMinusOne | Inner::Tanh | Inner::Cosh)
    }

    /// ln|g| and its derivative.
    fn log(self, z: f64) -> (f64, f64) {
        let ln = |g: f64| libm::log(g.abs() + 1e-300);
        match self {
            Inner::Exp => (z, 1.0),
            Inner::ExpMinusOne => (ln(libm::expm1(z)), libm::exp(z) / libm::expm1(z)),
            Inner::Tanh => (ln(libm::tanh(z)), 2.0 / libm::sinh(2.0 * z)),
            Inner::Cosh => (ln(libm::cosh(z)), libm::tanh(z)),
            Inner::Sin => (ln(libm::sin(z)), 1.0 / libm::tan(z)),
            Inner::Cos => (ln(libm::cos(z)), -libm::tan(z)),
            Inner::OneMinusCos => (2.0 * ln(libm::sin(z / 2.0)), 1.0 / libm::tan(z / 2.0)),
        }
    }

    /// It as an expression, and its values as that expression has them.
    fn call(self, z: Expression) -> (Expression, fn(f64) -> f64) {
        let one = Expression::number(1.0);
        match self {
            Inner::Exp => (z.call(Function::Exp), libm::exp),
            Inner::ExpMinusOne => {
                (Expression::sum([z.call(Function::Exp), Expression::number(-1.0)]), |z| libm::exp(z) - 1.0)
            }
            Inner::Tanh => (z.call(Function::Tanh), libm::tanh),
            Inner::Cosh => (z.call(Function::Cosh), libm::cosh),
            Inner::Sin => (z.call(Function::Sin), libm::sin),
            Inner::Cos => (z.call(Function::Cos), libm::cos),
            Inner::OneMinusCos => (Expression::sum([z.call(Function::Cos).times(-1.0), one]), |z| 1.0 - libm::cos(z)),
        }
    }
}

/// ln|y| = a + p·u + q ln|g(s exp(E·u))|, with a, p and q eliminated.
struct Space {
    logs: Vec<Vec<f64>>,
    base: Basis,
    rest: Vec<f64>,
}

struct State {
    cost: f64,
    m: Vec<f64>,
    slope: Vec<f64>,
    basis: Basis,
    r: Vec<f64>,
}

impl Space {
    fn new(logs: Vec<Vec<f64>>, target: Vec<f64>) -> Self {
        let mut base = Basis::default();
        base.push(vec![1.0; target.len()], 0.0);
        logs.iter().for_each(|log| {
            base.push(log.clone(), 1e-10);
        });
        let mut rest = target;
        base.project_out(&mut rest);
        Self { logs, base, rest }
    }

    fn evaluate(&self, function: Inner, s: f64, e: &[f64]) -> Option<State> {
        let mut m = vec![0.0; self.rest.len()];
        for (log, &e) in self.logs.iter().zip(e) {
            add(&mut m, e, log);
        }
        if extent(&m) > 40.0 {
            return None;
        }
        m.iter_mut().for_each(|m| *m = libm::exp(*m));
        let most = s.abs() * extent(&m);
        if most > if function.is_positive() { 300.0 } else { 40.0 } {
            return None;
        }
        let (column, slope): (Vec<f64>, Vec<f64>) = m.iter().map(|m| function.log(s * m)).unzip();
        if column.iter().chain(&slope).any(|v| !v.is_finite()) {
            return None;
        }
        let mut basis = self.base.clone();
        let own = column.clone();
        if !basis.push(column, 1e-9) {
            return None;
        }
        let last = basis.last();
        let along = dot(last, &self.rest);
        let mut r = self.rest.clone();
        add(&mut r, -along, last);
        let q = along / dot(last, &own);
        let slope = slope.iter().map(|d| q * d).collect();
        Some(State { cost: dot(&r, &r), m, slope, basis, r })
    }

    fn minimise(
        &self,
        function: Inner,
        mut s: f64,
        mut e: Vec<f64>,
        most: usize,
        sink: &mut dyn Sink,
    ) -> Option<(f64, f64, Vec<f64>)> {
        let rows = self.rest.len();
        // The factor of exp is q.
        let scaled = usize::from(function != Inner::Exp);
        let mut state = self.evaluate(function, s, &e)?;
        let mut damping = 1e-2;
        for _ in 0..most {
            let mut j = Matrix::new(rows);
            if scaled == 1 {
                j.push(state.slope.iter().zip(&state.m).map(|(d, m)| d * m));
            }
            for log in &self.logs {
                j.push((0..rows).map(|k| state.slope[k] * s * state.m[k] * log[k]));
            }
            for k in 0..j.columns() {
                state.basis.project_out(j.column_mut(k));
            }
            let lengths: Vec<f64> = (0..j.columns()).map(|k| norm(j.column(k)).max(1e-12)).collect();
            for (k, &length) in lengths.iter().enumerate() {
                j.column_mut(k).iter_mut().for_each(|x| *x /= length);
            }
            let (h, g) = (j.gram(), j.transposed_times(&state.r));
            if sink.spend((rows * g.len() * 40) as f64).is_break() {
                return None;
            }
            let mut taken = None;
            for _ in 0..5 {
                if let Some(mut step) = solve_damped(&h, damping, &g) {
                    step.iter_mut().zip(&lengths).for_each(|(s, l)| *s /= l);
                    let largest = extent(&step[scaled..]);
                    if largest > 1.0 {
                        step.iter_mut().for_each(|s| *s /= largest);
                    }
                    let s2 = if scaled == 1 { s + step[0] } else { s };
                    let e2: Vec<f64> = e.iter().zip(&step[scaled..]).map(|(a, b)| a + b).collect();
                    if let Some(next) = self.evaluate(function, s2, &e2).filter(|next| next.cost < state.cost) {
                        taken = Some((s2, e2, next));
                        break;
                    }
                }
                damping = damping * 6.0 + 1e-13;
            }
            let Some(taken) = taken else { break };
            (s, e, state) = taken;
            damping = f64::max(damping / 5.0, 1e-13);
            if state.cost < 1e-26 * rows as f64 {
                break;
            }
        }
        Some(((state.cost / rows as f64).sqrt(), s, e))
    }

    /// The factor s to the last digit, at fixed exponents.
    fn refine(&self, function: Inner, mut s: f64, e: &[f64]) -> Option<f64> {
        if function == Inner::Exp {
            let state = self.evaluate(function, 1.0, e)?;
            return Some(state.slope[0]);
        }
        for _ in 0..30 {
            let state = self.evaluate(function, s, e)?;
            let mut j: Vec<f64> = state.slope.iter().zip(&state.m).map(|(d, m)| d * m).collect();
            state.basis.project_out(&mut j);
            let step = dot(&j, &state.r) / dot(&j, &j);
            if !step.is_finite() {
                break;
            }
            s += step;
            if step.abs() < 1e-15 * s.abs() {
                break;
            }
        }
        Some(s)
    }
}
