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
