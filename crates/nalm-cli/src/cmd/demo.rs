//! `nalm demo`: why reversible noise helps. A picture that moves at a terminal, a table elsewhere, a page on request.

use super::compare::{of_text, split};
use crate::terminal::{To, Tone, paint};
use anyhow::Result;
use nalm::{Config, LoggedErrors, Mlp, Network, Nmu, Observer, SingleModule, Snmu, train};
use nalm_lab::experiment::Overrides;
use nalm_lab::pool::{self, Order, Quiet};
use nalm_lab::store::Contents;
use nalm_lab::{Registry, pool::Client};
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Steps of every run, and between two pictures that can be shown.
const STEPS: u64 = 5_000;
const EVERY: u64 = 5;
/// Pictures that are shown after the first one.
const FRAMES: usize = 100;
/// The part of these that goes with the steps, and not with what moves.
const STEADY: f64 = 0.2;
/// How long the picture moves.
const SECONDS: f64 = 5.0;
/// Columns and lines of a panel.
const PANEL: (usize, usize) = (24, 12);
/// Columns of the picture.
const WIDTH: usize = 80;
/// The largest noise of the sNMU.
const NOISE: f64 = 5.0;

/// Parameters at the logged steps, and whether the run was solved.
#[derive(Default)]
struct Way {
    params: Vec<Vec<f32>>,
    solved: bool,
}

impl Observer<f32> for Way {
    fn logged(&mut self, _: &LoggedErrors, params: &[f32]) -> ControlFlow<()> {
        self.params.push(params.to_vec());
        ControlFlow::Continue(())
    }
}

impl Way {
    fn of(network: &Network<f32>, task: &SingleModule, seed: u64, every: u64) -> Result<Self> {
        let mut way = Way::default();
        let config =
            Config { log_every: every, validation: 1_000, test: 1_000, ..Config::published(network).steps(STEPS) };
        way.solved = train(network, task, seed, &config, &mut way)?.solved();
        Ok(way)
    }

    /// The two weights of a unit.
    fn at(&self, picture: usize) -> [f32; 2] {
        let own = &self.params[picture.min(self.params.len() - 1)];
        [own[0], own[1]]
    }
}

pub(crate) fn run(registry: &Registry, seeds: u64, html: Option<&Path>) -> Result<()> {
    if let Some(path) = html {
        return page(registry, seeds, path);
    }
    let task = SingleModule::mul(-2.0, -1.0, -6.0, -2.0)?;
    let nmu = Network::<f32>::single(Nmu::new(2, 1)?);
    let snmu = Network::<f32>::single(Snmu::new(2, 1)?);
    let dumb = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    if std::io::stdout().is_terminal() && !dumb && has_room(crate::terminal::width(), crate::terminal::height()) {
        let ways = |network: &Network<f32>| {
            (0..seeds).map(|seed| Way::of(network, &task, seed, EVERY)).collect::<Result<Vec<_>>>()
        };
        let mlp = Network::<f32>::single(Mlp::new(2, 100, 1)?);
        let picture = Picture { ways: [ways(&nmu)?, ways(&snmu)?], outside: Way::of(&mlp, &task, 0, EVERY)?, mlp };
        return picture.play();
    }
    table(&task, [&nmu, &snmu], seeds)
}

/// Whether the picture can move: a terminal goes up to lines that it still shows only, and must not break any. One that does not tell has room.
fn has_room(columns: Option<usize>, lines: Option<usize>) -> bool {
    columns.is_none_or(|columns| columns >= WIDTH) && lines.is_none_or(|lines| lines > PANEL.1 + 5)
}

/// What the signs of the picture mean.
const LEGEND: &str = "o a seed on its way; at the end ● solved, × not; the denser, the larger the loss";

