//! Work that must be done by a deadline: an alert, retries, an escalation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// What happens after a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlaPolicy {
    /// Retries before a person is asked.
    pub retries: u32,
    /// How long each of them, and the alert before them, is given.
    pub patience: Duration,
}

impl Default for SlaPolicy {
    fn default() -> Self {
        Self { retries: 3, patience: Duration::from_secs(60) }
    }
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlaAction {
    /// Say that the deadline has passed.
    Alert,
    /// Have it tried again; the first is number 1.
    Retry(u32),
    /// Give it to a person.
    Escalate,
}

/// How far the watch over one piece of work has come. It is kept, so that a
/// restart repeats nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlaWatch {
    /// By when the work is due.
    pub deadline: Timestamp,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    Waiting,
    /// The alert was given, and then so many retries, the last at `since`.
    Tried {
        retries: u32,
        since: Timestamp,
    },
    Over,
}

impl SlaWatch {
    /// A watch over work that is due at this moment.
    pub const fn new(deadline: Timestamp) -> Self {
        Self { deadline, step: Step::Waiting }
    }

    /// The work is done; nothing more comes.
    pub const fn done(&mut self) {
        self.step = Step::Over;
    }

    /// Whether anything can still come.
    pub fn is_over(&self) -> bool {
        self.step == Step::Over
    }

    /// What is due at this moment: one thing at a time, so that a watch that was
    /// not looked at for long gives each retry its time.
    pub fn tick(&mut self, policy: SlaPolicy, now: Timestamp) -> Option<SlaAction> {
        match self.step {
            Step::Waiting if now >= self.deadline => {
                self.step = Step::Tried { retries: 0, since: now };
                Some(SlaAction::Alert)
            }
            Step::Tried { retries, since } if now >= since + policy.patience => {
                if retries >= policy.retries {
                    self.step = Step::Over;
                    return Some(SlaAction::Escalate);
                }
                let retries = retries + 1;
                self.step = Step::Tried { retries, since: now };
                Some(SlaAction::Retry(retries))
            }
            Step::Waiting | Step::Tried { .. } | Step::Over => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{SlaAction, SlaPolicy, SlaWatch};
    use crate::time::Timestamp;

    const POLICY: SlaPolicy = SlaPolicy { retries: 3, patience: Duration::from_millis(10) };

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
        assert!(watch.is_over());
    }

    /// X59: whoever looks late catches up one step at a time.
    #[test]
    fn x59_a_late_look_is_no_burst() {
        let mut watch = SlaWatch::new(Timestamp::from_millis(100));
        let found = ticks(&mut watch, &[900, 900, 909, 910]);
        assert_eq!(found, [Some(SlaAction::Alert), None, None, Some(SlaAction::Retry(1))]);
        watch.done();
        assert_eq!(ticks(&mut watch, &[5000]), [None]);
    }

    #[test]
    fn the_policy_is_the_documented_one() {
        assert_eq!(SlaPolicy::default().retries, 3);
    }
}
