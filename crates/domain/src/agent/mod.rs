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
use crate::scope::policy::ToolPolicy;
use crate::time::Timestamp;
use crate::tool::ToolName;
use crate::tool::profile::Profile;
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
    /// Made from a template for a while, and archived when idle.
    Worker,
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
    /// The template whose soul it speaks with. Workers and protected agents
    /// have one; it is the only place where their soul is stored.
    pub template: Option<AgentId>,
    /// Its tools.
    pub tools: ToolChoice,
    /// The models it uses, the first one first, the others when that fails.
    pub models: Vec<String>,
    /// How it presents its org.
    pub brand: Option<Brand>,
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

/// What an agent says about tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChoice {
    /// Its selection.
    pub profile: Profile,
    /// Its lists.
    pub policy: ToolPolicy,
}

/// How an agent presents its org.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Brand {
    /// The name customers know.
    pub name: String,
    /// How it sounds.
    pub voice: String,
    /// What it offers, in a few lines.
    pub about: String,
}

/// Why an agent may not be created like this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BirthRefused {
    /// A system agent that is not protected.
    #[error("`{0}` is a system agent and must be protected")]
    Unprotected(String),
    /// A worker or a protected agent without a template.
    #[error("`{0}` needs a template to take its soul from")]
    NoTemplate(String),
}

impl Agent {
    /// System agents are born protected, and what is protected or a worker has
    /// its soul in a template.
    pub fn check_birth(&self) -> Result<(), BirthRefused> {
        let slug = || self.slug.clone();
        let borrows_soul =
            self.protection == Protection::Protected || self.kind == AgentKind::Worker;
        if self.subtype == Subtype::System && self.protection == Protection::Open {
            Err(BirthRefused::Unprotected(slug()))
        } else if borrows_soul && self.kind != AgentKind::Template && self.template.is_none() {
            Err(BirthRefused::NoTemplate(slug()))
        } else {
            Ok(())
        }
    }

    /// Whether a person's message may ever reach this agent.
    pub fn receives_messages(&self) -> bool {
        self.status == AgentStatus::Active
            && matches!(self.kind, AgentKind::Conversational | AgentKind::Worker)
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentKind, AgentStatus, BirthRefused, Protection};
    use crate::agent::subtype::Subtype;
    use crate::testing;

    /// H12: system agents are born protected.
    #[test]
    fn h12_a_system_agent_without_protection_is_refused() {
        let mut quinn = testing::agent("quinn", Subtype::System);
        quinn.protection = Protection::Open;
        assert_eq!(quinn.check_birth(), Err(BirthRefused::Unprotected("quinn".into())));
        quinn.protection = Protection::Protected;
        assert_eq!(quinn.check_birth(), Ok(()));
        assert_eq!(testing::agent("gia", Subtype::CustomerService).check_birth(), Ok(()));
    }

    /// H04: what is protected, and every worker, has its soul in a template.
    #[test]
    fn h04_protected_agents_and_workers_need_a_template() {
        let mut quinn = testing::agent("quinn", Subtype::System);
        quinn.template = None;
        let refused = Err(BirthRefused::NoTemplate("quinn".into()));
        assert_eq!(quinn.check_birth(), refused);
        quinn.kind = AgentKind::Template;
        assert_eq!(quinn.check_birth(), Ok(()));
        let mut worker = testing::agent("gia", Subtype::CustomerService);
        worker.kind = AgentKind::Worker;
        assert_eq!(worker.check_birth(), Err(BirthRefused::NoTemplate("gia".into())));
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
