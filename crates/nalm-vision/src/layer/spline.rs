//! Thin-plate splines: where a square of pixels looks, given where sixteen control points look.
//!
//! The spline through the control points is linear in what they are moved to, so all of it is one matrix A per size of the square:
//! coordinates = A points, and the gradient of the points is A transposed times that of the coordinates.

use super::matrix::{Shape, Strips, product};
use crate::vector::Scalar;
use nalm::InstructionSet;

/// Control points.
pub const POINTS: usize = 16;
/// Places of the control points along each axis of the square [-1, 1] x [-1, 1].
const GRID: [f64; 4] = [-0.9, -0.3, 0.3, 0.9];
/// Unknowns of the spline: a weight for each point, and an affine map.
const UNKNOWNS: usize = POINTS + 3;

/// The control points (x, y) before anything is moved, row by row.
pub fn resting_points() -> [[f64; 2]; POINTS] {
    std::array::from_fn(|k| [GRID[k % 4], GRID[k / 4]])
}

/// r^2 ln r of the distance r between two points.
fn kernel([ax, ay]: [f64; 2], [bx, by]: [f64; 2]) -> f64 {
    let (x, y) = (ax - bx, ay - by);
    let d = x * x + y * y;
    if d > 0.0 { 0.5 * d * libm::log(d) } else { 0.0 }
}

/// What a place takes from each unknown.
fn row(place: [f64; 2]) -> [f64; UNKNOWNS] {
    let points = resting_points();
    std::array::from_fn(|k| match k {
        k if k < POINTS => kernel(place, points[k]),
        POINTS => 1.0,
        k => place[k - POINTS - 1],
    })
}

/// The matrix whose solution is the spline.
fn system() -> [[f64; UNKNOWNS]; UNKNOWNS] {
    let points = resting_points();
    let mut system = [[0.0; UNKNOWNS]; UNKNOWNS];
    for (i, point) in points.into_iter().enumerate() {
        system[i] = row(point);
        for k in POINTS..UNKNOWNS {
            system[k][i] = system[i][k];
        }
    }
    system
}

/// Gauss and Jordan's way with the largest pivot of each column.
fn inverse(mut a: [[f64; UNKNOWNS]; UNKNOWNS]) -> [[f64; UNKNOWNS]; UNKNOWNS] {
    let mut b = [[0.0; UNKNOWNS]; UNKNOWNS];
    (0..UNKNOWNS).for_each(|k| b[k][k] = 1.0);
    for k in 0..UNKNOWNS {
        let pivot = (k..UNKNOWNS).fold(k, |best, i| if a[i][k].abs() > a[best][k].abs() { i } else { best });
        a.swap(k, pivot);
        b.swap(k, pivot);
        let scale = 1.0 / a[k][k];
        a[k].iter_mut().chain(&mut b[k]).for_each(|v| *v *= scale);
        for i in (0..UNKNOWNS).filter(|i| *i != k) {
            let factor = a[i][k];
            for j in 0..UNKNOWNS {
                a[i][j] -= factor * a[k][j];
                b[i][j] -= factor * b[k][j];
            }
        }
    }
    b
}

/// The matrix A `[pixel][control point]` of a square of `side` x `side` pixels whose outermost lie on the border of [-1, 1] x [-1, 1].
fn matrix(side: usize) -> Vec<f64> {
    let inverse = inverse(system());
    let at = |k: usize| 2.0 * k as f64 / (side - 1) as f64 - 1.0;
    let pixel = |p: usize| {
        let row = row([at(p % side), at(p / side)]);
        let entry = move |k: usize| row.iter().zip(&inverse).map(|(r, i)| r * i[k]).sum::<f64>();
        (0..POINTS).map(entry)
    };
    (0..side * side).flat_map(pixel).collect()
}

/// The splines of a square of pixels.
#[derive(Clone, Debug)]
pub struct Spline<R> {
    matrix: Vec<R>,
    pixels: usize,
    set: InstructionSet,
}

