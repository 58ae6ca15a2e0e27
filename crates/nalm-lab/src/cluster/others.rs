//! What other workers have done meanwhile, as far as the store shows it.

use crate::error::Result;
use crate::run::Spec;
use crate::store::{Index, Store};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// At least so long between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// Looking must not take more than this share of the time.
const SHARE: u32 = 20;

/// Reads the store again and again, but not too often. Files that appear late, as they do on network disks, cost a run that is done twice.
#[derive(Debug)]
pub struct Others<'a> {
    store: &'a Store,
    look: Mutex<Look>,
}

#[derive(Debug)]
struct Look {
    index: Index,
    at: Instant,
    took: Duration,
}

impl Look {
    fn at(store: &Store) -> Result<Self> {
        let start = Instant::now();
        let index = store.index()?;
        Ok(Self { index, at: Instant::now(), took: start.elapsed() })
    }
}

impl<'a> Others<'a> {
    /// Looks for the first time.
    pub fn new(store: &'a Store) -> Result<Self> {
        Ok(Self { store, look: Mutex::new(Look::at(store)?) })
    }

    /// Whether a run was carried out, as of a moment ago. A store that cannot be read now is as it was.
    pub fn has(&self, run: &Spec) -> bool {
        let mut look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        if look.at.elapsed() >= PAUSE.max(SHARE * look.took) {
            match Look::at(self.store) {
                Ok(new) => *look = new,
                Err(_) => look.at = Instant::now(),
            }
        }
        look.index.has(&run.id())
    }
}
