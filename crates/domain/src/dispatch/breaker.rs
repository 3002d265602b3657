//! The circuit breaker of one agent: after enough failures nothing is
//! dispatched to it for a while, and then one message tries whether it works.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerPolicy {
    /// Failures in a row that open it; at least one.
    pub threshold: u32,
    /// How long it stays open.
    pub cooldown: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { threshold: 5, cooldown: Duration::from_secs(30) }
    }
}

/// What is known of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum BreakerState {
    /// Messages are dispatched.
    Closed {
        /// Failures since the last success.
        failures: u32,
    },
    /// Nothing is dispatched.
    Open {
        /// Until this moment.
        until: Timestamp,
    },
    /// One message is out to try; nothing else is dispatched.
    HalfOpen,
}

/// A breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    policy: BreakerPolicy,
    state: BreakerState,
    /// Counts the changes of state, so that an outcome from before one does
    /// not count after it.
    generation: u64,
}

/// The right to dispatch one message. Its outcome is given back with it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the outcome of the dispatch is reported with it"]
pub struct Permit {
    generation: u64,
}

/// Nothing may be dispatched now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the agent failed too often and is left alone for a while")]
pub struct Tripped {
    /// When to ask again; unknown while a message tries.
    pub until: Option<Timestamp>,
}

/// How a dispatch went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It worked.
    Succeeded,
    /// It failed.
    Failed,
    /// It was not carried out, and says nothing about the agent.
    Abandoned,
}

impl Breaker {
    /// A closed breaker.
    pub const fn new(policy: BreakerPolicy) -> Self {
        Self { policy, state: BreakerState::Closed { failures: 0 }, generation: 0 }
    }

    /// What is known of the agent.
    pub const fn state(&self) -> BreakerState {
        self.state
    }

    /// Whether a message may be dispatched now.
    pub fn admit(&mut self, now: Timestamp) -> Result<Permit, Tripped> {
        match self.state {
            BreakerState::Closed { .. } => {}
            BreakerState::Open { until } if now >= until => self.change(BreakerState::HalfOpen),
            BreakerState::Open { until } => return Err(Tripped { until: Some(until) }),
            BreakerState::HalfOpen => return Err(Tripped { until: None }),
        }
        Ok(Permit { generation: self.generation })
    }

    /// Takes the outcome of a dispatch.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is used once")]
    pub fn report(&mut self, permit: Permit, outcome: Outcome, now: Timestamp) {
        if permit.generation != self.generation {
            return;
        }
        match (self.state, outcome) {
            (BreakerState::Closed { .. }, Outcome::Succeeded) => {
                self.state = BreakerState::Closed { failures: 0 };
            }
            (BreakerState::Closed { failures }, Outcome::Failed) => {
                let failures = failures.saturating_add(1);
                self.state = BreakerState::Closed { failures };
                if failures >= self.policy.threshold {
                    self.open(now);
                }
            }
            (BreakerState::HalfOpen, Outcome::Succeeded) => {
                self.change(BreakerState::Closed { failures: 0 });
            }
            (BreakerState::HalfOpen, Outcome::Failed) => self.open(now),
            // The next message tries at once.
            (BreakerState::HalfOpen, Outcome::Abandoned) => {
                self.change(BreakerState::Open { until: now });
            }
            (BreakerState::Closed { .. }, Outcome::Abandoned) | (BreakerState::Open { .. }, _) => {}
        }
    }

    fn open(&mut self, now: Timestamp) {
        self.change(BreakerState::Open { until: now + self.policy.cooldown });
    }

    const fn change(&mut self, state: BreakerState) {
        self.state = state;
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Breaker, BreakerPolicy, BreakerState, Outcome, Tripped};
    use crate::time::Timestamp;

    const POLICY: BreakerPolicy =
        BreakerPolicy { threshold: 3, cooldown: Duration::from_millis(100) };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn run(breaker: &mut Breaker, outcome: Outcome, now: i64) {
        let permit = breaker.admit(at(now)).unwrap();
        breaker.report(permit, outcome, at(now));
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::new(POLICY);
        (0..3).for_each(|_| run(&mut breaker, Outcome::Failed, 0));
        breaker
    }

    /// X48: the threshold opens it; nothing is dispatched until the cooldown.
    #[test]
    fn x48_failures_in_a_row_open_the_breaker() {
        let mut breaker = Breaker::new(POLICY);
        for outcome in [Outcome::Failed, Outcome::Failed, Outcome::Succeeded, Outcome::Failed] {
            run(&mut breaker, outcome, 0);
        }
        assert_eq!(breaker.state(), BreakerState::Closed { failures: 1 });
        run(&mut breaker, Outcome::Abandoned, 0);
        run(&mut breaker, Outcome::Failed, 0);
        run(&mut breaker, Outcome::Failed, 7);
        assert_eq!(breaker.state(), BreakerState::Open { until: at(107) });
        assert_eq!(breaker.admit(at(106)), Err(Tripped { until: Some(at(107)) }));
    }

    /// X48: after the cooldown one probe; success closes, failure reopens.
    #[test]
    fn x48_one_probe_decides() {
        let table = [
            (Outcome::Succeeded, BreakerState::Closed { failures: 0 }),
            (Outcome::Failed, BreakerState::Open { until: at(250) }),
            (Outcome::Abandoned, BreakerState::Open { until: at(150) }),
        ];
        for (outcome, expected) in table {
            let mut breaker = opened();
            let probe = breaker.admit(at(100)).unwrap();
            assert_eq!(breaker.admit(at(120)), Err(Tripped { until: None }), "one probe only");
            breaker.report(probe, outcome, at(150));
            assert_eq!(breaker.state(), expected, "{outcome:?}");
        }
    }

    /// X48: what was dispatched before it opened does not close it.
    #[test]
    fn x48_an_old_outcome_does_not_count() {
        let mut breaker = Breaker::new(POLICY);
        let (slow, slower) = (breaker.admit(at(0)).unwrap(), breaker.admit(at(0)).unwrap());
        (0..3).for_each(|_| run(&mut breaker, Outcome::Failed, 0));
        breaker.report(slow, Outcome::Succeeded, at(1));
        assert_eq!(breaker.state(), BreakerState::Open { until: at(100) });
        let _probe = breaker.admit(at(100)).unwrap();
        breaker.report(slower, Outcome::Succeeded, at(101));
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
    }
}
