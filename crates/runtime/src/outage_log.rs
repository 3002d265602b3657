//! Logs an outage once when it begins and once when it ends, however often the operation
//! is tried.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the last attempt failed.
#[derive(Debug, Default)]
pub(crate) struct OutageLog(AtomicBool);

impl OutageLog {
    /// Records a failure and returns whether the outage begins with it.
    pub(crate) fn record_failure(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// Records a success and returns whether an outage ends with it.
    pub(crate) fn record_success(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed)
    }
}
