//! Cells of equal colour as one path.

use std::collections::BTreeMap;

/// The paths of all colours: neighbours in a line are one piece, which `at` draws from line, column and length.
pub(super) fn mosaic<T: Copy + Ord>(
    cells: &[T],
    width: usize,
    at: impl Fn(usize, usize, usize) -> String,
) -> BTreeMap<T, String> {
    let mut paths: BTreeMap<T, String> = BTreeMap::new();
    for (row, line) in cells.chunks(width).enumerate() {
        let mut column = 0;
        for run in line.chunk_by(|a, b| a == b) {
            *paths.entry(run[0]).or_default() += &at(row, column, run.len());
            column += run.len();
        }
    }
    paths
}
