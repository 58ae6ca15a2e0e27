//! Columns as engines see them: without units of measurement, of one sign or both, some rows held back.

use crate::dense;
use crate::form::Form;
use crate::problem::Holdout;
use crate::{Error, Problem};
use nalm::expression::Expression;
use nalm::rng::Purpose;
use nalm::{Rng, Table};

/// Share of the rows that is held back.
const HELD_BACK: f64 = 0.15;
/// Where there are fewer rows to fit to than this, no more than two are held back.
const FEW_FITTED: usize = 5;
/// Rows that engines search over.
const SEARCHED: usize = 320;
/// Rows that noisy formulas are fitted to in the end.
const FITTED: usize = 800;

/// Which rows serve what.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) inside: Vec<usize>,
    pub(crate) outside: Vec<usize>,
    pub(crate) searched: Vec<usize>,
    pub(crate) fitted: Vec<usize>,
}

impl Problem<'_> {
    /// The rows that are held back, counted from 0.
    pub fn held_back(&self) -> Result<Vec<usize>, Error> {
        Ok(Split::new(self)?.outside)
    }
}

impl Split {
    pub(crate) fn new(problem: &Problem<'_>) -> Result<Self, Error> {
        let rows = problem.table.rows();
        let mut out = vec![false; rows];
        match &problem.holdout {
            Holdout::Extreme => {
                let columns = problem.inputs.iter().map(|name| problem.table.column(name));
                let columns: Vec<&[f64]> = columns.collect::<Result<_, _>>()?;
                let depth = depths(&columns, rows);
                let mut sorted = depth.clone();
                sorted.sort_unstable();
                let count = ((HELD_BACK * rows as f64) as usize).max(2);
                let limit = sorted[count.min(rows) - 1];
                // With many columns nearly every row is extreme in one of them: then the first of equals.
                // A small table keeps rows to fit to.
                let mut left = (2 * count).min(rows.saturating_sub(FEW_FITTED)).max(2);
                for (out, depth) in out.iter_mut().zip(&depth) {
                    *out = *depth < limit || (*depth == limit && left > 0);
                    left -= usize::from(*out && left > 0);
                }
            }
            Holdout::Random => {
                let count = ((HELD_BACK * rows as f64) as usize).max(2);
                sample(rows, count).into_iter().for_each(|row| out[row] = true);
            }
            Holdout::Rows(list) => {
                for &row in list {
                    let place = out.get_mut(row).ok_or_else(|| {
                        Error::Holdout(format!(
                            "row {row} was asked for, counted from 0, but the table has {rows} rows"
                        ))
                    })?;
                    *place = true;
                }
            }
        }
        let (outside, inside): (Vec<usize>, Vec<usize>) = (0..rows).partition(|row| out[*row]);
        if inside.len() < 3 {
            let fault = format!("{} of {rows} rows are left to fit; at least 3 are needed", inside.len());
            return Err(Error::Holdout(fault));
        }
        let part = |most: usize| sample(inside.len(), most).into_iter().map(|k| inside[k]).collect();
        Ok(Self { searched: part(SEARCHED), fitted: part(FITTED), inside, outside })
    }
}

/// For every row how far it lies within the ranks of the column where it lies furthest out.
fn depths(columns: &[&[f64]], rows: usize) -> Vec<usize> {
    let mut depth = vec![usize::MAX; rows];
    let mut order: Vec<usize> = (0..rows).collect();
    for column in columns {
        if column.iter().all(|x| *x == column[0]) {
            continue;
        }
        order.sort_by(|&a, &b| column[a].total_cmp(&column[b]).then(a.cmp(&b)));
        for (rank, &row) in order.iter().enumerate() {
            depth[row] = depth[row].min(rank.min(rows - 1 - rank));
        }
    }
    depth
}

/// The values of an expression in all rows of a table.
pub(crate) fn values(expression: &Expression, table: &Table) -> Vec<f64> {
    let mut names = Vec::new();
    expression.variables(&mut |name| names.push(name));
    names.sort_unstable();
    names.dedup();
    let columns: Vec<(&str, &[f64])> =
        names.into_iter().filter_map(|name| Some((name, table.column(name).ok()?))).collect();
    let at = |row: usize, name: &str| columns.iter().find(|c| c.0 == name).map_or(f64::NAN, |c| c.1[row]);
    (0..table.rows()).map(|row| expression.evaluate(&|name| at(row, name))).collect()
}

/// At most `most` of `count`, in order.
fn sample(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let mut rng = Draws::new("rows");
    let mut all: Vec<usize> = (0..count).collect();
    for k in 0..most {
        let other = k + rng.below(count - k);
        all.swap(k, other);
    }
    all.truncate(most);
    all.sort_unstable();
    all
}

/// Random numbers of an engine; the same every time.
pub(crate) struct Draws(Rng);

