//! Digits that are rotated, scaled and moved, one in each of two colour channels.

use crate::mnist::{SIDE, normalise};
use nalm::Real;
use nalm::rng::Fast;

/// Rows and columns of a picture.
pub const CANVAS: usize = 42;
/// Numbers of a picture `[row][column][channel]`.
pub const PICTURE: usize = CANVAS * CANVAS * 2;

/// How one digit is changed. The reference code draws it anew whenever it looks at a sample, in tests, too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Degrees clockwise.
    pub angle: f64,
    /// Size of what is seen.
    pub scale: f64,
    /// Row and column at which the digit's square starts.
    pub offset: [usize; 2],
}

impl Change {
    /// Up to 45 degrees, 0.7 to 1.2 times the size, anywhere but on the last row and column.
    pub fn draw(rng: &mut Fast) -> Self {
        let mut unit = || f64::from(rng.word()) / 4_294_967_296.0;
        let (angle, scale) = (90.0 * unit() - 45.0, 0.7 + 0.5 * unit());
        let mut offset = || rng.below((CANVAS - SIDE) as u32) as usize;
        Self { angle, scale, offset: [offset(), offset()] }
    }
}

/// Writes a digit into one channel of a picture. Rotation and scaling happen within the digit's own square, so ink may be lost; the centre
/// is half a pixel off, as in the reference code.
pub fn paint<R: Real>(image: &[u8], change: Change, channel: usize, picture: &mut [R]) {
    let background = R::of(f64::from(normalise(0)));
    picture.iter_mut().skip(channel).step_by(2).for_each(|pixel| *pixel = background);
    let centre = 0.5 * SIDE as f64 + 0.5;
    let (sin, cos) = libm::sincos(change.angle.to_radians());
    let inside = |v: f64| (0.0..SIDE as f64).contains(&v);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let (u, v) = (x as f64 + 0.5 - centre, y as f64 + 0.5 - centre);
            let from_x = (cos * u + sin * v) / change.scale + centre;
            let from_y = (-sin * u + cos * v) / change.scale + centre;
            if inside(from_x) && inside(from_y) {
                let byte = image[from_y as usize * SIDE + from_x as usize];
                let (row, column) = (change.offset[0] + y, change.offset[1] + x);
                picture[(row * CANVAS + column) * 2 + channel] = R::of(f64::from(normalise(byte)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalm::rng::Purpose;

    const STILL: Change = Change { angle: 0.0, scale: 1.0, offset: [3, 5] };

    fn painted(image: &[u8], change: Change) -> Vec<f32> {
        let mut picture = vec![7.0f32; PICTURE];
        paint(image, change, 0, &mut picture);
        assert!(picture.iter().skip(1).step_by(2).all(|&v| v == 7.0), "the other channel is left alone");
        picture.into_iter().step_by(2).collect()
    }

    #[test]
    fn an_unchanged_digit_is_only_moved() {
        let image: Vec<u8> = (0..784).map(|k| (k % 251) as u8).collect();
        let seen = painted(&image, STILL);
        for row in 0..28 {
            for column in 0..28 {
                assert_eq!(seen[(row + 3) * 42 + column + 5], normalise(image[row * 28 + column]));
            }
        }
        assert_eq!((seen[0], seen[1763]), (normalise(0), normalise(0)));
    }

    /// A dot right of the centre goes down when turned clockwise, and away from the centre when scaled up.
    #[test]
    fn turning_is_clockwise_and_scaling_enlarges() {
        let mut image = vec![0u8; 784];
        image[14 * 28 + 22] = 255;
        let place = |change: Change| {
            let seen = painted(&image, change);
            let ink: Vec<usize> = (0..1764).filter(|&k| seen[k] > 2.0).collect();
            assert!(!ink.is_empty());
            (ink[0] / 42 - change.offset[0], ink[0] % 42 - change.offset[1])
        };
        assert_eq!(place(STILL), (14, 22));
        let (row, column) = place(Change { angle: 40.0, ..STILL });
        assert!(row > 17 && column < 22, "{row} {column}");
        assert!(place(Change { scale: 1.2, ..STILL }).1 > 22);
    }

    #[test]
    fn changes_stay_within_their_bounds() {
        let mut rng = Fast::open("changes", Purpose::Data);
        let all: Vec<Change> = (0..5_000).map(|_| Change::draw(&mut rng)).collect();
        assert!(all.iter().all(|c| (-45.0..45.0).contains(&c.angle) && (0.7..1.2).contains(&c.scale)));
        let most = all.iter().flat_map(|c| c.offset).max();
        assert_eq!((most, all.iter().flat_map(|c| c.offset).min()), (Some(13), Some(0)));
    }
}
