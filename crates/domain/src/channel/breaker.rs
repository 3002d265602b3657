//! The circuit breaker of a channel binding: after some failures in a row its messages wait,
//! and one at a time probes whether the receiver works again.

use std::time::Duration;

/// When messages of a binding wait, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendBreaker {
    /// Failures in a row that open the breaker.
    pub threshold: u32,
    /// The wait before the first probe; it doubles after each that fails.
    pub initial_wait: Duration,
    pub max_wait: Duration,
}

impl Default for SendBreaker {
    fn default() -> Self {
        let (initial_wait, max_wait) = (Duration::from_secs(1), Duration::from_secs(5));
        Self { threshold: 3, initial_wait, max_wait }
    }
}

impl SendBreaker {
    /// Returns how long messages wait after this many failures in a row, or `None` if the
    /// breaker is closed.
    pub fn wait_after(&self, failures: u32) -> Option<Duration> {
        let probes = failures.checked_sub(self.threshold)?;
        let factor = 2_u32.saturating_pow(probes);
        Some(self.initial_wait.saturating_mul(factor).min(self.max_wait))
    }
}

#[cfg(test)]
mod tests {
    use super::SendBreaker;

    /// C17: three failures in a row open the breaker, and it probes every five seconds at
    /// last.
    #[test]
    fn c17_a_breaker_opens_after_three_failures() {
        let breaker = SendBreaker::default();
        let waits = |failures| breaker.wait_after(failures).map(|wait| wait.as_secs());
        let table = [(0, None), (2, None), (3, Some(1)), (4, Some(2)), (5, Some(4)), (6, Some(5))];
        for (failures, expected) in table {
            assert_eq!(waits(failures), expected, "{failures}");
        }
        assert_eq!(waits(u32::MAX), Some(5));
    }
}
