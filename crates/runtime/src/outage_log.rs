//! Logs an outage when it begins, seldom while it lasts, and when it ends, however often
//! the operation is tried.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a lasting outage is silent.
const REMINDER_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// When the present outage was last logged.
#[derive(Debug, Default)]
pub(crate) struct OutageLog(Mutex<Option<Instant>>);

impl OutageLog {
    /// Records a failure and returns whether to log it: the outage begins with it, or was
    /// logged long ago.
    pub(crate) fn record_failure(&self) -> bool {
        self.record_failure_at(Instant::now())
    }

    fn record_failure_at(&self, now: Instant) -> bool {
        let mut logged_at = self.lock();
        let silent = logged_at.is_some_and(|at| now.duration_since(at) < REMINDER_INTERVAL);
        if !silent {
            *logged_at = Some(now);
        }
        !silent
    }

    /// Records a success and returns whether an outage ends with it.
    pub(crate) fn record_success(&self) -> bool {
        self.lock().take().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Instant, OutageLog};

    #[test]
    fn a_lasting_outage_is_logged_once_and_then_seldom() {
        let (log, start) = (OutageLog::default(), Instant::now());
        let fails = |after_secs| log.record_failure_at(start + Duration::from_secs(after_secs));
        assert_eq!(
            [0, 5, 1799, 1800, 1805, 3600].map(fails),
            [true, false, false, true, false, true]
        );
        assert_eq!([log.record_success(), log.record_success()], [true, false]);
        assert!(fails(3601), "the next outage is logged again");
    }
}
