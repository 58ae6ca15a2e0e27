//! Vectors of numbers that start where a cache line does: registers that are loaded across two lines take twice as long.

use crate::vector::LANES;
use nalm::lane::{flat, flat_mut};
use nalm::{Lane, Real};
use std::ops::{Deref, DerefMut};

#[derive(Clone, Debug)]
pub(crate) struct Aligned<R> {
    lanes: Vec<Lane<R>>,
    len: usize,
}

impl<R: Real> Aligned<R> {
    /// So many zeros.
    pub(crate) fn zeros(len: usize) -> Self {
        Self { lanes: vec![Lane::ZERO; len.div_ceil(LANES)], len }
    }

    /// Changes how many there are; what the new ones are is not said.
    pub(crate) fn resize(&mut self, len: usize) {
        self.lanes.resize(len.div_ceil(LANES), Lane::ZERO);
        self.len = len;
    }
}

impl<R: Real> Deref for Aligned<R> {
    type Target = [R];
    fn deref(&self) -> &[R] {
        &flat(&self.lanes)[..self.len]
    }
}

impl<R: Real> DerefMut for Aligned<R> {
    fn deref_mut(&mut self) -> &mut [R] {
        &mut flat_mut(&mut self.lanes)[..self.len]
    }
}
