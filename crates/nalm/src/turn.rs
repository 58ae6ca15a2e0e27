//! Four rows of four numbers turned into columns, and two rows woven into one: how numbers get from rows into lanes and back.

/// Rows as columns, by eight shuffles where SSE is at hand.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn turn_f32(rows: [&[f32; 4]; 4]) -> [[f32; 4]; 4] {
    use std::arch::x86_64::{
        _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    };
    let mut columns = [[0.0; 4]; 4];
    // SAFETY: SSE2 is part of x86-64; loads and stores cover exactly the four numbers of an array.
    #[allow(unsafe_code)]
    unsafe {
        let [a, b, c, d] = rows.map(|row| _mm_loadu_ps(row.as_ptr()));
        let (low, high) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
        _mm_storeu_ps(columns[0].as_mut_ptr(), _mm_movelh_ps(low, high));
        _mm_storeu_ps(columns[1].as_mut_ptr(), _mm_movehl_ps(high, low));
        let (low, high) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
        _mm_storeu_ps(columns[2].as_mut_ptr(), _mm_movelh_ps(low, high));
        _mm_storeu_ps(columns[3].as_mut_ptr(), _mm_movehl_ps(high, low));
    }
    columns
}

/// The same in double precision.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn turn_f64(rows: [&[f64; 4]; 4]) -> [[f64; 4]; 4] {
    use std::arch::x86_64::{_mm_loadu_pd, _mm_storeu_pd, _mm_unpackhi_pd, _mm_unpacklo_pd};
    let mut columns = [[0.0; 4]; 4];
    for half in [0, 2] {
        // SAFETY: as above; each half of an array has two numbers.
        #[allow(unsafe_code)]
        unsafe {
            let [a, b, c, d] = rows.map(|row| _mm_loadu_pd(row[half..].as_ptr()));
            _mm_storeu_pd(columns[half].as_mut_ptr(), _mm_unpacklo_pd(a, b));
            _mm_storeu_pd(columns[half][2..].as_mut_ptr(), _mm_unpacklo_pd(c, d));
            _mm_storeu_pd(columns[half + 1].as_mut_ptr(), _mm_unpackhi_pd(a, b));
            _mm_storeu_pd(columns[half + 1][2..].as_mut_ptr(), _mm_unpackhi_pd(c, d));
        }
    }
    columns
}

/// Two rows as one, a number from each in turn.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn weave_f32(a: &[f32; 4], b: &[f32; 4]) -> [[f32; 4]; 2] {
    use std::arch::x86_64::{_mm_loadu_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps};
    let mut woven = [[0.0; 4]; 2];
    // SAFETY: as above.
    #[allow(unsafe_code)]
    unsafe {
        let (a, b) = (_mm_loadu_ps(a.as_ptr()), _mm_loadu_ps(b.as_ptr()));
        _mm_storeu_ps(woven[0].as_mut_ptr(), _mm_unpacklo_ps(a, b));
        _mm_storeu_ps(woven[1].as_mut_ptr(), _mm_unpackhi_ps(a, b));
    }
    woven
}

/// Two rows as one, a number from each in turn.
#[inline(always)]
pub(crate) fn weave<R: Copy>(a: &[R; 4], b: &[R; 4]) -> [[R; 4]; 2] {
    [[a[0], b[0], a[1], b[1]], [a[2], b[2], a[3], b[3]]]
}

/// Rows as columns.
#[inline(always)]
pub(crate) fn turn<R: Copy>(rows: [&[R; 4]; 4]) -> [[R; 4]; 4] {
    let [a, b, c, d] = rows;
    [[a[0], b[0], c[0], d[0]], [a[1], b[1], c[1], d[1]], [a[2], b[2], c[2], d[2]], [a[3], b[3], c[3], d[3]]]
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use {turn as turn_f32, turn as turn_f64, weave as weave_f32};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_put_every_number_where_it_belongs() {
        let rows = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, f32::MIN]];
        assert_eq!(turn_f32(rows.each_ref()), turn(rows.each_ref()));
        let wide = rows.map(|row| row.map(f64::from));
        assert_eq!(turn_f64(wide.each_ref()), turn(wide.each_ref()));
        assert_eq!(turn(rows.each_ref())[1], [2.0, 6.0, 10.0, 14.0]);
        assert_eq!(weave_f32(&rows[0], &rows[1]), weave(&rows[0], &rows[1]));
        assert_eq!(weave(&rows[0], &rows[1])[1], [3.0, 7.0, 4.0, 8.0]);
    }
}
