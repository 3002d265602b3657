//! Agents: the configured actors of an org.
//!
//! Owns what an agent is and who may change it. Its soul is in [`crate::soul`],
//! its tools in [`crate::scope`].

pub mod autonomy;
pub mod limits;
pub mod protection;
pub mod routing;
pub mod subtype;
pub mod workers;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, OrgId};
use crate::time::Timestamp;
use crate::tool::ToolName;
use autonomy::AutonomyLevel;
use limits::AgentLimits;
use subtype::Subtype;

/// Whether an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// Being prepared.
    Draft,
    /// Answering.
    Active,
    /// Stopped for a while.
    Paused,
    /// Gone, kept for the record.
    Archived,
}

/// What an agent is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// Talks to people.
    Conversational,
    /// Works behind the scenes and is never routed a person's message.
    Internal,
    /// A pattern for workers; never receives messages itself.
    Template,
    /// Made from a template, with the template's soul.
    Worker {
        /// The pattern it was made from.
        template: AgentId,
    },
}

/// Whether an agent belongs to the platform and may not be changed by its org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// An ordinary agent.
    Open,
    /// A system agent: immutable for everyone but platform admins.
    Protected,
}

/// A configured actor of one org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// The tenant it belongs to.
    pub org: OrgId,
    /// Its name in commands and tool calls.
    pub slug: String,
    /// Its name on screens and in prompts.
    pub display_name: String,
    /// Its role.
    pub subtype: Subtype,
    /// Whether its org may change it.
    pub protection: Protection,
    /// Whether it works.
    pub status: AgentStatus,
    /// What it is for.
    pub kind: AgentKind,
    /// How much it may do by itself.
    pub autonomy: AutonomyLevel,
    /// Tools that ask first at every level of autonomy.
    pub require_approval_for: BTreeSet<ToolName>,
    /// Topics that go to a human.
    pub blocked_topics: Vec<String>,
    /// How much it may do in a day.
    pub limits: AgentLimits,
    /// Which knowledge it sees; empty means all of its org's.
    pub knowledge_tags: BTreeSet<String>,
    /// When it was created; the oldest answers first.
    pub created_at: Timestamp,
}

/// A system agent that is not protected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is a system agent and must be protected")]
pub struct Unprotected(pub String);

impl Agent {
    /// System agents are born protected; any other agent may be either.
    pub fn check_birth(&self) -> Result<(), Unprotected> {
        match (&self.subtype, self.protection) {
            (Subtype::System, Protection::Open) => Err(Unprotected(self.slug.clone())),
            _ => Ok(()),
        }
    }

    /// Whether a person's message may ever reach this agent.
    pub fn receives_messages(&self) -> bool {
        self.status == AgentStatus::Active
            && matches!(self.kind, AgentKind::Conversational | AgentKind::Worker { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentKind, AgentStatus, Protection, Unprotected};
    use crate::agent::subtype::Subtype;
    use crate::testing;

    /// H12: system agents are born protected.
    #[test]
    fn h12_a_system_agent_without_protection_is_refused() {
        let mut quinn = testing::agent("quinn", Subtype::System);
        quinn.protection = Protection::Open;
        assert_eq!(quinn.check_birth(), Err(Unprotected("quinn".into())));
        quinn.protection = Protection::Protected;
        assert_eq!(quinn.check_birth(), Ok(()));
        assert_eq!(testing::agent("gia", Subtype::CustomerService).check_birth(), Ok(()));
    }

    /// A06, H06: draft, paused, archived, template and internal agents never
    /// receive a message.
    #[test]
    fn h06_only_active_agents_that_talk_receive_messages() {
        let template = AgentKind::Template;
        let worker = AgentKind::Worker { template: testing::agent("t", Subtype::Pm).id };
        let table = [
            (AgentStatus::Active, AgentKind::Conversational, true),
            (AgentStatus::Active, worker, true),
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
