//! Agents: the configured actors of an org.
//!
//! Owns what an agent is and who may change it. Souls are in [`crate::soul`], tool
//! scopes in [`crate::scope`].

pub mod autonomy;
pub mod growth;
pub mod limits;
pub mod protection;
pub mod routing;
pub mod subtype;
pub mod workers;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AgentId, OrgId};
use crate::scope::policy::ToolPolicy;
use crate::time::Timestamp;
use crate::tool::ToolName;
use crate::tool::profile::ToolProfile;
use autonomy::AutonomyLevel;
use limits::AgentLimits;
use subtype::Subtype;

/// The life-cycle status of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    Draft,
    Active,
    Paused,
    /// Retired; kept for the record.
    Archived,
}

/// The purpose of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    Conversational,
    /// Works in the background and never receives messages from people.
    Internal,
    /// A template for workers; never receives messages itself.
    Template,
    /// Created from a template on demand and archived when idle.
    Worker,
}

/// Whether an agent belongs to the platform, so that its org cannot change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    Open,
    /// A system agent, which only platform admins can change.
    Protected,
}

/// A configured actor of one org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub org: OrgId,
    /// The name in commands and tool calls.
    pub slug: String,
    /// The name on screens and in prompts.
    pub display_name: String,
    pub subtype: Subtype,
    pub protection: Protection,
    pub status: AgentStatus,
    pub kind: AgentKind,
    /// The template that holds its soul. Workers and protected agents have one, and
    /// their soul is stored nowhere else.
    pub template: Option<AgentId>,
    pub tools: ToolSelection,
    /// Models in order of preference; the later ones are fallbacks.
    pub models: Vec<String>,
    pub brand: Option<Brand>,
    pub autonomy: AutonomyLevel,
    /// Tools that need approval at every level of autonomy.
    pub require_approval_for: BTreeSet<ToolName>,
    /// Topics that escalate the conversation to a human.
    pub blocked_topics: Vec<String>,
    pub limits: AgentLimits,
    /// Tags of the knowledge it can see; empty means everything its org knows.
    pub knowledge_tags: BTreeSet<String>,
    /// Routing prefers the oldest agent.
    pub created_at: Timestamp,
}

/// An agent's tool profile and its allow and deny lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSelection {
    pub profile: ToolProfile,
    pub policy: ToolPolicy,
}

/// How an agent presents its org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Brand {
    /// The name that customers know.
    pub name: String,
    /// The tone of voice, in a few words.
    pub voice: String,
    /// What the org offers, in a few lines.
    pub about: String,
}

/// The reason why an agent cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentCreationRefused {
    #[error("`{0}` is a system agent and must be protected")]
    Unprotected(String),
    #[error("`{0}` needs a template to take its soul from")]
    NoTemplate(String),
}

impl Agent {
    /// Checks that a system agent is protected, and that workers and protected agents
    /// have a template to take their soul from.
    pub fn check_creation(&self) -> Result<(), AgentCreationRefused> {
        let slug = || self.slug.clone();
        let borrows_soul =
            self.protection == Protection::Protected || self.kind == AgentKind::Worker;
        if self.subtype == Subtype::System && self.protection == Protection::Open {
            Err(AgentCreationRefused::Unprotected(slug()))
        } else if borrows_soul && self.kind != AgentKind::Template && self.template.is_none() {
            Err(AgentCreationRefused::NoTemplate(slug()))
        } else {
            Ok(())
        }
    }

    /// Returns whether messages from people can be routed to this agent.
    pub fn receives_messages(&self) -> bool {
        self.status == AgentStatus::Active
            && matches!(self.kind, AgentKind::Conversational | AgentKind::Worker)
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentCreationRefused, AgentKind, AgentStatus, Protection};
    use crate::agent::subtype::Subtype;
    use crate::testing;

    /// H12: system agents are created protected.
    #[test]
    fn h12_a_system_agent_without_protection_is_refused() {
        let mut quinn = testing::agent("quinn", Subtype::System);
        quinn.protection = Protection::Open;
        assert_eq!(quinn.check_creation(), Err(AgentCreationRefused::Unprotected("quinn".into())));
        quinn.protection = Protection::Protected;
        assert_eq!(quinn.check_creation(), Ok(()));
        assert_eq!(testing::agent("gia", Subtype::CustomerService).check_creation(), Ok(()));
    }

    /// H04: protected agents and workers take their soul from a template.
    #[test]
    fn h04_protected_agents_and_workers_need_a_template() {
        let mut quinn = testing::agent("quinn", Subtype::System);
        quinn.template = None;
        let refused = Err(AgentCreationRefused::NoTemplate("quinn".into()));
        assert_eq!(quinn.check_creation(), refused);
        quinn.kind = AgentKind::Template;
        assert_eq!(quinn.check_creation(), Ok(()));
        let mut worker = testing::agent("gia", Subtype::CustomerService);
        worker.kind = AgentKind::Worker;
        assert_eq!(worker.check_creation(), Err(AgentCreationRefused::NoTemplate("gia".into())));
    }

    /// A06, H06: draft, paused, archived, template and internal agents never
    /// receive a message.
    #[test]
    fn h06_only_active_agents_that_talk_receive_messages() {
        let template = AgentKind::Template;
        let table = [
            (AgentStatus::Active, AgentKind::Conversational, true),
            (AgentStatus::Active, AgentKind::Worker, true),
            (AgentStatus::Active, AgentKind::Internal, false),
            (AgentStatus::Active, template, false),
            (AgentStatus::Draft, AgentKind::Conversational, false),
            (AgentStatus::Paused, AgentKind::Conversational, false),
            (AgentStatus::Archived, AgentKind::Conversational, false),
        ];
        for (status, kind, expected) in table {
            let mut agent = testing::agent("gia", Subtype::CustomerService);
            (agent.status, agent.kind) = (status, kind);
            assert_eq!(agent.receives_messages(), expected, "{status:?} {kind:?}");
        }
    }
}
