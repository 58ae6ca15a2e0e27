//! The share of seeds that are solved over the steps, one panel a range, one line a model: one minus the curve of Kaplan and Meier.

use super::grid::Grid;
use super::style;
use super::svg::{Axis, Paper, Svg};
use super::{Figure, record};
use crate::experiment::{Group, Section};
use crate::stats::kaplan_meier::{self, Run, Step};
use crate::summary::survival::of_row;
use crate::summary::{Results, of_section};
use crate::task::Measures;

/// One figure for each section in which a run is ever solved.
pub(super) fn draw(results: &Results<'_>, paper: Paper) -> Vec<Figure> {
    let sections = results.experiment.sections.iter().enumerate();
    let runs = sections.filter(|(_, section)| section.measures == Measures::Runs && section.grid.is_none());
    runs.filter_map(|(k, section)| section_figure(results, paper, k, section)).collect()
}

/// A model at a range.
struct Line {
    model: usize,
    /// What its place is called in the data, where a model without what is varied has one line.
    listed: Option<String>,
    n: usize,
    /// Until when its runs were watched.
    until: f64,
    curve: Vec<Step>,
}

impl Line {
    fn new(group: &Group, listed: Option<String>, runs: &[Run]) -> Self {
        let until = runs.iter().map(|run| run.at).fold(0.0, f64::max);
        Self { model: group.model, listed, n: runs.len(), until, curve: kaplan_meier::curve(runs) }
    }

    /// Corners of the line, from where nobody is solved to where it ends.
    fn corners(&self, from: f64, end: f64) -> Vec<(f64, f64)> {
        let (mut corners, mut share) = (vec![(from, 0.0)], 0.0);
        for step in &self.curve {
            corners.push((step.at, share));
            share = 1.0 - step.unsolved;
            corners.push((step.at, share));
        }
        corners.push((end, share));
        corners
    }
}

