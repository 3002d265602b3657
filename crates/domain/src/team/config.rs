//! Team settings of an org: handoff limits and permissions, escalation timing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::human::triggers::TriggerKind;
use crate::id::AgentId;
use crate::money::Credits;
use crate::money::caps::TeamBudget;

/// Team settings of an org. An org without them has no team tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TeamConfig {
    /// Maximum number of handoffs in one session.
    pub max_handoffs: u32,
    /// Minimum time between two handoffs.
    #[serde(rename = "handoff_cooldown_secs", with = "crate::time::secs")]
    pub handoff_cooldown: Duration,
    pub require_handoff_reason: bool,
    /// Whether the owner is notified of each handoff.
    pub notify_owner_on_handoff: bool,
    /// Whether several agents may work inside one run.
    pub allow_parallel_execution: bool,
    /// When the agent continues by itself after a human's last message.
    pub auto_resume_after_human: AutoResume,
    /// Which agent may hand over to which; `None` allows every pair within the org.
    pub permissions: Option<HandoffMatrix>,
    /// Budget of a team session.
    pub budget: Credits,
    /// Whether escalations are posted to the team's group.
    pub team_group_enabled: bool,
    /// How long an urgent escalation waits before an e-mail is sent.
    #[serde(rename = "email_after_secs", with = "crate::time::secs")]
    pub email_after: Duration,
    /// What happens to an escalation that nobody answers.
    pub unanswered: UnansweredPolicy,
    /// The specialist that handles a trigger instead of a human, if any.
    pub specialists: BTreeMap<TriggerKind, AgentId>,
}

/// When an agent continues after a human has taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoResume {
    /// Only when a person hands back.
    Never,
    /// This long after the last human message.
    AfterSecs(
        #[serde(with = "crate::time::secs")]
        #[schemars(with = "u64")]
        Duration,
    ),
}

/// What happens to an escalation that nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnansweredPolicy {
    /// Reminds people after this time; the customer keeps waiting.
    RemindAfterSecs(
        #[serde(with = "crate::time::secs")]
        #[schemars(with = "u64")]
        Duration,
    ),
    /// The agent answers again after this time.
    ResumeAfterSecs(
        #[serde(with = "crate::time::secs")]
        #[schemars(with = "u64")]
        Duration,
    ),
}

/// Default wait of an unanswered escalation, and of an automatic resume.
pub const DEFAULT_ESCALATION_WAIT: Duration = Duration::from_secs(30 * 60);

impl Default for TeamConfig {
    fn default() -> Self {
        Self {
            max_handoffs: 5,
            handoff_cooldown: Duration::from_secs(120),
            require_handoff_reason: true,
            notify_owner_on_handoff: true,
            allow_parallel_execution: false,
            auto_resume_after_human: AutoResume::Never,
            permissions: None,
            budget: TeamBudget::DEFAULT_TOTAL,
            team_group_enabled: false,
            email_after: Duration::from_secs(5 * 60),
            unanswered: UnansweredPolicy::RemindAfterSecs(DEFAULT_ESCALATION_WAIT),
            specialists: BTreeMap::new(),
        }
    }
}

impl TeamConfig {
    /// Returns how many agents may work at once inside one run.
    pub fn max_parallel_agents(&self, participants: usize) -> usize {
        if self.allow_parallel_execution { participants.max(1) } else { 1 }
    }
}

/// The agents that an agent may hand over to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffTargets {
    /// Written `*`.
    #[serde(rename = "*")]
    Anyone,
    Only(BTreeSet<AgentId>),
}

/// Permitted handoffs; an agent without an entry may not hand over.
pub type HandoffMatrix = BTreeMap<AgentId, HandoffTargets>;

/// Returns whether the matrix permits a handoff.
pub fn handoff_permitted(matrix: Option<&HandoffMatrix>, from: AgentId, to: AgentId) -> bool {
    let Some(matrix) = matrix else { return true };
    match matrix.get(&from) {
        Some(HandoffTargets::Anyone) => true,
        Some(HandoffTargets::Only(targets)) => targets.contains(&to),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AutoResume, DEFAULT_ESCALATION_WAIT, HandoffMatrix, HandoffTargets, TeamConfig,
        UnansweredPolicy, handoff_permitted,
    };
    use crate::id::AgentId;
    use crate::money::Credits;
    use std::time::Duration;

    /// G10, G11, G15, G29, G30, G31, G57, G58: the defaults of an org.
    #[test]
    fn g29_g30_g31_defaults() {
        let expected = TeamConfig {
            max_handoffs: 5,
            handoff_cooldown: Duration::from_secs(120),
            require_handoff_reason: true,
            notify_owner_on_handoff: true,
            allow_parallel_execution: false,
            auto_resume_after_human: AutoResume::Never,
            permissions: None,
            budget: Credits::new(100),
            team_group_enabled: false,
            email_after: Duration::from_secs(300),
            unanswered: UnansweredPolicy::RemindAfterSecs(Duration::from_secs(1800)),
            specialists: [].into(),
        };
        assert_eq!(TeamConfig::default(), expected);
        assert_eq!(DEFAULT_ESCALATION_WAIT, Duration::from_secs(1800));
    }

    /// G29: one agent at a time, unless the org allows several inside a run.
    #[test]
    fn g29_agents_work_one_at_a_time() {
        let parallel = TeamConfig { allow_parallel_execution: true, ..TeamConfig::default() };
        assert_eq!(TeamConfig::default().max_parallel_agents(4), 1);
        assert_eq!(parallel.max_parallel_agents(4), 4);
        assert_eq!(parallel.max_parallel_agents(0), 1);
    }

    /// G13: no matrix allows all; a matrix allows its pairs, `*` any target.
    #[test]
    fn g13_the_matrix_lists_who_may_hand_over_to_whom() {
        let [a, b, c] = [1, 2, 3].map(AgentId::from_u128);
        let matrix: HandoffMatrix =
            [(a, HandoffTargets::Only([b].into())), (b, HandoffTargets::Anyone)].into();
        let table = [
            (None, a, c, true),
            (Some(&matrix), a, b, true),
            (Some(&matrix), a, c, false),
            (Some(&matrix), b, c, true),
            (Some(&matrix), c, a, false),
        ];
        for (matrix, from, to, expected) in table {
            assert_eq!(handoff_permitted(matrix, from, to), expected, "{from} to {to}");
        }
    }

    /// G13, G58: settings survive serialization; durations are in seconds.
    #[test]
    fn g58_settings_survive_being_stored() {
        let agent = AgentId::from_u128(1);
        let config = TeamConfig {
            permissions: Some([(agent, HandoffTargets::Anyone)].into()),
            auto_resume_after_human: AutoResume::AfterSecs(DEFAULT_ESCALATION_WAIT),
            ..TeamConfig::default()
        };
        let stored = serde_json::to_value(&config).unwrap();
        assert_eq!(stored["handoff_cooldown_secs"], 120);
        assert_eq!(stored["auto_resume_after_human"]["after_secs"], 1800);
        assert_eq!(stored["permissions"][agent.to_string()], "*");
        assert_eq!(serde_json::from_value::<TeamConfig>(stored).unwrap(), config);
        let sparse: TeamConfig = serde_json::from_str("{}").unwrap();
        assert_eq!(sparse, TeamConfig::default());
    }
}
