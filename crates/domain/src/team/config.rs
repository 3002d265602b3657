//! How the agents of an org work together: limits and settings, per org.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::human::triggers::TriggerKind;
use crate::id::AgentId;
use crate::money::Credits;
use crate::money::caps::TeamBudget;

/// The team settings of an org. An org without them has no team tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TeamConfig {
    /// The most handoffs in one session.
    pub max_handoffs: u32,
    /// The least time between two handoffs.
    #[serde(rename = "handoff_cooldown_secs", with = "crate::time::secs")]
    pub handoff_cooldown: Duration,
    /// Whether a handoff must give a reason.
    pub require_handoff_reason: bool,
    /// Whether the owner hears of each handoff.
    pub notify_owner_on_handoff: bool,
    /// Whether several agents may work inside one run.
    pub allow_parallel_execution: bool,
    /// When the agent goes on by itself after a human's last message.
    pub auto_resume_after_human: AutoResume,
    /// Who may hand over to whom; none means everybody within the org.
    pub permissions: Option<HandoffMatrix>,
    /// What a team session may spend.
    pub budget: Credits,
    /// Whether escalations are posted to the team's group.
    pub team_group_enabled: bool,
    /// How long a pressing escalation waits before an e-mail goes out.
    #[serde(rename = "email_after_secs", with = "crate::time::secs")]
    pub email_after: Duration,
    /// What happens to an escalation that nobody answers.
    pub unanswered: Unanswered,
    /// The specialist that a trigger goes to instead of a human, if any.
    pub specialists: BTreeMap<TriggerKind, AgentId>,
}

/// When an agent goes on after a human has taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoResume {
    /// When a person hands back, and not before.
    Never,
    /// This long after the last human message.
    AfterSecs(#[serde(with = "crate::time::secs")] Duration),
}

/// What happens to an escalation that nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unanswered {
    /// Somebody is reminded after this time; the customer keeps waiting.
    RemindAfterSecs(#[serde(with = "crate::time::secs")] Duration),
    /// The agent answers again after this time.
    ResumeAfterSecs(#[serde(with = "crate::time::secs")] Duration),
}

/// The time after which an unanswered escalation is looked at, and that after
/// which an agent resumes when resuming is on.
pub const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

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
            unanswered: Unanswered::RemindAfterSecs(HALF_AN_HOUR),
            specialists: BTreeMap::new(),
        }
    }
}

impl TeamConfig {
    /// How many agents may work at once inside one run of a conversation.
    pub fn agents_at_once(&self, participants: usize) -> usize {
        if self.allow_parallel_execution { participants.max(1) } else { 1 }
    }
}

/// Whom an agent may hand over to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffTargets {
    /// Written `*`.
    #[serde(rename = "*")]
    Anyone,
    /// These.
    Only(BTreeSet<AgentId>),
}

/// The pairs that may hand over; an agent without an entry may not.
pub type HandoffMatrix = BTreeMap<AgentId, HandoffTargets>;

/// Whether the settings let one agent hand over to another.
pub fn permitted(matrix: Option<&HandoffMatrix>, from: AgentId, to: AgentId) -> bool {
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
        AutoResume, HALF_AN_HOUR, HandoffMatrix, HandoffTargets, TeamConfig, Unanswered, permitted,
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
            unanswered: Unanswered::RemindAfterSecs(Duration::from_secs(1800)),
            specialists: [].into(),
        };
        assert_eq!(TeamConfig::default(), expected);
        assert_eq!(HALF_AN_HOUR, Duration::from_secs(1800));
    }

    /// G29: one agent at a time, unless the org allows several inside a run.
    #[test]
    fn g29_agents_work_one_at_a_time() {
        let parallel = TeamConfig { allow_parallel_execution: true, ..TeamConfig::default() };
        assert_eq!(TeamConfig::default().agents_at_once(4), 1);
        assert_eq!(parallel.agents_at_once(4), 4);
        assert_eq!(parallel.agents_at_once(0), 1);
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
            assert_eq!(permitted(matrix, from, to), expected, "{from} to {to}");
        }
    }

    /// G13, G58: settings are stored in words and seconds, and read back.
    #[test]
    fn g58_settings_survive_being_stored() {
        let agent = AgentId::from_u128(1);
        let config = TeamConfig {
            permissions: Some([(agent, HandoffTargets::Anyone)].into()),
            auto_resume_after_human: AutoResume::AfterSecs(HALF_AN_HOUR),
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
