//! Errors of a session: disabled tools and degraded mode.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::money::caps::SpendingMode;
use crate::time::Timestamp;
use crate::tool::ToolName;

/// Thresholds for disabling a tool and degrading a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorPolicy {
    /// Failures after which a tool is disabled for the session.
    pub failures_to_disable: u32,
    /// Disabled tools after which the session counts as degraded.
    pub disabled_to_degrade: usize,
}

impl Default for ErrorPolicy {
    fn default() -> Self {
        Self { failures_to_disable: 3, disabled_to_degrade: 3 }
    }
}

/// A tool that is disabled for a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledTool {
    pub failures: u32,
    pub since: Timestamp,
}

/// The tool failures of a session; kept across turns and restarts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorState {
    failures: BTreeMap<ToolName, u32>,
    disabled: BTreeMap<ToolName, DisabledTool>,
}

/// What one more failure causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureEffect {
    Counted {
        failures: u32,
    },
    /// The tool is now disabled; the owner is notified once.
    Disabled,
    AlreadyDisabled,
}

impl ErrorState {
    /// Returns the number of failures of each tool.
    pub const fn failures(&self) -> &BTreeMap<ToolName, u32> {
        &self.failures
    }

    /// Returns the disabled tools.
    pub const fn disabled(&self) -> &BTreeMap<ToolName, DisabledTool> {
        &self.disabled
    }

    /// Returns how many tools were disabled after `moment`.
    pub fn disabled_since(&self, moment: Timestamp) -> usize {
        self.disabled.values().filter(|tool| tool.since > moment).count()
    }

    /// Counts a failure, including unparsable arguments. Successes are not recorded, so
    /// they do not reset the count.
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
        let entry = DisabledTool { failures: *failures, since: now };
        self.disabled.insert(tool.clone(), entry);
        FailureEffect::Disabled
    }

    /// Returns why the session is degraded, if it is.
    pub fn degraded(&self, spending: SpendingMode, policy: ErrorPolicy) -> Option<DegradedReason> {
        if self.disabled.len() >= policy.disabled_to_degrade {
            Some(DegradedReason::ToolsDisabled)
        } else if spending == SpendingMode::Open {
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
    /// At least [`ErrorPolicy::disabled_to_degrade`] tools are disabled.
    ToolsDisabled,
    /// The session budget is used up, so only reading tools are left.
    SessionBudget,
}

#[cfg(test)]
mod tests {
    use super::{DegradedReason, DisabledTool, ErrorPolicy, ErrorState, FailureEffect};
    use crate::channel::Channel;
    use crate::money::caps::SpendingMode;
    use crate::scope::session::SessionTools;
    use crate::time::Timestamp;
    use crate::tool::{Audience, ToolName};

    const NOW: Timestamp = Timestamp::from_millis(42);
    const DEFAULT: ErrorPolicy = ErrorPolicy { failures_to_disable: 3, disabled_to_degrade: 3 };

    fn tool(name: &'static str) -> ToolName {
        ToolName::from_static(name)
    }

    /// C08, C09: the third failure disables a tool, once; a success in between changes
    /// nothing, because successes are not recorded.
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
        let entry = DisabledTool { failures: 3, since: NOW };
        assert_eq!(errors.disabled(), &[(tool("web_fetch"), entry)].into());
        assert_eq!(errors.failures()["web_fetch"], 4);
    }

    /// C08: each tool has its own count.
    #[test]
    fn c08_failures_are_counted_per_tool() {
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

    /// C11: degraded with three disabled tools, or when the session budget is used up.
    #[test]
    fn c11_degraded_mode_has_a_reason() {
        let mut errors = ErrorState::default();
        let mut disable = |name: &'static str| {
            for _ in 0..3 {
                errors.record_failure(&tool(name), DEFAULT, NOW);
            }
            errors.degraded(SpendingMode::Open, DEFAULT)
        };
        assert_eq!(disable("a"), None);
        assert_eq!(disable("b"), None);
        assert_eq!(disable("c"), Some(DegradedReason::ToolsDisabled));
        let spending = [SpendingMode::ReadOnly, SpendingMode::Closed];
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
        let session =
            SessionTools::of(Channel::Webchat, Audience::Staff, &errors, SpendingMode::ReadOnly);
        assert_eq!((session.disabled.len(), session.read_only), (1, true));
    }
}
