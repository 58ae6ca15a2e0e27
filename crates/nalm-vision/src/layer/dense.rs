//! A dense layer, by matrix products of the crate `gemm`.

use crate::vector::Scalar;

/// A matrix in memory: `rows` x `columns` with these strides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

impl Shape {
    /// Row after row.
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// The same memory with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        let Self { rows, columns, row_stride, column_stride } = self;
        Self { rows: columns, columns: rows, row_stride: column_stride, column_stride: row_stride }
    }

    /// Numbers from the first to the last of the matrix.
    fn span(&self) -> usize {
        if self.rows == 0 || self.columns == 0 {
            return 0;
        }
        (self.rows - 1) * self.row_stride + (self.columns - 1) * self.column_stride + 1
    }
}

/// to = a b, on one thread.
pub(crate) fn product<R: Scalar>(to: &mut [R], at: Shape, a: &[R], a_at: Shape, b: &[R], b_at: Shape) {
    assert!(a_at.rows == at.rows && b_at.columns == at.columns && a_at.columns == b_at.rows, "shapes fit");
    assert!(to.len() >= at.span() && a.len() >= a_at.span() && b.len() >= b_at.span(), "matrices lie in their slices");
    // SAFETY: all three matrices lie within their slices, as was just checked, and `to` is borrowed mutably, so that it overlaps neither
    // of the others. Strides are below the slices' lengths and so fit.
    #[allow(unsafe_code)]
    unsafe {
        gemm::gemm(
            at.rows,
            at.columns,
            a_at.columns,
            to.as_mut_ptr(),
            at.column_stride as isize,
            at.row_stride as isize,
            false,
            a.as_ptr(),
            a_at.column_stride as isize,
            a_at.row_stride as isize,
            b.as_ptr(),
            b_at.column_stride as isize,
            b_at.row_stride as isize,
            R::ZERO,
            R::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// What follows the sums of a dense layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Linear,
    /// max(0, y)
    Relu,
    /// tanh y
    Tanh,
}

impl Activation {
    #[inline(always)]
    pub(crate) fn apply<R: Scalar>(self, y: R) -> R {
        match self {
            Activation::Linear => y,
            Activation::Relu => y.at_least(R::ZERO),
            Activation::Tanh => y.tanh(),
        }
    }

    /// The derivative, from the activation's own value.
    #[inline(always)]
    pub(crate) fn gradient<R: Scalar>(self, y: R) -> R {
        match self {
            Activation::Linear => R::ONE,
            Activation::Relu if y > R::ZERO => R::ONE,
            Activation::Relu => R::ZERO,
            Activation::Tanh => R::ONE - y * y,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers, of which products and sums are exact in any order.
    fn numbers<R: Scalar>(count: usize, step: usize) -> Vec<R> {
        (0..count).map(|k| R::of(((k * step) % 11) as f64 - 5.0)).collect()
    }

    fn compare<R: Scalar>(rows: usize, inner: usize, columns: usize) {
        let plain = [Shape::new(rows, columns), Shape::new(rows, inner), Shape::new(inner, columns)];
        let turned =
            [Shape::new(columns, rows), Shape::new(inner, rows), Shape::new(columns, inner)].map(Shape::transposed);
        for which in 0..8 {
            let [at, a_at, b_at] = [0, 1, 2].map(|k| if which >> k & 1 == 0 { plain[k] } else { turned[k] });
            // Not a number more than the matrices have.
            let (a, b) = (numbers::<R>(rows * inner, 7), numbers::<R>(inner * columns, 5));
            let mut to = vec![R::of(f64::NAN); rows * columns];
            product(&mut to, at, &a, a_at, &b, b_at);
            let element = |m: &[R], at: Shape, i: usize, j: usize| m[i * at.row_stride + j * at.column_stride].to_f64();
            for i in 0..rows {
                for j in 0..columns {
                    let want: f64 = (0..inner).map(|k| element(&a, a_at, i, k) * element(&b, b_at, k, j)).sum();
                    assert_eq!(element(&to, at, i, j), want, "{i}, {j} of {rows} x {inner} x {columns}, {which}");
                }
            }
        }
    }

    #[test]
    fn products_of_matrices_that_fill_their_slices() {
        for (rows, inner, columns) in [(1, 1, 1), (1, 7, 1), (3, 1, 2), (2, 3, 5), (5, 17, 4), (16, 4, 9), (17, 2, 33)]
        {
            compare::<f32>(rows, inner, columns);
            compare::<f64>(rows, inner, columns);
        }
    }

    #[test]
    #[should_panic = "matrices lie in their slices"]
    fn a_matrix_beyond_its_slice_is_refused() {
        let at = Shape::new(2, 2);
        product(&mut [0f32; 4], at, &[1.0; 4], at, &[1.0; 3], at);
    }

    #[test]
    #[should_panic = "matrices lie in their slices"]
    fn a_product_beyond_its_slice_is_refused() {
        let at = Shape { row_stride: 3, ..Shape::new(2, 2) };
        product(&mut [0f32; 4], at, &[1.0; 4], Shape::new(2, 2), &[1.0; 4], Shape::new(2, 2));
    }

    #[test]
    #[should_panic = "shapes fit"]
    fn matrices_that_do_not_fit_each_other_are_refused() {
        product(&mut [0f32; 4], Shape::new(2, 2), &[1.0; 6], Shape::new(2, 3), &[1.0; 4], Shape::new(2, 2));
    }
}
