//! Signals. While runs are under way, the first one asks them to stop; otherwise, and the second time, it ends the program at once. USR1, by
//! which schedulers warn, only asks, however often: some send it to the script and to all that it started, and the script passes it on.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Stopped, and the same command continues.
pub(crate) const STOPPED: u8 = 75;

struct Flags {
    /// Whether somebody asked to stop.
    asked: Arc<AtomicBool>,
    /// Whether a signal ends the program on the spot.
    at_once: Arc<AtomicBool>,
    /// Whether nothing is under way that could be asked.
    idle: Arc<AtomicBool>,
    /// How many listen.
    listening: AtomicUsize,
}

static FLAGS: OnceLock<Flags> = OnceLock::new();

/// Takes signals over, before anything else is done.
pub(crate) fn install() -> std::io::Result<()> {
    let yes = || Arc::new(AtomicBool::new(true));
    let flags = Flags { asked: Arc::default(), at_once: yes(), idle: yes(), listening: AtomicUsize::new(0) };
    #[cfg(unix)]
    {
        flag::register_conditional_shutdown(signal_hook::consts::SIGUSR1, STOPPED.into(), Arc::clone(&flags.idle))?;
        flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&flags.asked))?;
    }
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds what it then sets still unset.
        flag::register_conditional_shutdown(signal, STOPPED.into(), Arc::clone(&flags.at_once))?;
        flag::register(signal, Arc::clone(&flags.asked))?;
        flag::register(signal, Arc::clone(&flags.at_once))?;
    }
    _ = FLAGS.set(flags);
    Ok(())
}

/// As long as one lives, a first signal is a wish, and not the end.
pub(crate) struct Listening;

impl Listening {
    /// Begins to listen.
    pub(crate) fn new() -> Self {
        if let Some(flags) = FLAGS.get().filter(|flags| flags.listening.fetch_add(1, Relaxed) == 0) {
            flags.at_once.store(flags.asked.load(Relaxed), Relaxed);
            flags.idle.store(false, Relaxed);
        }
        Self
    }

    /// Whether somebody asked to stop.
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        FLAGS.get().is_some_and(|flags| flags.asked.load(Relaxed))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(flags) = FLAGS.get().filter(|flags| flags.listening.fetch_sub(1, Relaxed) == 1) {
            flags.at_once.store(true, Relaxed);
            flags.idle.store(true, Relaxed);
        }
    }
}
