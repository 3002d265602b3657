//! Classes of failures and how to recover from each.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::retry::RetryPolicy;

/// Class of a failure.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// A part of this installation: the store, the bus, a node.
    Infrastructure,
    /// A bug or a wrong result of an agent.
    Application,
    /// Two components do not agree on a format or protocol.
    Integration,
    /// The message itself is invalid.
    Data,
    Timeout,
    Permission,
    /// A budget, a quota or a full queue.
    ResourceExhaustion,
    /// A third-party service.
    External,
}

impl FailureClass {
    /// All classes.
    pub const ALL: [Self; 8] = [
        Self::Infrastructure,
        Self::Application,
        Self::Integration,
        Self::Data,
        Self::Timeout,
        Self::Permission,
        Self::ResourceExhaustion,
        Self::External,
    ];

    /// Returns the name used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Infrastructure => "infrastructure",
            Self::Application => "application",
            Self::Integration => "integration",
            Self::Data => "data",
            Self::Timeout => "timeout",
            Self::Permission => "permission",
            Self::ResourceExhaustion => "resource_exhaustion",
            Self::External => "external",
        }
    }

    /// Returns whether the agent's circuit breaker counts the failure. An invalid
    /// message or a missing permission would fail with any agent.
    pub const fn counts_against_agent(self) -> bool {
        !matches!(self, Self::Data | Self::Permission)
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A way to recover from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryStrategy {
    /// Try again at once, up to this often.
    ImmediateRetry { retries: u32 },
    /// Try again after the waits of a policy.
    DelayedRetry(RetryPolicy),
    /// Give the message to another agent with the same skill, once.
    AlternativePath,
    /// Reply with the configured fallback.
    Fallback,
}

/// The next recovery step; it is recorded in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    RetryNow,
    RetryAfter(Duration),
    /// Give the message to another agent.
    Reroute,
    /// Reply with the configured fallback.
    Fallback,
    /// Nothing is left to try: the message becomes a dead letter.
    GiveUp,
}

/// The strategies of each failure class, tried in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecoveryPolicy(BTreeMap<FailureClass, Vec<RecoveryStrategy>>);

/// Progress of the recovery of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecoveryState {
    class: Option<FailureClass>,
    strategy: usize,
    tries: u32,
}

/// The delayed retry of the default policy.
const DELAYED_RETRY: RetryPolicy = RetryPolicy {
    max_attempts: 4,
    initial_wait: Duration::from_millis(500),
    factor: 4,
    max_wait: Duration::from_secs(30),
    jitter_percent: 10,
    max_retry_after: Duration::from_secs(60),
};

impl Default for RecoveryPolicy {
    /// Waits out temporary trouble, gives an agent's own failure to another agent, and
    /// gives up at once where a retry cannot help.
    fn default() -> Self {
        let delayed = RecoveryStrategy::DelayedRetry(DELAYED_RETRY);
        let retry_once = RecoveryStrategy::ImmediateRetry { retries: 1 };
        let strategies = |class| match class {
            FailureClass::Infrastructure | FailureClass::ResourceExhaustion => vec![delayed],
            FailureClass::External => vec![delayed, RecoveryStrategy::Fallback],
            FailureClass::Timeout => vec![retry_once, RecoveryStrategy::AlternativePath],
            FailureClass::Integration => vec![retry_once],
            FailureClass::Application => vec![RecoveryStrategy::AlternativePath],
            FailureClass::Data | FailureClass::Permission => Vec::new(),
        };
        Self(FailureClass::ALL.into_iter().map(|class| (class, strategies(class))).collect())
    }
}

impl RecoveryPolicy {
    /// Replaces the strategies of a class.
    #[must_use]
    pub fn with(mut self, class: FailureClass, strategies: Vec<RecoveryStrategy>) -> Self {
        self.0.insert(class, strategies);
        self
    }