impl<R: Scalar> Spline<R> {
    /// For `side` x `side` pixels, at least 2 x 2.
    pub fn new(side: usize, set: InstructionSet) -> Self {
        let side = side.max(2);
        Self { matrix: matrix(side).into_iter().map(R::of).collect(), pixels: side * side, set }
    }

    /// Pixels of the square.
    pub fn pixels(&self) -> usize {
        self.pixels
    }

    fn shapes(&self, samples: usize) -> [Shape; 3] {
        let points = Shape { rows: samples, columns: POINTS, row_stride: 2 * POINTS, column_stride: 2 };
        let coordinates = Shape { rows: samples, columns: self.pixels, row_stride: 2 * self.pixels, column_stride: 1 };
        [points, coordinates, Shape::new(self.pixels, POINTS)]
    }

    /// From points `[sample][point][x, y]` to coordinates `[sample][x, y][pixel]`.
    pub fn forward(&self, points: &[R], coordinates: &mut [R]) {
        let [from, to, matrix] = self.shapes(points.len() / (2 * POINTS));
        let mut strips = Strips::new();
        for axis in 0..2 {
            let coordinates = &mut coordinates[axis * self.pixels..];
            product(self.set, &mut strips, coordinates, to, &points[axis..], from, &self.matrix, matrix.transposed());
        }
    }

    /// From the gradient of coordinates to that of points.
    pub fn backward(&self, dcoordinates: &[R], dpoints: &mut [R]) {
        let [to, from, matrix] = self.shapes(dpoints.len() / (2 * POINTS));
        let mut strips = Strips::new();
        for axis in 0..2 {
            let dcoordinates = &dcoordinates[axis * self.pixels..];
            product(self.set, &mut strips, &mut dpoints[axis..], to, dcoordinates, from, &self.matrix, matrix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        let close = |got: f64, want: f64, digits: f64| assert!((got - want).abs() < digits, "{got} is not {want}");
        close(system()[0][1], -0.183_897_224_6, 1e-10);
        close(inverse(system())[0][0], 1.322_880_328_4, 1e-10);
        let a = matrix(42);
        for (k, want) in [1.208_688_92, -0.082_495_88, 0.035_486_54, 0.009_346_58].into_iter().enumerate() {
            close(a[k], want, 1e-8);
        }
        close(a[1763 * 16 + 14], -0.082_495_88, 1e-8);
        close(a[1763 * 16 + 15], 1.208_688_92, 1e-8);
        close(a.iter().fold(0.0, |most: f64, v| most.max(v.abs())), 1.208_688_9, 1e-7);
        a.chunks_exact(16).for_each(|row| close(row.iter().sum(), 1.0, 1e-12));
    }

    #[test]
    fn resting_points_leave_the_grid_where_it_is() {
        let spline = Spline::<f64>::new(42, InstructionSet::best());
        let points = resting_points().concat();
        let mut out = vec![0.0; 2 * spline.pixels()];
        spline.forward(&points, &mut out);
        for (p, (x, y)) in out[..1764].iter().zip(&out[1764..]).enumerate() {
            let want = [p % 42, p / 42].map(|k| 2.0 * k as f64 / 41.0 - 1.0);
            assert!((x - want[0]).abs() < 1e-13 && (y - want[1]).abs() < 1e-13, "pixel {p}");
        }
    }

    /// A is linear, so its transpose is right if <A p, c> = <p, A^T c>.
    #[test]
    fn backward_is_the_transpose() {
        let spline = Spline::<f64>::new(7, InstructionSet::best());
        let points: Vec<f64> = (0..3 * 32).map(|k| (k as f64 * 0.7).sin()).collect();
        let gradients: Vec<f64> = (0..3 * 98).map(|k| (k as f64 * 0.3).cos()).collect();
        let (mut coordinates, mut dpoints) = (vec![0.0; 3 * 98], vec![0.0; 3 * 32]);
        spline.forward(&points, &mut coordinates);
        spline.backward(&gradients, &mut dpoints);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((dot(&coordinates, &gradients) - dot(&points, &dpoints)).abs() < 1e-10);
    }
}
