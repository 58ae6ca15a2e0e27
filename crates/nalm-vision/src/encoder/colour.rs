//! Two digits in two colour channels: two transformers, each of which warps both channels, and one classifier for what each shows.

use super::{Encoder, Picture, Samples};
use crate::colour::{CANVAS, Change, PICTURE, paint};
use crate::export;
use crate::layer::average_pool;
use crate::layer::spline::{POINTS, Spline, resting_points};
use crate::layer::warp::{self, Framed};
use crate::net::{BLOCK, Mode, Net, Workspace};
use crate::vector::Scalar;
use crate::{networks, team};
use nalm::rng::{Fast, Purpose};
use nalm::tensor::Tensor;
use nalm::{Error, InstructionSet, Rng};
use std::fmt;
use std::str::FromStr;

/// Where the control points of the transformers start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Drawn like every other layer, as the reference code does: all points scattered around the centre.
    #[default]
    Reset,
    /// On their grid, which the paper seems to mean: nothing is warped at first.
    Identity,
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Start::Reset => "reset",
            Start::Identity => "identity",
        })
    }
}

impl FromStr for Start {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "reset" => Ok(Start::Reset),
            "identity" => Ok(Start::Identity),
            _ => Err(Error::unknown("tps_init", text, &["reset", "identity"])),
        }
    }
}

/// Numbers of a picture at half the size.
const HALVED: usize = PICTURE / 4;

#[derive(Debug)]
pub(crate) struct Colour<R> {
    locator: Net,
    classifier: Net,
    spline: Spline<R>,
    start: Start,
    locating: [Workspace<R>; 2],
    classifying: Workspace<R>,
    /// Pictures of the samples.
    x: Vec<R>,
    /// Control points, coordinates and what is seen there at half the size: those of the first transformer, then those of the second.
    /// Warped pictures of full size are not kept: they would not fit into any cache.
    points: [Vec<R>; 2],
    coordinates: Vec<R>,
    seen: Vec<R>,
    dseen: Vec<R>,
    dpoints: [Vec<R>; 2],
}

impl<R: Scalar> Colour<R> {
    /// For up to `pairs` samples at a time.
    pub(crate) fn new(start: Start, pairs: usize) -> Result<Self, Error> {
        let (locator, classifier) = (
            networks::localisation(InstructionSet::best())?,
            networks::digit_classifier(CANVAS / 2, warp::CHANNELS, InstructionSet::best())?,
        );
        Ok(Self {
            locating: [locator.workspace(pairs), locator.workspace(pairs)],
            classifying: classifier.workspace(2 * pairs),
            spline: Spline::new(CANVAS, InstructionSet::best()),
            start,
            locator,
            classifier,
            x: Vec::new(),
            points: [Vec::new(), Vec::new()],
            coordinates: Vec::new(),
            seen: Vec::new(),
            dseen: Vec::new(),
            dpoints: [Vec::new(), Vec::new()],
        })
    }

    /// Draws the samples' pictures.
    fn paint(&mut self, samples: &Samples<'_>) {
        self.x.resize(samples.pairs.len() * PICTURE, R::ZERO);
        let pictures = self.x.chunks_mut(BLOCK * PICTURE).zip(samples.pairs.chunks(BLOCK)).enumerate();
        team::each(samples.threads, pictures.collect(), |(block, (pictures, pairs))| {
            for (k, (picture, pair)) in pictures.chunks_exact_mut(PICTURE).zip(pairs).enumerate() {
                let key = format!("{}|picture|{}", samples.key, block * BLOCK + k);
                let mut rng = Fast::open(&key, Purpose::Augment);
                for (channel, image) in pair.images.into_iter().enumerate() {
                    paint(samples.from.image(image as usize), Change::draw(&mut rng), channel, picture);
                }
            }
        });
    }