/// The ways of the weights in digits, seed by seed.
fn table(task: &SingleModule, networks: [&Network<f32>; 2], seeds: u64) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "Two units learn a * b from U[-2,-1); the test is U[-6,-2).")?;
    // Where there is no room for the way, its ends are shown.
    let narrow = crate::terminal::columns().is_some_and(|columns| columns < WIDTH);
    let (at, after, width): (&[usize], _, _) = match narrow {
        true => (&[0, 5], "0 and 5,000", 20),
        false => (&[0, 1, 2, 5], "0, 1,000, 2,000 and 5,000", 36),
    };
    writeln!(out, "Their two weights after {after} steps:\n")?;
    writeln!(out, "{:>4}  {:<width$}  sNMU, noise U[1,5]", "seed", "NMU")?;
    let mut solved = [0; 2];
    for seed in 0..seeds {
        let mut cells = Vec::new();
        for (k, network) in networks.into_iter().enumerate() {
            let way = Way::of(network, task, seed, 1_000)?;
            solved[k] += u64::from(way.solved);
            let path: Vec<String> = at.iter().map(|&k| way.at(k)).map(|[a, b]| format!("{a:.1},{b:.1}")).collect();
            cells.push(format!("{:4} {}", if way.solved { "ok" } else { "FAIL" }, path.join(" ")));
        }
        writeln!(out, "{seed:>4}  {:<width$}  {}", cells[0], cells[1])?;
    }
    Ok(writeln!(out, "\n{}", sentence(seeds, solved).join("\n"))?)
}

/// What was seen, in one sentence of lines that fit.
fn sentence(n: u64, [nmu, snmu]: [u64; 2]) -> Vec<String> {
    let counts = format!("The NMU solved {nmu} of {n}, the sNMU {snmu} of {n}");
    let text = match nmu < snmu {
        true => format!(
            "{counts}: with both weights at 0 an NMU's output is 1 and nothing leads away from there; noise above 1 moves every weight towards 1, but leaves 0 and 1 where they are."
        ),
        false => format!("{counts}; more seeds (--seeds 10) show where they differ."),
    };
    crate::terminal::wrap(&text, crate::terminal::columns().map_or(78, |columns| columns.min(78)))
}

/// All that moves.
struct Picture {
    /// Of the NMU and of the sNMU, one for each seed.
    ways: [Vec<Way>; 2],
    mlp: Network<f32>,
    outside: Way,
}

impl Picture {
    fn play(&self) -> Result<()> {
        let pictures = self.pictures();
        let mut out = std::io::stdout().lock();
        writeln!(out, "Three networks learn a * b from U[-2,-1); the test is U[-6,-2). {} seeds:", self.ways[0].len())?;
        writeln!(out, "{LEGEND}")?;
        for (k, picture) in pictures.iter().enumerate() {
            let text = self.frame(*picture, k == FRAMES);
            // Up again to where the last one began.
            let up = if k > 0 { format!("\x1b[{}A", text.lines().count()) } else { String::new() };
            write!(out, "{up}{text}")?;
            out.flush()?;
            if k < FRAMES {
                std::thread::sleep(Duration::from_secs_f64(SECONDS / FRAMES as f64));
            }
        }
        let solved = [0, 1].map(|k: usize| self.ways[k].iter().filter(|way| way.solved).count() as u64);
        let lines = sentence(self.ways[0].len() as u64, solved);
        Ok(writeln!(out, "\n{}", lines.join("\n"))?)
    }

    /// The pictures to show, from the first to the last: most of them where weights move.
    fn pictures(&self) -> Vec<usize> {
        let last = (STEPS / EVERY) as usize;
        let moved = |way: &Way, k: usize| {
            let (before, now) = (way.at(k - 1), way.at(k));
            before.iter().zip(now).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>()
        };
        let moves: Vec<f64> = (1..=last).map(|k| self.ways.iter().flatten().map(|way| moved(way, k)).sum()).collect();
        // A run that diverged moves nothing that can be seen.
        let moves: Vec<f64> = moves.into_iter().map(|m| if m.is_finite() { m } else { 0.0 }).collect();
        let total = moves.iter().sum::<f64>().max(1e-12);
        let mut reached = 0.0;
        let mut shown = vec![0];
        for (k, own) in moves.iter().enumerate() {
            reached += (1.0 - STEADY) * own / total + STEADY / last as f64;
            while shown.len() < FRAMES && reached * FRAMES as f64 >= shown.len() as f64 {
                shown.push(k + 1);
            }
        }
        shown.resize(FRAMES, last);
        shown.push(last);
        shown
    }

    /// Three panels side by side: the weights of both units in the box of their loss, and the MLP over and beyond its range.
    fn frame(&self, frame: usize, is_last: bool) -> String {
        let panels = [
            weights("NMU", &self.ways[0], frame, is_last, false),
            weights("sNMU, noise U[1,5]", &self.ways[1], frame, is_last, true),
            self.beyond(frame),
        ];
        let mut text = format!("step {:>5}\n", frame as u64 * EVERY);
        for line in 0..panels[0].len() {
            let parts: Vec<&str> = panels.iter().map(|panel| panel[line].as_str()).collect();
            text += &parts.join(" ");
            text.push('\n');
        }
        text
    }

