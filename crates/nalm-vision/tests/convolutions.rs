//! Convolutions of any shape against loops that follow the definition, to the last bit.
//!
//! Inputs, weights and gradients are small multiples of a power of two, so that every sum is exact in any order and in either precision.

use nalm::InstructionSet;
use nalm::rng::Fast;
use nalm_vision::vector::Scalar;
use nalm_vision::{Geometry, Layer, Mode, Net};

/// Multiples of 1/4 from -1 to 1.
fn quarters(rng: &mut Fast, n: usize) -> Vec<f64> {
    (0..n).map(|_| (f64::from(rng.below(9)) - 4.0) / 4.0).collect()
}

/// What a layer computes, and the gradients of its parameters and inputs.
#[derive(Debug, PartialEq)]
struct Pass {
    y: Vec<f64>,
    dp: Vec<f64>,
    dx: Vec<f64>,
}

/// The places in an image under a kernel that begins at a row and a column, each with its weight.
fn places(g: Geometry, row: usize, column: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..g.kernel).flat_map(move |ky| {
        (0..g.kernel * g.inputs).map(move |k| {
            let (kx, i) = (k / g.inputs, k % g.inputs);
            (((row + ky) * g.width + column + kx) * g.inputs + i, (ky * g.kernel + kx) * g.inputs + i)
        })
    })
}

/// The sum of an output, or the four of which it is the largest, with their rows and columns.
fn sums(g: Geometry, pool: bool, p: &[f64], x: &[f64], k: usize) -> Vec<(f64, usize, usize)> {
    let patch = g.kernel * g.kernel * g.inputs;
    let step = if pool { 2 } else { 1 };
    let (o, cell, columns) = (k % g.outputs, k / g.outputs, (g.width + 1 - g.kernel) / step);
    let (row, column) = (cell / columns * step, cell % columns * step);
    let all = (0..step).flat_map(|down| (0..step).map(move |right| (row + down, column + right)));
    let sum = |(row, column)| {
        let products = places(g, row, column).map(|(at, w)| x[at] * p[o * patch + w]);
        (p[g.outputs * patch + o] + products.sum::<f64>(), row, column)
    };
    all.map(sum).collect()
}

/// Whether rounding decides which of four is the largest, or whether that is above 0.
fn is_tied(sums: &[(f64, usize, usize)]) -> bool {
    let best = sums.iter().map(|(sum, ..)| *sum).fold(f64::NEG_INFINITY, f64::max);
    best == 0.0 || sums.iter().filter(|(sum, ..)| *sum == best).count() > 1
}

/// Whether numbers are those that were wanted, up to the roundings of transforms: a part of the largest.
fn is_near(found: &[f64], want: &[f64]) -> bool {
    let largest = want.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    found.len() == want.len() && found.iter().zip(want).all(|(a, b)| (a - b).abs() <= 1e-5 * largest)
}

/// The definition: sums, ReLU, the first largest one of four where it pools. Outputs that `kept` does not name are dropped, the others
/// scaled; it is told what they are without dropout.
fn defined(g: Geometry, pool: bool, scale: f64, p: &[f64], x: &[f64], dy: &[f64], kept: &[bool]) -> Pass {
    let (rows, columns) = (g.height + 1 - g.kernel, g.width + 1 - g.kernel);
    let (image, patch) = (g.height * g.width * g.inputs, g.kernel * g.kernel * g.inputs);
    let step = if pool { 2 } else { 1 };
    let len = rows / step * (columns / step) * g.outputs;
    let samples = x.len() / image;
    let mut pass = Pass { y: vec![0.0; samples * len], dp: vec![0.0; p.len()], dx: vec![0.0; x.len()] };
    for s in 0..samples {
        for k in 0..len {
            let o = k % g.outputs;
            let image = s * image..(s + 1) * image;
            let all = sums(g, pool, p, &x[image.clone()], k);
            let mut best = all[0];
            for other in &all[1..] {
                if other.0 > best.0 {
                    best = *other;
                }
            }
            let (value, row, column) = best;
            if value <= 0.0 || !kept[s * len + k] {
                continue;
            }
            pass.y[s * len + k] = value * scale;
            let d = dy[s * len + k] * scale;
            for (at, w) in places(g, row, column) {
                pass.dp[o * patch + w] += d * x[image.start + at];
                pass.dx[image.start + at] += d * p[o * patch + w];
            }
            pass.dp[g.outputs * patch + o] += d;
        }
    }
    pass
}

/// The layer alone in a network.
fn computed<R: Scalar>(layer: Layer, set: InstructionSet, p: &[f64], x: &[f64], dy: &[f64]) -> Pass {
    let narrow = |v: &[f64]| v.iter().map(|&v| R::of(v)).collect::<Vec<R>>();
    let wide = |v: &[R]| v.iter().map(|v| v.to_f64()).collect::<Vec<f64>>();
    let net = Net::new(vec![layer], set).unwrap();
    let samples = x.len() / net.input_len();
    assert_eq!((p.len(), dy.len()), (net.param_len(), samples * net.output_len()), "{layer:?}");
    let (p, x, dy) = (narrow(p), narrow(x), narrow(dy));
    let mut work = net.workspace(samples);
    let mut y = Vec::new();
    net.forward(&p, &x, &mut work, Mode::Train { key: "key" }, 1);
    work.outputs(&net, &mut y);
    // What was there must not matter.
    let (mut dp, mut dx) = (vec![R::of(7.0); p.len()], vec![R::of(7.0); x.len()]);
    net.backward(&p, &x, &mut work, &dy, &mut dp, Some(&mut dx), 1);
    let mut alone = vec![R::of(7.0); p.len()];
    net.backward(&p, &x, &mut work, &dy, &mut alone, None, 1);
    assert_eq!(wide(&dp), wide(&alone), "without the inputs' gradient, {layer:?}");
    Pass { y: wide(&y), dp: wide(&dp), dx: wide(&dx) }
}