    fn warp(&mut self, threads: usize) {
        let samples = self.x.len() / PICTURE;
        let pixels = self.spline.pixels();
        self.coordinates.resize(2 * samples * 2 * pixels, R::ZERO);
        self.seen.resize(2 * samples * HALVED, R::ZERO);
        let coordinates = self.coordinates.chunks_mut(samples * 2 * pixels);
        let sides = coordinates.zip(self.seen.chunks_mut(samples * HALVED)).zip(&self.points);
        let blocks = sides.flat_map(|((coordinates, seen), points)| {
            let own = coordinates.chunks_mut(BLOCK * 2 * pixels).zip(seen.chunks_mut(BLOCK * HALVED));
            own.zip(points.chunks(BLOCK * 2 * POINTS)).zip(self.x.chunks(BLOCK * PICTURE))
        });
        let (spline, set) = (&self.spline, InstructionSet::best());
        team::each(threads, blocks.collect(), |(((coordinates, seen), points), x)| {
            spline.forward(points, coordinates);
            let (mut framed, mut warped) = (Framed::new(CANVAS), [R::ZERO; PICTURE]);
            let out = seen.chunks_exact_mut(HALVED).zip(coordinates.chunks_exact(2 * pixels));
            for ((seen, coordinates), x) in out.zip(x.chunks_exact(PICTURE)) {
                framed.put(x);
                framed.forward(set, coordinates, &mut warped);
                average_pool::forward(set, CANVAS, warp::CHANNELS, &warped, seen);
            }
        });
    }

    fn unwarp(&mut self, threads: usize) {
        let samples = self.x.len() / PICTURE;
        let pixels = self.spline.pixels();
        self.dpoints.iter_mut().for_each(|d| d.resize(samples * 2 * POINTS, R::ZERO));
        let len = samples * 2 * pixels;
        let sides = self.coordinates.chunks_mut(len).zip(self.dseen.chunks(samples * HALVED)).zip(&mut self.dpoints);
        let blocks = sides.flat_map(|((coordinates, dseen), dpoints)| {
            let own = coordinates.chunks_mut(BLOCK * 2 * pixels).zip(dseen.chunks(BLOCK * HALVED));
            own.zip(dpoints.chunks_mut(BLOCK * 2 * POINTS)).zip(self.x.chunks(BLOCK * PICTURE))
        });
        let (spline, set) = (&self.spline, InstructionSet::best());
        team::each(threads, blocks.collect(), |(((coordinates, dseen), dpoints), x)| {
            let (mut framed, mut dwarped) = (Framed::new(CANVAS), [R::ZERO; PICTURE]);
            let own = coordinates.chunks_exact_mut(2 * pixels).zip(dseen.chunks_exact(HALVED));
            for ((coordinates, dseen), x) in own.zip(x.chunks_exact(PICTURE)) {
                average_pool::backward(set, CANVAS, warp::CHANNELS, dseen, &mut dwarped);
                framed.put(x);
                framed.backward(set, &dwarped, coordinates);
            }
            spline.backward(coordinates, dpoints);
        });
    }

    /// What the transformers make of a sample.
    fn warped(&self, sample: usize) -> [Vec<R>; 2] {
        let (x, pixels) = (&self.x[sample * PICTURE..][..PICTURE], self.spline.pixels());
        [0, 1].map(|side| {
            let mut coordinates = vec![R::ZERO; 2 * pixels];
            self.spline.forward(&self.points[side][sample * 2 * POINTS..][..2 * POINTS], &mut coordinates);
            let mut warped = vec![R::ZERO; PICTURE];
            let mut framed = Framed::new(CANVAS);
            framed.put(x);
            framed.forward(InstructionSet::best(), &coordinates, &mut warped);
            warped
        })
    }

    fn draw(&self, p: &mut [R], rng: &mut Rng) {
        let len = self.locator.param_len();
        let (locators, classifier) = p.split_at_mut(2 * len);
        for p in locators.chunks_exact_mut(len) {
            self.locator.init(p, rng);
            if self.start == Start::Identity {
                let (weights, bias) = p[len - 33 * 32..].split_at_mut(32 * 32);
                weights.fill(R::ZERO);
                for (bias, at) in bias.iter_mut().zip(resting_points().concat()) {
                    *bias = R::of(at.atanh());
                }
            }
        }
        self.classifier.init(classifier, rng);
    }