    /// a * a as the MLP has it, from -6 to -1, beside the truth.
    fn beyond(&self, frame: usize) -> Vec<String> {
        let (columns, lines) = PANEL;
        let params = &self.outside.params[frame.min(self.outside.params.len() - 1)];
        let mut cells = vec![vec![' '; columns]; lines];
        // From 0 at the bottom to 36 at the top.
        let place =
            |y: f64| (lines - 1).saturating_sub((y.clamp(0.0, 36.0) / 36.0 * (lines - 1) as f64).round() as usize);
        for column in 0..columns {
            let x = -6.0 + 5.0 * column as f64 / (columns - 1) as f64;
            cells[place(x * x)][column] = '·';
            let guess = self.mlp.predict(params, &[x as f32, x as f32]).map_or(0.0, |y| f64::from(y[0]));
            cells[place(guess)][column] = if x >= -2.0 { '●' } else { '○' };
        }
        framed(
            "MLP: a * a from -6 to -1",
            cells.into_iter().map(|line| line.into_iter().collect()).collect(),
            "○ beyond -2, · the truth",
        )
    }
}

/// The weights of all seeds in the box of the loss: the emptier, the smaller.
fn weights(title: &str, ways: &[Way], frame: usize, is_last: bool, noisy: bool) -> Vec<String> {
    let (columns, lines) = PANEL;
    let mut cells: Vec<Vec<String>> = (0..lines)
        .map(|line| {
            let loss = |column: usize| {
                loss(column as f64 / (columns - 1) as f64, 1.0 - line as f64 / (lines - 1) as f64, noisy)
            };
            (0..columns).map(|column| shade(loss(column)).to_string()).collect()
        })
        .collect();
    for way in ways {
        let [a, b] = way.at(frame).map(|w| f64::from(w).clamp(0.0, 1.0));
        let (column, line) =
            ((a * (columns - 1) as f64).round() as usize, ((1.0 - b) * (lines - 1) as f64).round() as usize);
        cells[line][column] = match (is_last, way.solved) {
            (true, true) => paint(To::Output, Tone::Good, "●"),
            (true, false) => paint(To::Output, Tone::Bad, "×"),
            _ => paint(To::Output, Tone::Heading, "o"),
        };
    }
    let solved = ways.iter().filter(|way| way.solved).count();
    let counts = format!("{solved} ●  {} ×", ways.len() - solved);
    let below = if is_last { &counts } else { "both weights, 0 to 1" };
    framed(title, cells.into_iter().map(|line| line.concat()).collect(), below)
}

/// A panel with its title above and what it shows below.
fn framed(title: &str, lines: Vec<String>, below: &str) -> Vec<String> {
    let width = PANEL.0;
    let mut all = vec![format!("{title:<w$}", w = width + 2), format!("┌{}┐", "─".repeat(width))];
    all.extend(lines.into_iter().map(|line| format!("│{line}│")));
    all.push(format!("└{}┘", "─".repeat(width)));
    all.push(format!("{below:<w$}", w = width + 2));
    all
}

/// The mean squared error of a unit with these weights on U[-2,-1); of the sNMU the mean over its noise, too.
fn loss(a: f64, b: f64, noisy: bool) -> f64 {
    let points: Vec<f64> = (0..4).map(|k| -2.0 + (f64::from(k) + 0.5) / 4.0).collect();
    let noises: Vec<f64> =
        if noisy { (0..4).map(|k| 1.0 + (NOISE - 1.0) * (f64::from(k) + 0.5) / 4.0).collect() } else { vec![1.0] };
    let factor = |x: f64, w: f64, n: f64| (n * x * w + 1.0 - w) / (n * w + 1.0 - w);
    let (mut sum, mut count) = (0.0, 0.0);
    for (&x, &y) in points.iter().flat_map(|x| points.iter().map(move |y| (x, y))) {
        for (&n, &m) in noises.iter().flat_map(|n| noises.iter().map(move |m| (n, m))) {
            let error = factor(x, a, n) * factor(y, b, m) - x * y;
            sum += error * error;
            count += 1.0;
        }
    }
    sum / count
}

/// From empty to dense.
fn shade(loss: f64) -> char {
    match loss {
        l if l < 0.1 => ' ',
        l if l < 0.6 => '.',
        l if l < 2.0 => ':',
        l if l < 5.0 => '-',
        _ => '=',
    }
}