impl Draws {
    pub(crate) fn new(key: &str) -> Self {
        Self(Rng::fast(&format!("fit {key}"), Purpose::Init))
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.uniform(0.0, 1.0)
    }

    pub(crate) fn normal(&mut self) -> f64 {
        self.0.normal()
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.uniform() * bound as f64) as usize).min(bound - 1)
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// `count` different numbers below `bound`.
    pub(crate) fn some(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..bound).collect();
        for k in 0..count.min(bound) {
            let other = k + self.below(bound - k);
            all.swap(k, other);
        }
        all.truncate(count);
        all
    }
}

/// Columns and target over some rows: all that an engine sees.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) x: Vec<Vec<f64>>,
    pub(crate) y: Vec<f64>,
}

impl View {
    pub(crate) fn rows(&self) -> usize {
        self.y.len()
    }

    pub(crate) fn columns(&self) -> usize {
        self.x.len()
    }

    /// 1 or -1 if the target has that sign in all rows.
    pub(crate) fn sign(&self) -> Option<f64> {
        let first = self.y.first()?.signum();
        self.y.iter().all(|y| *y != 0.0 && y.signum() == first).then_some(first)
    }

    /// The sign of most of the target.
    pub(crate) fn usual_sign(&self) -> f64 {
        if dense::median(self.y.clone()) < 0.0 { -1.0 } else { 1.0 }
    }

    pub(crate) fn mixed(&self) -> Vec<bool> {
        self.x.iter().map(|x| is_mixed(x)).collect()
    }

    /// Only the rows that a test wants.
    pub(crate) fn filtered(&self, keep: impl Fn(usize) -> bool) -> Self {
        let rows: Vec<usize> = (0..self.rows()).filter(|k| keep(*k)).collect();
        let part = |column: &Vec<f64>| rows.iter().map(|&k| column[k]).collect();
        Self { x: self.x.iter().map(part).collect(), y: part(&self.y) }
    }

    /// Only the rows without zeros.
    pub(crate) fn without_zeros(&self) -> Self {
        let zero = |k: usize| self.y[k] == 0.0 || self.x.iter().any(|x| x[k] == 0.0);
        if (0..self.rows()).any(zero) { self.filtered(|k| !zero(k)) } else { self.clone() }
    }

    pub(crate) fn logs(&self) -> Vec<Vec<f64>> {
        self.x.iter().map(|x| x.iter().map(|x| libm::log(x.abs())).collect()).collect()
    }

    /// Only some columns, with the target divided by powers of others.
    pub(crate) fn divided(&self, keep: &[usize], powers: &[f64]) -> Self {
        let mut y = self.y.clone();
        for (x, &p) in self.x.iter().zip(powers) {
            if p == 0.0 {
                continue;
            }
            for (y, &x) in y.iter_mut().zip(x) {
                let size = crate::form::power(x.abs(), p);
                *y /= if crate::form::is_odd(p) && x < 0.0 { -size } else { size };
            }
        }
        Self { x: keep.iter().map(|&i| self.x[i].clone()).collect(), y }
    }

    /// Signs s and b with sgn y = s Π sgn(x)^b, if there are such: Gauss' elimination over the patterns of signs.
    pub(crate) fn parity(&self) -> Option<(f64, Vec<bool>)> {
        let mixed: Vec<usize> = (0..self.columns()).filter(|&i| is_mixed(&self.x[i])).collect();
        if mixed.is_empty() {
            return self.sign().map(|sign| (sign, vec![false; self.columns()]));
        }
        let width = mixed.len() + 1;
        let mut rows: Vec<Vec<bool>> = Vec::new();
        let mut seen = std::collections::BTreeMap::new();
        for k in (0..self.rows()).filter(|&k| self.y[k] != 0.0 && mixed.iter().all(|&i| self.x[i][k] != 0.0)) {
            let mut row: Vec<bool> = mixed.iter().map(|&i| self.x[i][k] < 0.0).collect();
            row.push(true);
            let negative = self.y[k] < 0.0;
            if *seen.entry(row.clone()).or_insert(negative) != negative {
                return None;
            }
        }
        for (mut row, negative) in seen {
            row.push(negative);
            rows.push(row);
        }
        let (mut rank, mut pivots) = (0, Vec::new());
        for c in 0..width {
            let Some(k) = (rank..rows.len()).find(|&k| rows[k][c]) else { continue };
            rows.swap(rank, k);
            let pivot = rows[rank].clone();
            for (k, row) in rows.iter_mut().enumerate() {
                if k != rank && row[c] {
                    row.iter_mut().zip(&pivot).for_each(|(a, b)| *a ^= b);
                }
            }
            pivots.push(c);
            rank += 1;
        }
        if rows[rank..].iter().any(|row| row[width]) {
            return None;
        }
        let (mut sign, mut odd) = (1.0, vec![false; self.columns()]);
        for (row, &c) in rows.iter().zip(&pivots) {
            match mixed.get(c) {
                Some(&i) => odd[i] = row[width],
                None if row[width] => sign = -1.0,
                None => {}
            }
        }
        Some((sign, odd))
    }
}