    /// Looks at the pictures that were painted.
    fn look(&mut self, p: &[R], mode: Mode<'_>, z: &mut Vec<R>, threads: usize) {
        let len = self.locator.param_len();
        for (k, (work, points)) in self.locating.iter_mut().zip(&mut self.points).enumerate() {
            self.locator.forward(&p[k * len..(k + 1) * len], &self.x, work, mode, threads);
            work.outputs(&self.locator, points);
        }
        self.warp(threads);
        self.classifier.forward(&p[2 * len..], &self.seen, &mut self.classifying, mode, threads);
        self.classifying.outputs(&self.classifier, z);
    }

    fn learn(&mut self, p: &[R], dz: &[R], gradient: &mut [R], threads: usize) {
        let len = self.locator.param_len();
        let (locators, classifier) = gradient.split_at_mut(2 * len);
        self.dseen.resize(self.seen.len(), R::ZERO);
        let dx = Some(self.dseen.as_mut_slice());
        self.classifier.backward(&p[2 * len..], &self.seen, &mut self.classifying, dz, classifier, dx, threads);
        self.unwarp(threads);
        let own = locators.chunks_exact_mut(len).zip(&mut self.locating).zip(&self.dpoints);
        for (k, ((gradient, work), dpoints)) in own.enumerate() {
            let p = &p[k * len..(k + 1) * len];
            self.locator.backward(p, &self.x, work, dpoints, gradient, None, threads);
        }
    }
}

impl Encoder for Colour<f32> {
    fn param_len(&self) -> usize {
        2 * self.locator.param_len() + self.classifier.param_len()
    }

    fn init(&self, p: &mut [f32], rng: &mut Rng) {
        self.draw(p, rng);
    }

    fn forward(&mut self, p: &[f32], samples: &Samples<'_>, z: &mut Vec<f32>) {
        self.paint(samples);
        let mode = if samples.training { Mode::Train { key: samples.key } } else { Mode::Eval };
        self.look(p, mode, z, samples.threads);
    }

    fn backward(&mut self, p: &[f32], dz: &[f32], gradient: &mut [f32], threads: usize) {
        self.learn(p, dz, gradient, threads);
    }

    fn tensors(&self, p: &[f32]) -> Vec<Tensor> {
        let (first, rest) = p.split_at(self.locator.param_len());
        let (second, classifier) = rest.split_at(self.locator.param_len());
        let mut all = export::tensors("first", &self.locator, first);
        all.extend(export::tensors("second", &self.locator, second));
        all.extend(export::tensors("classifier", &self.classifier, classifier));
        all
    }

    fn trace(&self) -> Vec<Tensor> {
        let shape = vec![self.x.len() / PICTURE, CANVAS, CANVAS, 2];
        let dropped = |layer, name| self.classifying.activations(&self.classifier, layer, name);
        let x = Tensor { name: "x".into(), shape, data: self.x.clone() };
        vec![x, dropped(1, "kept1"), dropped(2, "kept2")]
    }

