//! How far something is: a bar on a terminal for runs, a plain line elsewhere, first after some seconds, then every half minute.

use crate::signal::Listening;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nalm_lab::cluster::Others;
use nalm_lab::pool::{Client, Progress as Reached};
use nalm_lab::run::Spec;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// When the next line is due.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    next: Instant,
    then: Duration,
}

impl Pace {
    /// Lines that stay: somebody who sees nothing for ten seconds takes it for a fault.
    pub(crate) fn of_lines() -> Self {
        Self { next: Instant::now() + Duration::from_secs(5), then: Duration::from_secs(30) }
    }

    fn of_a_bar() -> Self {
        let pause = Duration::from_millis(100);
        Self { next: Instant::now() + pause, then: pause }
    }

    /// Whether it is time; then the next pause begins.
    pub(crate) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next;
        if is_due {
            self.next = now + self.then;
        }
        is_due
    }
}

/// Shows progress, and stops when told by a signal.
pub(crate) struct Progress<'a> {
    listening: Listening,
    bar: Option<ProgressBar>,
    total: usize,
    /// In estimated seconds of one core: runs differ a thousandfold.
    total_work: f64,
    start: Instant,
    state: Mutex<State>,
    /// Who else works on the same runs.
    others: Option<&'a Others<'a>>,
}

struct State {
    /// What checkpoints had done before, and when that was known.
    head_start: Option<(f64, Instant)>,
    pace: Pace,
    done: usize,
    elsewhere: usize,
}

impl<'a> Progress<'a> {
    /// Shows the progress of `total` runs that take `work` seconds of one core.
    pub(crate) fn new(total: usize, work: f64) -> Self {
        let bar = (std::io::stderr().is_terminal() && !crate::terminal::is_quiet()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(1_000), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:20} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▌░"));
            bar
        });
        let now = Instant::now();
        let pace = if bar.is_some() { Pace::of_a_bar() } else { Pace::of_lines() };
        let state = Mutex::new(State { head_start: None, pace, done: 0, elsewhere: 0 });
        Self { listening: Listening::new(), bar, total, total_work: work, start: now, state, others: None }
    }

    /// With others who work on the same runs.
    pub(crate) fn beside(self, others: Option<&'a Others<'a>>) -> Self {
        Self { others, ..self }
    }

    /// Clears the bar and says what was done.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let State { done, elsewhere, .. } = *self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let others = if elsewhere > 0 { format!("; {elsewhere} were done by others") } else { String::new() };
        let s = if done == 1 { "" } else { "s" };
        say!("{done} run{s} in {:.1} s{others}", self.start.elapsed().as_secs_f64());
    }

    fn text(&self, reached: Reached, (before, since): (f64, Instant)) -> String {
        let (spent, new) = (since.elapsed().as_secs_f64(), reached.work - before);
        // What was measured over a moment, or over a small part of the work, says nothing about the rest.
        let left = match spent >= 3.0 && new >= 0.02 * (self.total_work - before) {
            true => format!(", about {} to go", duration(spent * (self.total_work - reached.work).max(0.0) / new)),
            false => String::new(),
        };
        let passed = self.start.elapsed().as_secs_f64();
        let mut text = format!("{} of {} runs after {}{left}", reached.done, self.total, duration(passed));
        if reached.elsewhere > 0 {
            text += &format!(", {} done by others", reached.elsewhere);
        }
        if reached.images > 0 {
            text += &format!(", {:.0} images/s", reached.images as f64 / passed.max(1e-9));
        }
        text
    }
}

impl Client for Progress<'_> {
    fn stopped(&self) -> bool {
        self.listening.is_asked_to_stop()
    }

    fn is_done(&self, run: &Spec) -> bool {
        self.others.is_some_and(|others| others.has(run))
    }

    fn progress(&self, reached: Reached) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.done, state.elsewhere) = (reached.done, reached.elsewhere);
        // Whatever is there at the first look was done before.
        let head_start = *state.head_start.get_or_insert((reached.work, Instant::now()));
        if !state.pace.is_due() {
            return;
        }
        let text = self.text(reached, head_start);
        match &self.bar {
            Some(bar) => {
                bar.set_position((1_000.0 * reached.work / self.total_work.max(1e-9)).clamp(0.0, 1_000.0) as u64);
                bar.set_message(text);
            }
            None => say!("{text}"),
        }
    }

    fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say!("{text}")),
            None => say!("{text}"),
        }
    }
}

/// A time span for people.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 5_400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_checkpoints_had_done_does_not_speed_up_the_estimate() {
        let mut progress = Progress::new(4, 400.0);
        let ago = Instant::now().checked_sub(Duration::from_secs(100)).unwrap();
        progress.start = ago;
        let reached = |work| Reached { done: 1, elsewhere: 0, work, images: 0 };
        assert_eq!(progress.text(reached(200.0), (0.0, ago)), "1 of 4 runs after 2 min, about 2 min to go");
        assert_eq!(progress.text(reached(200.0), (150.0, ago)), "1 of 4 runs after 2 min, about 7 min to go");
        assert_eq!(progress.text(reached(150.0), (150.0, ago)), "1 of 4 runs after 2 min");
        assert_eq!(progress.text(reached(152.0), (150.0, ago)), "1 of 4 runs after 2 min", "a hundredth is too little");
        assert_eq!(
            progress.text(reached(200.0), (0.0, Instant::now())),
            "1 of 4 runs after 2 min",
            "a moment is too short"
        );
        let images = Reached { images: 5_000, ..reached(200.0) };
        assert_eq!(progress.text(images, (0.0, ago)), "1 of 4 runs after 2 min, about 2 min to go, 50 images/s");
    }

    /// Nobody waits ten seconds for the first line, and then there are few.
    #[test]
    fn the_first_line_is_due_before_the_others() {
        let mut pace = Pace::of_lines();
        assert!(!pace.is_due() && pace.next < Instant::now() + Duration::from_secs(10));
        pace.next = Instant::now();
        assert!(pace.is_due() && !pace.is_due() && pace.next > Instant::now() + Duration::from_secs(20));
    }

    #[test]
    fn spans_are_for_people() {
        assert_eq!([0.2, 45.0, 300.0, 7_200.0].map(duration), ["1 s", "45 s", "5 min", "2.0 h"]);
    }
}
