//! The circuit breaker of one agent: after enough failures in a row nothing is
//! dispatched to it for a while; then one message probes whether it works again.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerPolicy {
    /// Failures in a row that open the breaker; at least one.
    pub threshold: u32,
    pub cooldown: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { threshold: 5, cooldown: Duration::from_secs(30) }
    }
}

/// State of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BreakerState {
    Closed {
        /// Failures since the last success.
        failures: u32,
    },
    Open {
        until: Timestamp,
    },
    /// One probe message is in flight; nothing else is dispatched.
    HalfOpen,
}

/// A circuit breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    policy: BreakerPolicy,
    state: BreakerState,
    /// Counts state changes, so that the outcome of a message dispatched before a
    /// change is ignored after it.
    generation: u64,
}

/// The right to dispatch one message. Hand it back with the outcome.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "report the outcome of the dispatch with it"]
pub struct BreakerPermit {
    generation: u64,
}

/// The breaker is open: nothing may be dispatched now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the agent failed too often; its circuit breaker is open")]
pub struct BreakerOpen {
    /// When to try again; `None` while a probe is in flight.
    pub until: Option<Timestamp>,
}

/// Result of a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerOutcome {
    Succeeded,
    Failed,
    /// Not carried out, so it says nothing about the agent.
    Abandoned,
}

impl Breaker {
    /// Creates a closed breaker.
    pub const fn new(policy: BreakerPolicy) -> Self {
        Self { policy, state: BreakerState::Closed { failures: 0 }, generation: 0 }
    }

    /// Returns the current state.
    pub const fn state(&self) -> BreakerState {
        self.state
    }

    /// Returns a permit to dispatch one message now, or when to try again.
    pub fn admit(&mut self, now: Timestamp) -> Result<BreakerPermit, BreakerOpen> {
        match self.state {
            BreakerState::Closed { .. } => {}
            BreakerState::Open { until } if now >= until => self.set_state(BreakerState::HalfOpen),
            BreakerState::Open { until } => return Err(BreakerOpen { until: Some(until) }),
            BreakerState::HalfOpen => return Err(BreakerOpen { until: None }),
        }
        Ok(BreakerPermit { generation: self.generation })
    }

    /// Records the outcome of a dispatch.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is used once")]
    pub fn report(&mut self, permit: BreakerPermit, outcome: BreakerOutcome, now: Timestamp) {
        if permit.generation != self.generation {
            return;
        }
        match (self.state, outcome) {
            (BreakerState::Closed { .. }, BreakerOutcome::Succeeded) => {
                self.state = BreakerState::Closed { failures: 0 };
            }
            (BreakerState::Closed { failures }, BreakerOutcome::Failed) => {
                let failures = failures.saturating_add(1);
                self.state = BreakerState::Closed { failures };
                if failures >= self.policy.threshold {
                    self.open(now);
                }
            }
            (BreakerState::HalfOpen, BreakerOutcome::Succeeded) => {
                self.set_state(BreakerState::Closed { failures: 0 });
            }
            (BreakerState::HalfOpen, BreakerOutcome::Failed) => self.open(now),
            // The next message probes at once.
            (BreakerState::HalfOpen, BreakerOutcome::Abandoned) => {
                self.set_state(BreakerState::Open { until: now });
            }
            (BreakerState::Closed { .. }, BreakerOutcome::Abandoned)
            | (BreakerState::Open { .. }, _) => {}
        }
    }

    fn open(&mut self, now: Timestamp) {
        self.set_state(BreakerState::Open { until: now + self.policy.cooldown });
    }

    const fn set_state(&mut self, state: BreakerState) {
        self.state = state;
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Breaker, BreakerOpen, BreakerOutcome, BreakerPolicy, BreakerState};
    use crate::time::Timestamp;

    const POLICY: BreakerPolicy =
        BreakerPolicy { threshold: 3, cooldown: Duration::from_millis(100) };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn run(breaker: &mut Breaker, outcome: BreakerOutcome, now: i64) {
        let permit = breaker.admit(at(now)).unwrap();
        breaker.report(permit, outcome, at(now));
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::new(POLICY);
        (0..3).for_each(|_| run(&mut breaker, BreakerOutcome::Failed, 0));
        breaker
    }

    /// X48: the threshold opens it; nothing is dispatched until the cooldown.
    #[test]
    fn x48_failures_in_a_row_open_the_breaker() {
        let mut breaker = Breaker::new(POLICY);
        for outcome in [
            BreakerOutcome::Failed,
            BreakerOutcome::Failed,
            BreakerOutcome::Succeeded,
            BreakerOutcome::Failed,
        ] {
            run(&mut breaker, outcome, 0);
        }
        assert_eq!(breaker.state(), BreakerState::Closed { failures: 1 });
        run(&mut breaker, BreakerOutcome::Abandoned, 0);
        run(&mut breaker, BreakerOutcome::Failed, 0);
        run(&mut breaker, BreakerOutcome::Failed, 7);
        assert_eq!(breaker.state(), BreakerState::Open { until: at(107) });
        assert_eq!(breaker.admit(at(106)), Err(BreakerOpen { until: Some(at(107)) }));
    }

    /// X48: after the cooldown one probe; success closes, failure reopens.
    #[test]
    fn x48_one_probe_decides() {
        let table = [
            (BreakerOutcome::Succeeded, BreakerState::Closed { failures: 0 }),
            (BreakerOutcome::Failed, BreakerState::Open { until: at(250) }),
            (BreakerOutcome::Abandoned, BreakerState::Open { until: at(150) }),
        ];
        for (outcome, expected) in table {
            let mut breaker = opened();
            let probe = breaker.admit(at(100)).unwrap();
            assert_eq!(breaker.admit(at(120)), Err(BreakerOpen { until: None }), "one probe only");
            breaker.report(probe, outcome, at(150));
            assert_eq!(breaker.state(), expected, "{outcome:?}");
        }
    }

    /// X48: what was dispatched before it opened does not close it.
    #[test]
    fn x48_an_old_outcome_does_not_count() {
        let mut breaker = Breaker::new(POLICY);
        let (slow, slower) = (breaker.admit(at(0)).unwrap(), breaker.admit(at(0)).unwrap());
        (0..3).for_each(|_| run(&mut breaker, BreakerOutcome::Failed, 0));
        breaker.report(slow, BreakerOutcome::Succeeded, at(1));
        assert_eq!(breaker.state(), BreakerState::Open { until: at(100) });
        let _probe = breaker.admit(at(100)).unwrap();
        breaker.report(slower, BreakerOutcome::Succeeded, at(101));
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
    }
}
