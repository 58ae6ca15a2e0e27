//! The figure of the papers: success rate, solved-at and sparsity error over the training ranges, with interval bars.

use super::slots::{LEFT, Slots, bar};
use super::style;
use super::svg::{Anchor, Paper, wrapped};
use super::{Figure, columns, estimates, record};
use crate::experiment::Section;
use crate::stats::beta;
use crate::summary::metric::Estimator;
use crate::summary::{Cell, Metric, Over, Results, of_section};
use std::collections::BTreeSet;

/// What stands for 0 where axes are logarithmic.
pub(super) const ZERO: f64 = 1e-16;

/// One figure for each section that has cells; success rates are bars or points.
pub(super) fn draw(results: &Results<'_>, paper: Paper, bars: bool) -> Vec<Figure> {
    let sections = results.experiment.sections.iter().enumerate().map(|(k, s)| (k, s, results.common_cells(k)));
    let drawn = sections.filter(|(_, _, cells)| !cells.is_empty());
    drawn.map(|(k, section, cells)| section_figure(results, paper, (k, section), &cells, bars)).collect()
}

fn data(results: &Results<'_>, section: &Section, cells: &[Cell]) -> Vec<Vec<String>> {
    let listed = || results.metrics.iter().filter(|metric| metric.csv);
    let of = |c: &Cell, metric: &Metric| match metric.estimator {
        Estimator::Beta => beta::unclipped(c.get(metric.name)),
        _ => c.get(metric.name),
    };
    // Models without what is varied are drawn at every place, to be looked at beside the others, and are one line of the data.
    let row = |c: &Cell| {
        let place = results.experiment.standing(results.group(c.section, c.model, &c.place)?)?;
        Some(estimates(record(&[&c.label, &place, &c.n, &c.solved]), listed().map(|metric| of(c, metric))))
    };
    let head = columns(record(&[&"model", &section.varied, &"n", &"solved"]), listed().map(|metric| metric.name));
    [head].into_iter().chain(cells.iter().filter_map(row)).collect()
}

fn section_figure(
    results: &Results<'_>,
    paper: Paper,
    (index, section): (usize, &Section),
    cells: &[Cell],
    bars: bool,
) -> Figure {
    let (experiment, ranges) = (results.experiment, &section.places);
    let words = section.name.to_lowercase();
    let words: Vec<&str> = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let suffix = if words.is_empty() { "-facets".into() } else { format!("-{}", words.join("-")) };
    let counts = Counts::of(results, index, ranges, cells);
    let mut planned: Vec<usize> =
        experiment.groups.iter().filter(|group| group.section == index).map(|group| group.model).collect();
    planned.dedup();
    let models: Vec<usize> = planned.iter().copied().filter(|m| cells.iter().any(|cell| cell.model == *m)).collect();
    let caption = format!("{}{}{}", experiment.title, of_section(section), counts.caption());
    let labels = ranges.iter().enumerate().map(|(k, range)| [range.clone(), counts.label(k)]).collect();
    let mut slots = Slots::new(paper, &caption, labels, models.len(), 0.08);
    let styles = style::of(&experiment.models);
    // A panel that no cell has a number for says nothing, and neither does one of zeros.
    let numbers = |metric: &Metric| cells.iter().filter_map(|cell| cell.get(metric.name).mean).collect::<Vec<f64>>();
    let panels = results.metrics.iter().filter_map(|metric| Some((metric, metric.panel?, numbers(metric))));
    let (panels, empty): (Vec<_>, Vec<_>) =
        panels.partition(|(_, (_, logarithmic), numbers)| numbers.iter().any(|v| !logarithmic || *v > ZERO));
    let zeros = empty.iter().filter(|(.., numbers)| !numbers.is_empty());
    let zeros: Vec<String> = zeros.map(|(metric, ..)| format!("Every {} is 0.", metric.label)).collect();
    let panels: Vec<_> = panels.into_iter().map(|(metric, panel, _)| (metric.name, panel)).collect();
    for line in slots.lines() {
        slots.begin(&line);
        for (k, &(metric, (title, logarithmic))) in panels.iter().enumerate() {
            let y = slots.axis(logarithmic, cells.iter().map(|cell| cell.get(metric)));
            slots.head(title, &y);
            for cell in cells {
                let range = ranges.iter().position(|range| *range == cell.place).filter(|range| slots.has(*range));
                let place = models.iter().position(|model| *model == cell.model);
                let (Some(range), Some(place), Some(mean)) = (range, place, cell.get(metric).mean) else { continue };
                let (x, style) = (slots.x(range, place), styles[cell.model]);
                if bars && k == 0 {
                    let half = 0.42 * slots.wide();
                    let d = bar(x - half, 2.0 * half, y.at(0.0), y.at(mean));
                    slots.svg.fill_lightly(&d, &style.colour(), 0.45);
                }
                let (shown, n) =
                    results.metrics.iter().find(|m| m.name == metric).map_or((mean.to_string(), cell.n), |m| {
                        ((m.show)(mean), if m.over == Over::Solved { cell.solved } else { cell.n })
                    });
                let hint = format!("{}, {}: {shown} (n = {n})", cell.label, cell.place);
                slots.estimate(style, x, &y, cell.get(metric), 1.5, &hint);
            }
            let empty = |range: &&usize| !cells.iter().any(|cell| cell.place == ranges[**range]);
            for range in line.clone().collect::<Vec<_>>().iter().filter(empty).filter(|_| k == 0) {
                slots.svg.text(slots.middle(*range), y.start - 70.0, Anchor::Middle, "not run");
            }
            // Where nobody is solved, nothing is known of when; an empty place would look like one that was forgotten.
            let of_solved = results.metrics.iter().any(|m| m.name == metric && m.over == Over::Solved);
            let never = |range: &usize| {
                let mut here = cells.iter().filter(|cell| cell.place == ranges[*range]).peekable();
                here.peek().is_some() && here.all(|cell| cell.get(metric).mean.is_none())
            };
            for range in line.clone().filter(|range| of_solved && never(range)) {
                let words = wrapped("no run solved", slots.slot() - 4.0);
                for (k, text) in words.iter().enumerate() {
                    let below = 15.0 * (k as f64 - 0.5 * (words.len() - 1) as f64);
                    slots.svg.text(slots.middle(range), y.start - 70.0 + below, Anchor::Middle, text);
                }
            }
            slots.end(&y);
        }
        slots.labels(section.axis.as_deref().unwrap_or("Training range"));
    }
    let names: Vec<_> = models.iter().map(|&m| (styles[m], experiment.models[m].as_str())).collect();
    let mut end = slots.svg.legend(&names, (LEFT, slots.below()));
    for note in zeros.into_iter().chain(counts.notes(results, index, &planned)) {
        end = slots.svg.paragraph((LEFT, end + 22.0), &note) - 16.0;
    }
    Figure::new(&suffix, slots.svg, end + 12.0, data(results, section, cells))
}

