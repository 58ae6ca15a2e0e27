//! Samples as the network sees them, and what the transformers make of them.

use crate::figure::mosaic::mosaic;
use crate::figure::svg::{Anchor, Paper, Svg, rectangle};
use crate::figure::{Figure, record};
use crate::summary::Results;
use crate::summary::histories::models;
use serde::Deserialize;

/// A picture as rows keep it: one hexadecimal digit a number, row by row, channels together.
#[derive(Deserialize)]
struct Drawn {
    #[serde(default)]
    title: String,
    width: usize,
    channels: usize,
    pixels: String,
}

const GAP: f64 = 8.0;

/// Samples of one run, or of several where they look at different things.
pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Option<Figure> {
    let models = models(results, 0);
    let mut shown: Vec<(&str, Vec<Vec<Drawn>>)> = Vec::new();
    for model in &models {
        let pictures = model.rows.first().and_then(|row| row.artefacts.get("pictures").cloned());
        let pictures: Option<Vec<Vec<Drawn>>> = pictures.and_then(|value| serde_json::from_value(value).ok());
        let whole = |picture: &Drawn| picture.width > 0 && picture.channels > 0;
        let drawable = |all: &Vec<Vec<Drawn>>| !all.is_empty() && all.iter().flatten().all(whole);
        let Some(pictures) = pictures.filter(drawable) else { continue };
        // Without transformers every model sees the same.
        let warped = pictures[0].iter().any(|picture| !picture.title.is_empty());
        if shown.is_empty() || warped {
            shown.push((if warped { model.label.as_str() } else { "" }, pictures));
        }
    }
    let first = shown.first()?.1.first()?;
    let columns = if first.len() < 3 { paper.choose(8, 4) } else { paper.choose(6, 3) };
    let side = (paper.width() - 24.0 - (columns - 1) as f64 * GAP) / columns as f64;
    let caption = match first.iter().any(|picture| picture.channels == 2) {
        true => "Test samples, one digit in blue and one in orange, and what each transformer makes of them",
        false => "Test samples",
    };
    let mut svg = Svg::new(caption, paper.width());
    let mut data = vec![record(&[&"model", &"sample", &"picture", &"width", &"channels", &"pixels"])];
    let mut top = 12.0;
    for (label, samples) in &shown {
        svg.bold(12.0, top + 12.0, if label.is_empty() { "Test samples, the same for all models" } else { label });
        top += 22.0;
        let titled = samples.iter().flatten().any(|picture| !picture.title.is_empty());
        let pictures: Vec<(usize, &Drawn)> =
            samples.iter().enumerate().flat_map(|(k, sample)| sample.iter().map(move |p| (k, p))).collect();
        for line in pictures.chunks(columns) {
            for (place, (sample, picture)) in line.iter().enumerate() {
                let left = 12.0 + place as f64 * (side + GAP);
                paint(&mut svg, picture, left, top, side);
                if titled {
                    svg.text(left + 0.5 * side, top + side + 14.0, Anchor::Middle, &picture.title);
                }
                let Drawn { title, width, channels, pixels } = picture;
                data.push(record(&[label, sample, title, width, channels, pixels]));
            }
            top += side + if titled { 24.0 } else { GAP };
        }
    }
    Some(Figure::new("-pictures", svg, top + 4.0, data))
}

fn paint(svg: &mut Svg, picture: &Drawn, left: f64, top: f64, side: f64) {
    // Ink is dark on any paper.
    svg.fill(&rectangle(left, top, side, side), "#fefefe");
    let shades: Vec<u32> = picture.pixels.chars().map(|c| c.to_digit(16).unwrap_or(0)).collect();
    let cells: Vec<&[u32]> = shades.chunks_exact(picture.channels.max(1)).collect();
    let size = side / picture.width as f64;
    let paths = mosaic(&cells, picture.width, |row, column, length| {
        rectangle(left + column as f64 * size, top + row as f64 * size, length as f64 * size, size)
    });
    for (cell, d) in paths.into_iter().filter(|(cell, _)| cell.iter().any(|shade| *shade > 0)) {
        svg.put(format!("<path d=\"{d}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>", ink(cell)));
    }
    svg.stroke(&rectangle(left, top, side, side), "#bbbbbb", 0.7);
}

/// Grey for one channel; blue and orange, which multiply to a dark brown, for two.
fn ink(cell: &[u32]) -> String {
    let inks: &[[f64; 3]] = if cell.len() == 1 { &[[0.0, 0.0, 0.0]] } else { &[[0.0, 0.45, 0.70], [0.84, 0.37, 0.0]] };
    let mut colour = [1.0; 3];
    for (shade, ink) in cell.iter().zip(inks) {
        for (value, ink) in colour.iter_mut().zip(ink) {
            *value *= 1.0 + (ink - 1.0) * f64::from(*shade) / 15.0;
        }
    }
    let [r, g, b] = colour.map(|v| (255.0 * v).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}