    fn pictures(&self, samples: usize) -> Vec<Vec<Picture>> {
        let picture = |title, pixels: Vec<f32>| Picture { title, width: CANVAS, channels: warp::CHANNELS, pixels };
        let sample = |k: usize| {
            let [first, second] = self.warped(k);
            vec![
                picture("shown", self.x[k * PICTURE..][..PICTURE].to_vec()),
                picture("first transformer", first),
                picture("second transformer", second),
            ]
        };
        (0..samples.min(self.x.len() / PICTURE)).map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mnist::Mnist;
    use crate::pairs::{Fold, THREE_FOLDS};

    fn seen<R: Scalar>(start: Start, samples: usize) -> Option<Colour<R>> {
        let mnist = Mnist::of_project()?;
        let fold = Fold::draw(&mnist, THREE_FOLDS[2], 1, 2).unwrap();
        let mut colour = Colour::new(start, samples).unwrap();
        let pairs = &fold.train[..samples];
        colour.paint(&Samples { key: "test", training: true, from: &mnist.train, pairs, threads: 1 });
        Some(colour)
    }

    fn loss<R: Scalar>(colour: &mut Colour<R>, p: &[R], threads: usize) -> (f64, Vec<R>) {
        let mut z = Vec::new();
        colour.look(p, Mode::Train { key: "key" }, &mut z, threads);
        let weight = |k: usize| 1.0 + 0.3 * k as f64;
        let value = z.iter().enumerate().map(|(k, z)| weight(k) * z.to_f64() * z.to_f64()).sum();
        let dz: Vec<R> = z.iter().enumerate().map(|(k, z)| R::of(2.0 * weight(k) * z.to_f64())).collect();
        let mut gradient = vec![R::ZERO; p.len()];
        colour.learn(p, &dz, &mut gradient, threads);
        (value, gradient)
    }

    fn params<R: Scalar>(colour: &Colour<R>) -> Vec<R> {
        let mut p = vec![R::ZERO; 2 * colour.locator.param_len() + colour.classifier.param_len()];
        colour.draw(&mut p, &mut Rng::fast("colour", Purpose::Init));
        p
    }

    /// Along twenty directions over all 589,546 parameters: through classifier, sampler, spline and both transformers.
    #[test]
    fn the_whole_network_has_the_gradient_of_its_differences() {
        for start in [Start::Reset, Start::Identity] {
            let Some(mut colour) = seen::<f64>(start, 2) else { return };
            // Exactly at rest, neighbours along an edge tie in the max-pooling and move apart with the points: a kink.
            let mut away = Rng::fast("away", Purpose::Data);
            let p: Vec<f64> = params(&colour).into_iter().map(|p| p + away.uniform(-0.01, 0.01)).collect();
            let (_, gradient) = loss(&mut colour, &p, 1);
            let transformers = 2 * colour.locator.param_len();
            let mut rng = Rng::fast("directions", Purpose::Data);
            let mut worst = 0f64;
            for k in 0..20 {
                // Every other direction moves the transformers alone, whose gradient is the smaller one.
                let moved = if k % 2 == 0 { p.len() } else { transformers };
                let d: Vec<f64> = (0..p.len()).map(|i| if i < moved { rng.uniform(-1.0, 1.0) } else { 0.0 }).collect();
                let gradient: f64 = gradient.iter().zip(&d).map(|(g, d)| g * d).sum();
                let error = [1e-6, 1e-7, 1e-8].into_iter().map(|h| {
                    let mut at = |h: f64| {
                        let p: Vec<f64> = p.iter().zip(&d).map(|(p, d)| p + h * d).collect();
                        loss(&mut colour, &p, 1).0
                    };
                    let difference = (at(h) - at(-h)) / (2.0 * h);
                    (difference - gradient).abs() / gradient.abs().max(difference.abs()).max(1e-9)
                });
                worst = worst.max(error.fold(f64::INFINITY, f64::min));
            }
            println!("colour, {start}: {worst:.1e}");
            assert!(worst < 1e-5, "{start}: {worst:e}");
        }
    }

    #[test]
    fn threads_do_not_change_a_bit() {
        let Some(mut colour) = seen::<f32>(Start::Reset, 40) else { return };
        let p = params(&colour);
        let one = loss(&mut colour, &p, 1);
        assert!(one.1[..10].iter().any(|g| *g != 0.0), "the transformers have a gradient");
        assert_eq!(one, loss(&mut colour, &p, 3));
    }

    #[test]
    fn an_identity_start_shows_what_is_there() {
        let Some(mut colour) = seen::<f64>(Start::Identity, 1) else { return };
        let p = params(&colour);
        loss(&mut colour, &p, 1);
        let rest = resting_points().concat();
        assert!(colour.points[0].iter().zip(&rest).all(|(got, want)| (got - want).abs() < 1e-12));
        let Some(mut colour) = seen::<f64>(Start::Reset, 1) else { return };
        let p = params(&colour);
        loss(&mut colour, &p, 1);
        assert!(colour.points.iter().flatten().all(|v| v.abs() < 0.6), "scattered around the centre");
        assert_eq!(p.len(), 589_546);
    }
}
