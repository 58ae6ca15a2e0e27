//! An answer as a page: the formula, what it misses, and what else was found.

use super::model::Numbers;
use super::{Answer, LANGUAGES};
use crate::error::Result;
use crate::figure::style::Style;
use crate::figure::svg::{Axis, Paper, Svg};
use crate::report::page::Block;
use crate::stats::shown::{interval, plain, significant};
use nalm::Table;

/// More points than this are nothing to look at.
const POINTS: usize = 1_500;

/// A point of a figure: where it is, and whether its row was held back.
type Point = (f64, f64, bool);

pub(super) fn blocks(answer: &Answer, table: &Table, title: &str) -> Result<Vec<Block>> {
    let report = &answer.report;
    let mut blocks = vec![Block::Title(title.into())];
    if let Some(best) = answer.best() {
        let (name, _) = LANGUAGES[0];
        debug_assert_eq!(name, "text");
        blocks.push(Block::Code(format!("{} = {}", answer.target, answer.write(&best.expression, LANGUAGES[0].1))));
    }
    blocks.push(Block::Text(report.sentence.clone()));
    let intervals = answer.best().map_or(&[][..], |best| &best.coefficients);
    let intervals = intervals.iter().filter(|c| c.low < c.high);
    let intervals = intervals.map(|c| {
        let [low, high] = interval(c.low, c.value, c.high);
        format!("constant {}, between {low} and {high}", plain(c.value))
    });
    blocks.push(Block::List(report.flags.iter().map(ToString::to_string).chain(intervals).collect()));
    if let Some(best) = answer.best() {
        let (numbers, target) = (Numbers::new(table)?, table.column(&answer.target)?);
        let mut held_back = vec![false; table.rows()];
        answer.outside.iter().for_each(|&row| {
            if let Some(row) = held_back.get_mut(row) {
                *row = true;
            }
        });
        let every = table.rows().div_ceil(POINTS).max(1);
        let rows = (0..table.rows()).step_by(every);
        let value = |row: usize| best.expression.evaluate(&|name| numbers.at(name, row));
        let points: Vec<(f64, f64, bool)> = rows.map(|row| (target[row], value(row), held_back[row])).collect();
        let drawn = if every > 1 { format!(" Every {every}th row is drawn.") } else { String::new() };
        let both = [("actual", "predicted"), ("actual", "predicted minus actual")];
        let papers = [Paper::Page, Paper::Phone];
        let predicted = papers.map(|paper| scatter(paper, "Predicted against actual", both[0], &points, true));
        let residuals: Vec<Point> = points.iter().map(|(y, f, out)| (*y, f - y, *out)).collect();
        let missed = papers.map(|paper| scatter(paper, "What the formula misses", both[1], &residuals, false));
        let figure =
            |caption: String, [svg, narrow]: [String; 2]| Block::Figure { file: String::new(), caption, svg, narrow };
        blocks.push(figure(
            format!("Predicted against actual, for rows fitted to and rows held back.{drawn}"),
            predicted,
        ));
        blocks.push(figure(format!("Predicted minus actual, for rows fitted to and rows held back.{drawn}"), missed));
        blocks.push(Block::Heading("The formula in other languages".into()));
        for (name, language) in &LANGUAGES[1..] {
            blocks.push(Block::Text(format!("{name}:")));
            blocks.push(Block::Code(answer.write(&best.expression, *language)));
        }
    }
    if !report.candidates.is_empty() {
        blocks.push(Block::Heading("Candidates".into()));
        let head = ["formula", "complexity", "error inside", "error outside", "engine"].map(String::from).to_vec();
        let row = |candidate: &nalm_fit::Candidate| {
            vec![
                answer.write(&candidate.expression, LANGUAGES[0].1),
                candidate.complexity.to_string(),
                significant(candidate.error_inside, 3),
                significant(candidate.error_outside, 3),
                candidate.engine.to_string(),
            ]
        };
        blocks.push(Block::Table { head, rows: report.candidates.iter().map(row).collect() });
    }
    let (inside, outside) = (report.rows_inside, report.rows_outside);
    let took = if answer.seconds < 0.001 { "less than 1 ms".into() } else { format!("{:.3} s", answer.seconds) };
    let about = format!(
        "{inside} rows fitted to, {outside} held back; {took}. Errors are root mean squares over the target's standard deviation."
    );
    blocks.push(Block::Text(about));
    Ok(blocks)
}

/// Rows fitted to and rows held back: the two styles that are easiest to tell apart.
fn style(held_back: bool) -> Style {
    Style::series(if held_back { 22 } else { 23 })
}

/// Points inside and outside of what was fitted to, with a diagonal where both axes mean the same.
fn scatter(paper: Paper, title: &str, (x_label, y_label): (&str, &str), points: &[Point], diagonal: bool) -> String {
    let finite = |values: Vec<f64>| -> (f64, f64) {
        let ends = values.iter().filter(|v| v.is_finite());
        let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        match (low.is_finite(), high > low) {
            // A margin, so that no point lies on the frame.
            (true, true) => (low - (high - low) * 0.03, high + (high - low) * 0.03),
            // Everything at one place: a little room around it.
            (true, false) => (low - low.abs().max(1e-12) * 0.5, low + low.abs().max(1e-12) * 0.5),
            _ => (0.0, 1.0),
        }
    };
    let mut x_range = finite(points.iter().map(|p| p.0).collect());
    let mut y_range = finite(points.iter().map(|p| p.1).collect());
    if diagonal {
        x_range = (x_range.0.min(y_range.0), x_range.1.max(y_range.1));
        y_range = x_range;
    }
    // Ticks of numbers that are tiny or huge are powers of ten of them.
    let unit = |(low, high): (f64, f64)| {
        let power = libm::log10(low.abs().max(high.abs())).floor();
        if (-3.0..=4.0).contains(&power) || !power.is_finite() {
            (1.0, String::new())
        } else {
            (libm::exp10(power), format!(" (1e{power})"))
        }
    };
    let ((x_unit, x_text), (y_unit, y_text)) = (unit(x_range), unit(y_range));
    let (width, height) = paper.choose((760.0, 420.0), (Paper::Phone.width(), 340.0));
    let (left, top, right, bottom) = (paper.choose(90.0, 70.0), 40.0, width - 20.0, height - 50.0);
    let x = Axis::linear(x_range.0 / x_unit, x_range.1 / x_unit, left, right);
    let y = Axis::linear(y_range.0 / y_unit, y_range.1 / y_unit, bottom, top);
    let mut svg = Svg::new(title, width);
    svg.legend(&[(style(false), "fitted to"), (style(true), "held back")], (left, 24.0));
    svg.frame(&x, &y, &format!("{x_label}{x_text}"), &format!("{y_label}{y_text}"));
    let line = match diagonal {
        true => [(x.start, y.start), (x.end, y.end)],
        false => [(x.start, y.at(0.0)), (x.end, y.at(0.0))],
    };
    svg.polyline(&line, "#999999", 1.0);
    for (at, value, out) in points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()) {
        svg.mark(style(*out), x.at(at / x_unit), y.at(value / y_unit), &format!("{at}, {value}"));
    }
    svg.finish(height)
}
