//! What went wrong in a session: failing tools and degraded mode.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::money::caps::SessionSpending;
use crate::time::Timestamp;
use crate::tool::ToolName;

/// When failures have consequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPolicy {
    /// Failures after which a tool is off for the session.
    pub failures_to_disable: u32,
    /// Tools that are off when a session counts as degraded.
    pub disabled_to_degrade: usize,
}

impl Default for ErrorPolicy {
    fn default() -> Self {
        Self { failures_to_disable: 3, disabled_to_degrade: 3 }
    }
}

/// A tool that is off for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledTool {
    /// How often it failed.
    pub failures: u32,
    /// When it was switched off.
    pub since: Timestamp,
}

/// The failures of a session; kept across turns and restarts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorState {
    failures: BTreeMap<ToolName, u32>,
    disabled: BTreeMap<ToolName, DisabledTool>,
}

/// What one more failure did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureEffect {
    /// It was counted.
    Counted {
        /// The failures so far.
        failures: u32,
    },
    /// It switched the tool off; the owner is told, once.
    Disabled,
    /// The tool was off already.
    AlreadyDisabled,
}

impl ErrorState {
    /// The failures of each tool.
    pub const fn failures(&self) -> &BTreeMap<ToolName, u32> {
        &self.failures
    }

    /// The tools that are off.
    pub const fn disabled(&self) -> &BTreeMap<ToolName, DisabledTool> {
        &self.disabled
    }

    /// How many tools were switched off after a moment.
    pub fn disabled_since(&self, moment: Timestamp) -> usize {
        self.disabled.values().filter(|tool| tool.since > moment).count()
    }

    /// Counts a failure, unparsable arguments included. Successes are not
    /// counted, so they do not undo failures.
    pub fn record_failure(
        &mut self,
        tool: &ToolName,
        policy: ErrorPolicy,
        now: Timestamp,
    ) -> FailureEffect {
        let failures = self.failures.entry(tool.clone()).or_default();
        *failures = failures.saturating_add(1);
        if self.disabled.contains_key(tool) {
            return FailureEffect::AlreadyDisabled;
        }
        if *failures < policy.failures_to_disable {
            return FailureEffect::Counted { failures: *failures };
        }
        let off = DisabledTool { failures: *failures, since: now };
        self.disabled.insert(tool.clone(), off);
        FailureEffect::Disabled
    }

    /// Whether, and why, the session works with less than it should.
    pub fn degraded(
        &self,
        spending: SessionSpending,
        policy: ErrorPolicy,
    ) -> Option<DegradedReason> {
        if self.disabled.len() >= policy.disabled_to_degrade {
            Some(DegradedReason::ToolsDisabled)
        } else if spending == SessionSpending::Open {
            None
        } else {
            Some(DegradedReason::SessionBudget)
        }
    }
}

/// Why a session is degraded. The prompt lists what is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DegradedReason {
    /// Three or more tools are off.
    ToolsDisabled,
    /// The session has spent so much that only reading is left.
    SessionBudget,
}

#[cfg(test)]
mod tests {
    use super::{DegradedReason, DisabledTool, ErrorPolicy, ErrorState, FailureEffect};
    use crate::channel::Channel;
    use crate::money::caps::SessionSpending;
    use crate::scope::session::SessionTools;
    use crate::time::Timestamp;
    use crate::tool::ToolName;

    const NOW: Timestamp = Timestamp::from_millis(42);
    const DEFAULT: ErrorPolicy = ErrorPolicy { failures_to_disable: 3, disabled_to_degrade: 3 };

    fn tool(name: &'static str) -> ToolName {
        ToolName::from_static(name)
    }

    /// C08, C09: the third failure switches a tool off, once; a success in
    /// between changes nothing, because successes are not recorded.
    #[test]
    fn c08_the_third_failure_disables_the_tool() {
        let mut errors = ErrorState::default();
        let effects: Vec<FailureEffect> =
            (0..4).map(|_| errors.record_failure(&tool("web_fetch"), DEFAULT, NOW)).collect();
        assert_eq!(
            effects,
            [
                FailureEffect::Counted { failures: 1 },
                FailureEffect::Counted { failures: 2 },
                FailureEffect::Disabled,
                FailureEffect::AlreadyDisabled,
            ]
        );
        let off = DisabledTool { failures: 3, since: NOW };
        assert_eq!(errors.disabled(), &[(tool("web_fetch"), off)].into());
        assert_eq!(errors.failures()["web_fetch"], 4);
    }

    /// C08: each tool has its own count.
    #[test]
    fn c08_tools_are_counted_apart() {
        let mut errors = ErrorState::default();
        for name in ["a", "b", "a", "b"] {
            errors.record_failure(&tool(name), DEFAULT, NOW);
        }
        assert!(errors.disabled().is_empty());
    }

    #[test]
    fn the_policy_is_the_documented_one() {
        assert_eq!(ErrorPolicy::default(), DEFAULT);
    }

    /// C11: degraded with three tools off, or when the session's budget is hit.
    #[test]
    fn c11_degraded_mode_has_a_reason() {
        let mut errors = ErrorState::default();
        let mut disable = |name: &'static str| {
            for _ in 0..3 {
                errors.record_failure(&tool(name), DEFAULT, NOW);
            }
            errors.degraded(SessionSpending::Open, DEFAULT)
        };
        assert_eq!(disable("a"), None);
        assert_eq!(disable("b"), None);
        assert_eq!(disable("c"), Some(DegradedReason::ToolsDisabled));
        let spending = [SessionSpending::ReadOnly, SessionSpending::Closed];
        for spending in spending {
            let reason = ErrorState::default().degraded(spending, DEFAULT);
            assert_eq!(reason, Some(DegradedReason::SessionBudget));
        }
    }

    /// A23: errors survive being stored.
    #[test]
    fn a23_errors_round_trip() {
        let mut errors = ErrorState::default();
        for _ in 0..3 {
            errors.record_failure(&tool("web_fetch"), DEFAULT, NOW);
        }
        let stored = serde_json::to_string(&errors).unwrap();
        assert_eq!(serde_json::from_str::<ErrorState>(&stored).unwrap(), errors);
        let session = SessionTools::of(Channel::Webchat, &errors, SessionSpending::ReadOnly);
        assert_eq!((session.disabled.len(), session.read_only), (1, true));
    }
}
