//! Saying once that something does not work, however often it is tried.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something is known not to work.
#[derive(Debug, Default)]
pub(crate) struct Outage(AtomicBool);

impl Outage {
    /// It did not work; says whether that is new.
    pub(crate) fn begins(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// It works; says whether that is new.
    pub(crate) fn ends(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}