    /// Returns the next recovery step for a failure. If the class differs from the
    /// previous failure of the message, only the fallback is left. `random_permille` is as in
    /// [`RetryPolicy::wait_after`].
    pub fn next(
        &self,
        state: &mut RecoveryState,
        class: FailureClass,
        random_permille: u32,
    ) -> Recovery {
        if state.class != Some(class) {
            // Bounds the tries over all classes: a message that fails with
            // alternating classes does not start over.
            let failed_before = state.class.is_some();
            *state = RecoveryState { class: Some(class), ..RecoveryState::default() };
            if failed_before {
                return self.last_resort(state, class);
            }
        }
        let strategies = self.0.get(&class).map_or(&[][..], Vec::as_slice);
        while let Some(strategy) = strategies.get(state.strategy) {
            state.tries += 1;
            if let Some(step) = strategy.step(state.tries, random_permille) {
                return step;
            }
            (state.strategy, state.tries) = (state.strategy + 1, 0);
        }
        Recovery::GiveUp
    }

    /// Handles a second class of failure for the same message: fallback or give up.
    fn last_resort(&self, state: &mut RecoveryState, class: FailureClass) -> Recovery {
        let strategies = self.0.get(&class).map_or(&[][..], Vec::as_slice);
        state.strategy = strategies.len();
        if strategies.contains(&RecoveryStrategy::Fallback) {
            Recovery::Fallback
        } else {
            Recovery::GiveUp
        }
    }
}

impl RecoveryStrategy {
    /// Returns the step of the try with this number, or `None` when the strategy is used up.
    fn step(self, number: u32, random_permille: u32) -> Option<Recovery> {
        match self {
            Self::ImmediateRetry { retries } => (number <= retries).then_some(Recovery::RetryNow),
            Self::DelayedRetry(policy) => {
                policy.wait_after(number, None, random_permille).map(Recovery::RetryAfter)
            }
            Self::AlternativePath => (number == 1).then_some(Recovery::Reroute),
            Self::Fallback => (number == 1).then_some(Recovery::Fallback),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        DELAYED_RETRY, FailureClass, Recovery, RecoveryPolicy, RecoveryState, RecoveryStrategy,
    };

    fn steps(policy: &RecoveryPolicy, class: FailureClass) -> Vec<Recovery> {
        let mut state = RecoveryState::default();
        let mut steps = Vec::new();
        while steps.last() != Some(&Recovery::GiveUp) {
            steps.push(policy.next(&mut state, class, 500));
        }
        steps
    }

    /// X51: eight classes, each with its name.
    #[test]
    fn x51_every_class_has_a_name() {
        for class in FailureClass::ALL {
            let written = serde_json::to_string(&class).unwrap();
            assert_eq!(written, format!("\"{class}\""));
        }
    }

    /// X50: each strategy can be chosen for a class, and each step is named.
    #[test]
    fn x50_each_strategy_is_selectable() {
        let after = |millis| Recovery::RetryAfter(Duration::from_millis(millis));
        let table = [
            (vec![], vec![]),
            (vec![RecoveryStrategy::ImmediateRetry { retries: 2 }], vec![Recovery::RetryNow; 2]),
            (
                vec![RecoveryStrategy::DelayedRetry(DELAYED_RETRY)],
                vec![after(500), after(2000), after(8000)],
            ),
            (vec![RecoveryStrategy::AlternativePath], vec![Recovery::Reroute]),
            (vec![RecoveryStrategy::Fallback], vec![Recovery::Fallback]),
            (
                vec![
                    RecoveryStrategy::ImmediateRetry { retries: 1 },
                    RecoveryStrategy::AlternativePath,
                ],
                vec![Recovery::RetryNow, Recovery::Reroute],
            ),
        ];
        for (strategies, mut expected) in table {
            expected.push(Recovery::GiveUp);
            for class in FailureClass::ALL {
                let policy = RecoveryPolicy::default().with(class, strategies.clone());
                assert_eq!(steps(&policy, class), expected, "{class} {strategies:?}");
            }
        }
    }

    /// X50: failing with alternating classes does not start the recovery over.
    #[test]
    fn x50_a_second_failure_class_ends_the_recovery() {
        let policy = RecoveryPolicy::default();
        let mut state = RecoveryState::default();
        assert_eq!(policy.next(&mut state, FailureClass::Timeout, 0), Recovery::RetryNow);
        assert_eq!(policy.next(&mut state, FailureClass::External, 0), Recovery::Fallback);
        assert_eq!(policy.next(&mut state, FailureClass::Timeout, 0), Recovery::GiveUp);
    }

    #[test]
    fn failures_independent_of_the_agent_are_not_counted() {
        let counted = FailureClass::ALL.into_iter().filter(|class| class.counts_against_agent());
        assert_eq!(counted.count(), 6);
    }
}
