//! Deadlines of delegated work: an alert, then retries, then an escalation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// What happens after a missed deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlaPolicy {
    /// Retries before the work is escalated to a person.
    pub retries: u32,
    /// Time between the alert, each retry and the escalation.
    pub retry_interval: Duration,
}

impl Default for SlaPolicy {
    fn default() -> Self {
        Self { retries: 3, retry_interval: Duration::from_secs(60) }
    }
}

/// The next action for overdue work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlaAction {
    /// Report that the deadline has passed.
    Alert,
    /// Try again; the first retry is number 1.
    Retry(u32),
    /// Give the work to a person.
    Escalate,
}

/// Progress of the deadline handling of one piece of work. It is stored, so that a
/// restart repeats nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlaWatch {
    pub deadline: Timestamp,
    stage: SlaStage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SlaStage {
    Waiting,
    /// The alert was given, then this many retries, the last at `since`.
    Retrying {
        retries: u32,
        since: Timestamp,
    },
    Finished,
}

impl SlaWatch {
    /// Creates a watch with this deadline.
    pub const fn new(deadline: Timestamp) -> Self {
        Self { deadline, stage: SlaStage::Waiting }
    }

    /// Ends the watch because the work is done.
    pub const fn complete(&mut self) {
        self.stage = SlaStage::Finished;
    }

    /// Returns whether no further action can follow.
    pub fn is_finished(&self) -> bool {
        self.stage == SlaStage::Finished
    }

    /// Returns the action due now, one at a time, so that after a long pause each retry
    /// still gets its time.
    pub fn tick(&mut self, policy: SlaPolicy, now: Timestamp) -> Option<SlaAction> {
        match self.stage {
            SlaStage::Waiting if now >= self.deadline => {
                self.stage = SlaStage::Retrying { retries: 0, since: now };
                Some(SlaAction::Alert)
            }
            SlaStage::Retrying { retries, since } if now >= since + policy.retry_interval => {
                if retries >= policy.retries {
                    self.stage = SlaStage::Finished;
                    return Some(SlaAction::Escalate);
                }
                let retries = retries + 1;
                self.stage = SlaStage::Retrying { retries, since: now };
                Some(SlaAction::Retry(retries))
            }
            SlaStage::Waiting | SlaStage::Retrying { .. } | SlaStage::Finished => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{SlaAction, SlaPolicy, SlaWatch};
    use crate::time::Timestamp;

    const POLICY: SlaPolicy = SlaPolicy { retries: 3, retry_interval: Duration::from_millis(10) };

    fn ticks(watch: &mut SlaWatch, moments: &[i64]) -> Vec<Option<SlaAction>> {
        moments.iter().map(|at| watch.tick(POLICY, Timestamp::from_millis(*at))).collect()
    }

    /// X59: one alert at the deadline, three retries, one escalation.
    #[test]
    fn x59_alert_three_retries_one_escalation() {
        let mut watch = SlaWatch::new(Timestamp::from_millis(100));
        let found = ticks(&mut watch, &[99, 100, 100, 109, 110, 120, 130, 139, 140, 150, 999]);
        let retry = |number| Some(SlaAction::Retry(number));
        let (alert, escalate) = (Some(SlaAction::Alert), Some(SlaAction::Escalate));
        let expected =
            [None, alert, None, None, retry(1), retry(2), retry(3), None, escalate, None, None];
        assert_eq!(found, expected);
        assert!(watch.is_finished());
    }

    /// X59: after a late tick the actions follow one at a time.
    #[test]
    fn x59_a_late_tick_returns_one_action_at_a_time() {
        let mut watch = SlaWatch::new(Timestamp::from_millis(100));
        let found = ticks(&mut watch, &[900, 900, 909, 910]);
        assert_eq!(found, [Some(SlaAction::Alert), None, None, Some(SlaAction::Retry(1))]);
        watch.complete();
        assert_eq!(ticks(&mut watch, &[5000]), [None]);
    }

    #[test]
    fn the_policy_is_the_documented_one() {
        assert_eq!(SlaPolicy::default().retries, 3);
    }
}