fn section_figure(results: &Results<'_>, paper: Paper, index: usize, section: &Section) -> Option<Figure> {
    let experiment = results.experiment;
    let groups = || experiment.groups.iter().filter(|g| g.section == index && experiment.is_sampled(g));
    let lines_at = |place: &str| -> Vec<Line> {
        let own = groups().filter(|group| group.place == place);
        let runs = |group| results.common_rows(group).into_iter().filter_map(of_row).collect::<Vec<Run>>();
        own.map(|group| Line::new(group, experiment.standing(group), &runs(group))).filter(|line| line.n > 0).collect()
    };
    let mut panels: Vec<(&str, Vec<Line>)> =
        section.places.iter().map(|place| (place.as_str(), lines_at(place))).collect();
    panels.retain(|(_, lines)| !lines.is_empty());
    // Lines along the floor need no panel to say so.
    let is_solved = |lines: &[Line]| lines.iter().any(|line| !line.curve.is_empty());
    let never: Vec<&str> = panels.iter().filter(|(_, lines)| !is_solved(lines)).map(|(place, _)| *place).collect();
    panels.retain(|(_, lines)| is_solved(lines));
    let common = groups().any(|group| {
        let shown = panels.iter().any(|(place, _)| group.place == *place);
        shown && results.common_rows(group).len() < results.of(group).len()
    });
    let lines = || panels.iter().flat_map(|(_, lines)| lines);
    let first = lines().filter_map(|line| line.curve.first()).map(|step| step.at).reduce(f64::min)?;
    let last = lines().map(|line| line.until).fold(0.0, f64::max);
    // Where all have as many runs, that is said once.
    let one = lines().map(|line| line.n).next().filter(|n| lines().all(|line| line.n == *n));
    let n = one.map_or(String::new(), |n| format!(", n = {n} each"));
    let common = if common { "; only seeds that all models of a range have" } else { "" };
    let caption =
        format!("Share of seeds that are solved, over the steps (1 - Kaplan-Meier{n}{common}){}", of_section(section));
    let grid = Grid::new(paper, 3, 60.0, (paper.choose(205.0, 300.0), 150.0), 64.0);
    let mut svg = Svg::new(&caption, grid.width);
    let styles = style::of(&experiment.models);
    let mut data = vec![record(&[&"model", &section.varied, &"n", &"step", &"at_risk", &"solved", &"share_solved"])];
    let mut notes = Vec::new();
    for (k, (place, lines)) in panels.iter().enumerate() {
        let (_, y) = grid.axes(k, (0.0, 1.0), (0.0, 1.0));
        let left = grid.place(k).0;
        let x = Axis::logarithmic([first, last].into_iter(), left, left + grid.size.0);
        for line in lines {
            // Nobody is left to watch where all are solved.
            let end = if line.curve.last().is_some_and(|step| step.unsolved <= 0.0) { last } else { line.until };
            let corners = line.corners(0.0, end);
            let drawn: Vec<(f64, f64)> = corners.iter().map(|&(step, share)| (x.at(step), y.at(share))).collect();
            let (style, label) = (styles[line.model], &experiment.models[line.model]);
            let share = corners.last().map_or(0.0, |(_, share)| *share);
            let hint = format!("{label}, {place}: {share:.2} at the end (n = {})", line.n);
            svg.marked_line(style, &drawn, 1.6, 1, &hint);
            for (step, place) in line.curve.iter().flat_map(|step| line.listed.iter().map(move |place| (step, place))) {
                let Step { at, at_risk, solved, unsolved } = step;
                data.push(record(&[label, place, &line.n, at, at_risk, solved, &rounded(1.0 - unsolved)]));
            }
        }
        let counts = || lines.iter().map(|line| format!("{} {}", experiment.models[line.model], line.n));
        let alike = lines.iter().all(|line| line.n == lines[0].n);
        let title = if one.is_none() && alike { format!("{place}, n = {}", lines[0].n) } else { (*place).into() };
        // A title has no room for the numbers of several models.
        notes.extend((!alike).then(|| format!("{place}: n = {}.", counts().collect::<Vec<_>>().join(", "))));
        svg.panel(&title, &x, &y, "step", "solved");
    }
    notes.extend(
        (!never.is_empty()).then(|| format!("Left out, because no run is solved there: {}.", never.join(", "))),
    );
    let mut models: Vec<usize> = lines().map(|line| line.model).collect();
    models.sort_unstable();
    models.dedup();
    let names: Vec<_> = models.iter().map(|&model| (styles[model], experiment.models[model].as_str())).collect();
    let mut end = svg.legend_of_lines(&names, (grid.corner.0, grid.height(panels.len()) + 4.0));
    for note in notes {
        end = svg.paragraph((grid.corner.0, end + 22.0), &note) - 16.0;
    }
    Some(Figure::new("-solved", svg, end + 14.0, data))
}

/// Six places, which more seeds than anybody has would need, without what subtraction leaves behind them.
fn rounded(share: f64) -> f64 {
    (1e6 * share).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two of four runs are solved, at 2,000 and 3,000 steps of 5,000.
    #[test]
    fn a_line_goes_up_where_a_run_is_solved() {
        let run = |at: f64, solved: bool| Run { at, solved };
        let runs = [run(2_000.0, true), run(3_000.0, true), run(5_000.0, false), run(5_000.0, false)];
        let until = runs.iter().map(|run| run.at).fold(0.0, f64::max);
        let line = Line { model: 0, listed: None, n: 4, until, curve: kaplan_meier::curve(&runs) };
        let want = [(1_000.0, 0.0), (2_000.0, 0.0), (2_000.0, 0.25), (3_000.0, 0.25), (3_000.0, 0.5), (5_000.0, 0.5)];
        assert_eq!(line.corners(1_000.0, line.until), want);
        let never = Line { model: 0, listed: None, n: 1, until, curve: Vec::new() };
        assert_eq!(never.corners(1_000.0, until), [(1_000.0, 0.0), (5_000.0, 0.0)]);
    }
}
