//! What can be chosen of every task, how choices are read, and what a run of them costs.

use crate::error::Error;
use nalm::setting::Kind;
use nalm::{Options, Setting, module};

/// A setting that changes the numbers of a run.
pub(crate) const fn changes(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind, default, meaning, numerics: true }
}

/// A setting that only changes what is kept of them.
pub(crate) const fn keeps(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Setting {
    Setting { name, kind, default, meaning, numerics: false }
}

pub(crate) const EPOCHS: Setting = changes("epochs", Kind::Whole, "1000", "epochs");
pub(crate) const BATCH: Setting =
    changes("batch", Kind::Whole, "", "samples in a batch; the published number if not given");
pub(crate) const LAMBDA: Setting =
    changes("lambda", Kind::Number, "", "strength of the sparsity penalty; the published one if not given");
pub(crate) const ROW_EVERY: Setting =
    keeps("row_every", Kind::Whole, "", "epochs between two measurements; the published number if not given");

/// The value of a setting, or the published one where none is given.
pub(crate) fn or<T>(
    given: &Options,
    setting: &Setting,
    read: impl Fn(&Options, &Setting) -> Result<T, nalm::Error>,
    published: T,
) -> Result<T, nalm::Error> {
    if given.get(setting.name).is_some() { read(given, setting) } else { Ok(published) }
}

/// The value of a [`Kind::Whole`] that counts epochs.
pub(crate) fn count(given: &Options, setting: &Setting) -> Result<u64, nalm::Error> {
    given.whole(setting).map(|n| n as u64)
}

/// Those options that the head declares, checked. The task's settings stand beside them; one of these, lambda, is an option of a unit that
/// is no head.
pub(crate) fn of_head(head: &str, given: &Options) -> Result<Options, Error> {
    let declared = module::find::<f32>(head)?.options;
    let mut own = Options::new();
    let of_head = given.iter().filter(|(name, _)| declared.iter().any(|option| option.name == *name));
    of_head.for_each(|(name, value)| own.set(name, value.clone()));
    Ok(own.check(head, declared)?)
}

/// Seconds on one core where training takes so many milliseconds an image, given the images that an epoch trains and a row measures.
pub(crate) fn seconds(image: f64, trained: f64, measured: f64, epochs: u64, row_every: u64) -> f64 {
    let epochs = epochs as f64;
    let rows = epochs / row_every as f64 + 1.0;
    // Measuring takes a third of training.
    1e-3 * image * (epochs * trained + rows * measured / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 epochs of 1,000 images, and 3 rows of 600 images at a third of the time, at 0.12 ms each.
    #[test]
    fn estimates_count_what_is_trained_and_what_is_measured() {
        assert!((seconds(0.12, 1_000.0, 600.0, 10, 5) - 1.272).abs() < 1e-12);
        assert!((seconds(2.0, 0.0, 3.0, 4, 1) - 0.01).abs() < 1e-12);
    }
}
