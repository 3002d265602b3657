//! What kinds of failures there are, and how each is recovered from.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::retry::RetryPolicy;

/// The label that every failure carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// A part of our own: the store, the bus, a node.
    Infrastructure,
    /// A bug or a wrong result of an agent.
    Application,
    /// Two parts did not understand each other.
    Integration,
    /// The message itself is wrong.
    Data,
    /// No answer in time.
    Timeout,
    /// It is not allowed.
    Permission,
    /// A budget, a quota, a full queue.
    ResourceExhaustion,
    /// A service of somebody else.
    External,
}

impl FailureClass {
    /// All of them.
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

    /// Its name.
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

    /// Whether the agent itself failed, so that its breaker counts it. A bad
    /// message or a missing permission would have failed with anybody.
    pub const fn counts_against_agent(self) -> bool {
        !matches!(self, Self::Data | Self::Permission)
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One way to recover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Try again at once, so many times.
    ImmediateRetry {
        /// How many times.
        retries: u32,
    },
    /// Try again after the waits of a policy.
    DelayedRetry(RetryPolicy),
    /// Have another agent of the same capability do it, once.
    AlternativePath,
    /// Answer with what was prepared for this case.
    Fallback,
}

/// What is done now; it is kept in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// Try again at once.
    RetryNow,
    /// Try again after a wait.
    RetryAfter(Duration),
    /// Have another agent do it.
    Reroute,
    /// Answer with what was prepared.
    Fallback,
    /// Nothing helped: the message becomes a dead letter.
    GiveUp,
}

/// What an agent's failures are recovered from with: for each class its
/// strategies, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecoveryPolicy(BTreeMap<FailureClass, Vec<Strategy>>);

/// How far the recovery of one message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecoveryState {
    class: Option<FailureClass>,
    strategy: usize,
    tries: u32,
}

/// The delayed retry of the usual policy.
const DELAYED: RetryPolicy = RetryPolicy {
    attempts: 4,
    first_wait: Duration::from_millis(500),
    factor: 4,
    longest_wait: Duration::from_secs(30),
    jitter_percent: 10,
    longest_asked: Duration::from_secs(60),
};

impl Default for RecoveryPolicy {
    /// Passing trouble is waited out, an agent's own failure goes to another,
    /// and what cannot get better is given up at once.
    fn default() -> Self {
        let delayed = Strategy::DelayedRetry(DELAYED);
        let once = Strategy::ImmediateRetry { retries: 1 };
        let of = |class| match class {
            FailureClass::Infrastructure | FailureClass::ResourceExhaustion => vec![delayed],
            FailureClass::External => vec![delayed, Strategy::Fallback],
            FailureClass::Timeout => vec![once, Strategy::AlternativePath],
            FailureClass::Integration => vec![once],
            FailureClass::Application => vec![Strategy::AlternativePath],
            FailureClass::Data | FailureClass::Permission => Vec::new(),
        };
        Self(FailureClass::ALL.into_iter().map(|class| (class, of(class))).collect())
    }
}

impl RecoveryPolicy {
    /// The same with other strategies for a class.
    #[must_use]
    pub fn with(mut self, class: FailureClass, strategies: Vec<Strategy>) -> Self {
        self.0.insert(class, strategies);
        self
    }

    /// What is done about a failure. A failure of another class than the one
    /// before goes on where that class begins; `chance` as in
    /// [`RetryPolicy::wait_after`].
    pub fn next(&self, state: &mut RecoveryState, class: FailureClass, chance: u32) -> Recovery {
        if state.class != Some(class) {
            // The tries of all classes together stay bounded: a message that
            // fails in turns does not start over.
            let begun = state.class.is_some();
            *state = RecoveryState { class: Some(class), ..RecoveryState::default() };
            if begun {
                return self.last_resort(state, class);
            }
        }
        let strategies = self.0.get(&class).map_or(&[][..], Vec::as_slice);
        while let Some(strategy) = strategies.get(state.strategy) {
            state.tries += 1;
            if let Some(step) = strategy.step(state.tries, chance) {
                return step;
            }
            (state.strategy, state.tries) = (state.strategy + 1, 0);
        }
        Recovery::GiveUp
    }

    /// A second class of failure for the same message: what ends it.
    fn last_resort(&self, state: &mut RecoveryState, class: FailureClass) -> Recovery {
        let strategies = self.0.get(&class).map_or(&[][..], Vec::as_slice);
        state.strategy = strategies.len();
        if strategies.contains(&Strategy::Fallback) { Recovery::Fallback } else { Recovery::GiveUp }
    }
}

impl Strategy {
    /// The step of this strategy's n-th try; none when it is used up.
    fn step(self, number: u32, chance: u32) -> Option<Recovery> {
        match self {
            Self::ImmediateRetry { retries } => (number <= retries).then_some(Recovery::RetryNow),
            Self::DelayedRetry(policy) => {
                policy.wait_after(number, None, chance).map(Recovery::RetryAfter)
            }
            Self::AlternativePath => (number == 1).then_some(Recovery::Reroute),
            Self::Fallback => (number == 1).then_some(Recovery::Fallback),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DELAYED, FailureClass, Recovery, RecoveryPolicy, RecoveryState, Strategy};

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
            (vec![Strategy::ImmediateRetry { retries: 2 }], vec![Recovery::RetryNow; 2]),
            (vec![Strategy::DelayedRetry(DELAYED)], vec![after(500), after(2000), after(8000)]),
            (vec![Strategy::AlternativePath], vec![Recovery::Reroute]),
            (vec![Strategy::Fallback], vec![Recovery::Fallback]),
            (
                vec![Strategy::ImmediateRetry { retries: 1 }, Strategy::AlternativePath],
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

    /// X50: failing in turns with other classes does not start over.
    #[test]
    fn x50_a_second_class_ends_it() {
        let policy = RecoveryPolicy::default();
        let mut state = RecoveryState::default();
        assert_eq!(policy.next(&mut state, FailureClass::Timeout, 0), Recovery::RetryNow);
        assert_eq!(policy.next(&mut state, FailureClass::External, 0), Recovery::Fallback);
        assert_eq!(policy.next(&mut state, FailureClass::Timeout, 0), Recovery::GiveUp);
    }

    #[test]
    fn what_anybody_would_fail_at_is_not_counted() {
        let counted = FailureClass::ALL.into_iter().filter(|class| class.counts_against_agent());
        assert_eq!(counted.count(), 6);
    }
}