fn compare(g: Geometry, pool: bool, drop: f64, samples: usize) {
    let mut rng = Fast::new(&format!("{g:?} {pool} {drop} {samples}"));
    let step = if pool { 2 } else { 1 };
    let len = (g.height + 1 - g.kernel) / step * ((g.width + 1 - g.kernel) / step) * g.outputs;
    let x = quarters(&mut rng, samples * g.height * g.width * g.inputs);
    let mut p = quarters(&mut rng, g.outputs * (g.kernel * g.kernel * g.inputs + 1));
    // Transforms of such kernels divide by 15 in both directions, and then 24 bits are not enough for an exact result.
    let divided = pool && g.kernel == 5 && g.inputs >= 8;
    if divided {
        p.iter_mut().for_each(|p| *p *= 225.0);
    }
    let mut dy = quarters(&mut rng, samples * len);
    if divided {
        for (k, dy) in dy.iter_mut().enumerate() {
            let image = g.height * g.width * g.inputs;
            let x = &x[k / len * image..][..image];
            *dy = if is_tied(&sums(g, pool, &p, x, k % len)) { 0.0 } else { *dy };
        }
    }
    let layer = Layer::Conv { geometry: g, pool, drop };
    let mut all = vec![true; samples * len];
    let scale = 1.0 / (1.0 - drop);
    if drop > 0.0 {
        let y = computed::<f64>(layer, InstructionSet::PORTABLE, &p, &x, &dy).y;
        let whole = defined(g, pool, scale, &p, &x, &dy, &all).y;
        all = y.iter().zip(&whole).map(|(y, whole)| y == whole).collect();
        let dropped = all.iter().filter(|kept| !**kept).count();
        assert!(y.iter().zip(&all).all(|(y, kept)| *kept || *y == 0.0) && dropped > 0, "{g:?}");
    }
    let want = defined(g, pool, scale, &p, &x, &dy, &all);
    assert!(want.y.iter().any(|y| *y > 0.0) || len < 20, "{g:?}");
    for set in InstructionSet::available() {
        let (single, double) = (computed::<f32>(layer, set, &p, &x, &dy), computed::<f64>(layer, set, &p, &x, &dy));
        let near = || is_near(&single.y, &want.y) && is_near(&single.dp, &want.dp) && is_near(&single.dx, &want.dx);
        let good = if divided { near() } else { single == want };
        assert!(good, "{g:?}, pool: {pool}, drop: {drop}, {samples} samples, {} in f32", set.name());
        assert!(double == want, "{g:?}, pool: {pool}, drop: {drop}, {samples} samples, {} in f64", set.name());
    }
}

/// Other kernels, channels and images than those of the published networks, drawn at random.
#[test]
fn convolutions_of_any_shape_are_those_of_the_definition() {
    let mut rng = Fast::new("geometries");
    let mut of = |choices: &[usize]| choices[rng.below(choices.len() as u32) as usize];
    for _ in 0..150 {
        let (kernel, pool) = (of(&[1, 2, 3, 4, 5, 6, 7]), of(&[0, 1]) == 1);
        let least = kernel + usize::from(pool);
        let [height, width] = [0; 2].map(|_| least + of(&[0, 1, 2, 3, 5, 8, 13]));
        let (inputs, outputs) = (of(&[1, 2, 3, 4, 7, 8, 9, 17]), of(&[1, 3, 15, 16, 17, 33]));
        let drop = if pool && of(&[0, 1, 2]) == 0 && height * width * outputs > 500 { 0.5 } else { 0.0 };
        compare(Geometry { height, width, inputs, outputs, kernel }, pool, drop, of(&[1, 1, 2, 3]));
    }
}

/// Few input channels, and kernel rows that no lane holds or that have no kernel of their own: gradients are put back where the largest
/// ones were, before anything else is done with them.
#[test]
fn pooled_gradients_go_back_to_the_first_largest_of_four() {
    for (kernel, inputs) in [(1, 1), (1, 7), (3, 6), (3, 7), (4, 5), (5, 4), (6, 1), (7, 3)] {
        for (height, width, outputs) in [(9, 12, 5), (12, 9, 16), (8, 8, 19), (kernel + 1, kernel + 1, 3)] {
            let g = Geometry { height: height.max(kernel + 1), width: width.max(kernel + 1), inputs, outputs, kernel };
            compare(g, true, 0.0, 2);
        }
        compare(Geometry { height: 11, width: 10, inputs, outputs: 18, kernel }, true, 0.5, 2);
    }
}

/// Gradients of more samples than a block holds are summed over all blocks.
#[test]
fn blocks_of_samples_are_summed() {
    for (pool, inputs, kernel) in [(false, 2, 3), (true, 2, 3), (true, 3, 6), (false, 9, 2), (true, 9, 2)] {
        compare(Geometry { height: 9, width: 8, inputs, outputs: 7, kernel }, pool, 0.0, 67);
    }
}