fn is_mixed(x: &[f64]) -> bool {
    x.iter().any(|x| *x < 0.0) && x.iter().any(|x| *x > 0.0)
}

/// All columns that vary, positive or of both signs, with what they are called and scaled by.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// What each column is in the words of the table.
    pub(crate) meaning: Vec<Expression>,
    /// Values over all rows. A negative column is stored without its sign, and its meaning says so.
    pub(crate) x: Vec<Vec<f64>>,
    pub(crate) y: Vec<f64>,
    pub(crate) scales: Vec<f64>,
    pub(crate) target_scale: f64,
    pub(crate) mixed: Vec<bool>,
    pub(crate) parity: Option<(f64, Vec<bool>)>,
    /// For columns that are functions of others, by how much they enlarge the rounding of what they are made of, in every row.
    pub(crate) conditions: Vec<(usize, Vec<f64>)>,
}

/// The geometric mean of what is not 0.
fn size(x: &[f64]) -> f64 {
    let logs: Vec<f64> = x.iter().filter(|x| **x != 0.0).map(|x| libm::log(x.abs())).collect();
    if logs.is_empty() { 1.0 } else { libm::exp(logs.iter().sum::<f64>() / logs.len() as f64) }
}

impl Columns {
    /// Columns with their meaning; those with one value are left out.
    pub(crate) fn new(columns: Vec<(Expression, Vec<f64>)>, y: Vec<f64>) -> Self {
        let (mut meaning, mut x) = (Vec::new(), Vec::new());
        for (name, mut column) in columns {
            if column.iter().all(|v| *v == column[0]) {
                continue;
            }
            if column.iter().all(|v| *v < 0.0) {
                column.iter_mut().for_each(|v| *v = -*v);
                meaning.push(name.times(-1.0));
            } else {
                meaning.push(name);
            }
            x.push(column);
        }
        let scales = x.iter().map(|x| size(x)).collect();
        let view = View { x, y };
        let (mixed, parity) = (view.mixed(), view.parity());
        let View { x, y } = view;
        Self { meaning, scales, target_scale: size(&y), x, y, mixed, parity, conditions: Vec::new() }
    }

    /// The same columns with another target.
    pub(crate) fn with_target(&self, y: Vec<f64>) -> Self {
        let view = View { x: self.x.clone(), y };
        let parity = view.parity();
        Self { target_scale: size(&view.y), y: view.y, parity, ..self.clone() }
    }

    /// Some rows alone.
    pub(crate) fn part(&self, rows: &[usize]) -> Self {
        let part = |x: &Vec<f64>| rows.iter().map(|&k| x[k]).collect::<Vec<f64>>();
        let conditions = self.conditions.iter().map(|(i, own)| (*i, part(own))).collect();
        Self { x: self.x.iter().map(part).collect(), y: part(&self.y), conditions, ..self.clone() }
    }

    /// Some rows, scaled.
    pub(crate) fn view(&self, rows: &[usize]) -> View {
        let part = |x: &[f64], scale: f64| rows.iter().map(|&k| x[k] / scale).collect();
        View {
            x: self.x.iter().zip(&self.scales).map(|(x, &g)| part(x, g)).collect(),
            y: part(&self.y, self.target_scale),
        }
    }

    /// A form over a scaled view as one over the columns themselves.
    pub(crate) fn unscaled(&self, form: &Form) -> Form {
        form.rescaled(&self.scales, self.target_scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_products_are_found_and_others_refused() {
        let a: Vec<f64> = (0..40).map(|k| libm::cos(k as f64)).collect();
        let b: Vec<f64> = (0..40).map(|k| libm::cos(2.3 * k as f64 + 1.0)).collect();
        let y = |f: fn(f64, f64) -> f64| a.iter().zip(&b).map(|(a, b)| f(*a, *b)).collect::<Vec<_>>();
        let view = |y| View { x: vec![a.clone(), b.clone()], y };
        assert_eq!(view(y(|a, b| -a * b * b)).parity(), Some((-1.0, vec![true, false])));
        assert_eq!(view(y(|a, b| a * b)).parity(), Some((1.0, vec![true, true])));
        assert_eq!(view(y(|a, b| a + b)).parity(), None);
    }

    #[test]
    fn samples_are_in_order_and_without_repeats() {
        let rows = sample(1000, 320);
        assert_eq!(rows.len(), 320);
        assert!(rows.windows(2).all(|w| w[0] < w[1]));
    }
}