/// The same as one page with figures, by way of an experiment.
fn page(registry: &Registry, seeds: u64, path: &Path) -> Result<()> {
    let (folder, name) = split(path)?;
    let text = include_str!("demo.toml").replace("SEEDS", &seeds.to_string()).replace("STEPS", &STEPS.to_string());
    let mut experiment = of_text(registry, "demo", &text, &Overrides::default())?;
    (experiment.name, experiment.command) = (name, format!("nalm demo --seeds {seeds} --html {}", path.display()));
    registry.ensure_free(std::slice::from_ref(&experiment), &folder, "--html")?;
    let mut contents = Contents::default();
    let order = Order { runs: &experiment.runs, threads: super::run::threads(None), checkpoints: None };
    let client: &dyn Client = &Quiet::default();
    pool::carry_out(&registry.catalogue, &order, client, |finished| {
        finished.into_iter().for_each(|finished| contents.insert(finished.row));
        Ok(())
    })?;
    super::report::tell(&folder, &registry.report(&experiment, &contents, &folder)?);
    say!("{} is written, its figures and their data beside it", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only what happened is explained.
    #[test]
    fn the_sentence_explains_what_was_seen() {
        let same = sentence(3, [3, 3]).join(" ");
        assert!(
            same.starts_with("The NMU solved 3 of 3, the sNMU 3 of 3; more seeds")
                && !same.contains("both weights at 0")
        );
        let different = sentence(10, [6, 10]);
        assert!(
            different.join(" ").contains("noise above 1") && different.iter().all(|line| line.chars().count() <= 78)
        );
    }

    /// Both losses vanish at (1, 1) alone; the noise makes the other end of the box no deeper.
    #[test]
    fn the_box_has_its_minimum_at_one() {
        for noisy in [false, true] {
            assert!(loss(1.0, 1.0, noisy) < 1e-12 && loss(0.0, 0.0, noisy) > 1.0 && loss(0.5, 0.5, noisy) > 0.1);
        }
    }

    /// In a small terminal, the table is shown; the legend fits where the picture does.
    #[test]
    fn a_picture_needs_room() {
        assert!(has_room(None, None) && has_room(Some(80), Some(18)) && LEGEND.chars().count() <= WIDTH);
        assert!(!has_room(Some(79), Some(40)) && !has_room(Some(200), Some(17)));
    }

    /// The last picture fits a terminal of eighty columns and shows where every seed ended.
    #[test]
    fn the_last_picture_shows_where_every_seed_ended() {
        let task = SingleModule::mul(-2.0, -1.0, -6.0, -2.0).unwrap();
        let nmu = Network::<f32>::single(Nmu::new(2, 1).unwrap());
        let mlp = Network::<f32>::single(Mlp::new(2, 10, 1).unwrap());
        let ways: Vec<Way> = (0..6).map(|seed| Way::of(&nmu, &task, seed, EVERY).unwrap()).collect();
        let failed = ways.iter().filter(|way| !way.solved).count();
        assert!((1..6).contains(&failed), "some fail");
        let again = (0..6).map(|seed| Way::of(&nmu, &task, seed, EVERY).unwrap()).collect();
        let outside = Way::of(&mlp, &task, 0, EVERY).unwrap();
        let picture = Picture { ways: [ways, again], mlp, outside };
        let text = picture.frame(usize::MAX / 100, true);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains('●') && text.contains('×') && text.contains('○'), "{text}");
        assert_eq!(text.matches(&format!("{} ●  {failed} ×", 6 - failed)).count(), 2, "{text}");
        assert_eq!(text.lines().count(), PANEL.1 + 5);
        assert_eq!(picture.frame(0, false).lines().count(), text.lines().count());
        // Few frames show the same as the one before them.
        let pictures = picture.pictures();
        assert_eq!((pictures.len(), pictures[0], pictures[FRAMES]), (FRAMES + 1, 0, (STEPS / EVERY) as usize));
        let still = pictures.windows(2).filter(|pair| {
            let moved = |way: &Way| way.at(pair[0]).iter().zip(way.at(pair[1])).any(|(a, b)| (a - b).abs() > 0.002);
            !picture.ways.iter().flatten().any(moved)
        });
        assert!(still.count() < FRAMES / 3, "{pictures:?}");
        assert!(pictures.windows(2).all(|pair| pair[0] <= pair[1]), "{pictures:?}");
    }
}