/// How many runs are behind each mark.
struct Counts {
    /// At each place, if all of its marks have the same.
    places: Vec<Option<usize>>,
    /// Whether some marks have fewer runs than there are.
    common: bool,
    /// Marks whose number is not that of their place, in words.
    odd: Vec<String>,
}

impl Counts {
    fn of(results: &Results<'_>, section: usize, ranges: &[String], cells: &[Cell]) -> Self {
        let at = |range: &String| cells.iter().filter(|cell| cell.place == *range).collect::<Vec<_>>();
        let numbers = |range: &String| at(range).iter().map(|cell| cell.n).collect::<BTreeSet<usize>>();
        let one = |range: &String| Some(numbers(range)).filter(|n| n.len() == 1).and_then(|n| n.first().copied());
        let each =
            |range: &String| at(range).iter().map(|cell| format!("{} {}", cell.label, cell.n)).collect::<Vec<_>>();
        let odd = ranges.iter().filter(|range| numbers(range).len() > 1);
        let all = |cell: &Cell| results.cell(section, cell.model, &cell.place).map_or(0, |all| all.n);
        Self {
            places: ranges.iter().map(one).collect(),
            common: cells.iter().any(|cell| cell.n < all(cell)),
            odd: odd.map(|range| format!("{range}: n = {}", each(range).join(", "))).collect(),
        }
    }

    /// The number of all marks, if it is one.
    fn single(&self) -> Option<usize> {
        let found: BTreeSet<usize> = self.places.iter().copied().flatten().collect();
        found.first().copied().filter(|_| found.len() == 1 && self.odd.is_empty())
    }

    fn caption(&self) -> String {
        let common = if self.common { "; only seeds that all models of a range have, the table has all" } else { "" };
        match self.single() {
            Some(1) => format!(" (one run a mark{common})"),
            Some(n) => format!(" (n = {n}{common})"),
            None => format!(" (n below each range{common})"),
        }
    }

    fn label(&self, place: usize) -> String {
        match (self.single(), self.places[place]) {
            (None, Some(n)) => format!("n = {n}"),
            _ => String::new(),
        }
    }

    /// What has to be said about single marks: other numbers of runs, and what was not run.
    fn notes(&self, results: &Results<'_>, section: usize, planned: &[usize]) -> Vec<String> {
        let experiment = results.experiment;
        let missing = planned.iter().filter_map(|&model| {
            let own = || experiment.groups.iter().filter(move |g| g.section == section && g.model == model);
            let empty: Vec<&str> =
                own().filter(|g| results.cell(section, model, &g.place).is_none()).map(|g| g.place.as_str()).collect();
            let name = &experiment.models[model];
            match empty.len() {
                0 => None,
                n if n == own().count() => Some(name.clone()),
                _ => Some(format!("{name} on {}", empty.join(", "))),
            }
        });
        let missing: Vec<String> = missing.collect();
        let missing = (!missing.is_empty()).then(|| format!("Not run: {}.", missing.join("; ")));
        self.odd.iter().cloned().chain(missing).collect()
    }
}
