//! Agents at a glance: what they are, what they may do, and where they answer.

use std::collections::BTreeSet;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::{AgentKind, AgentStatus, Brand};
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId};
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSummary {
    pub id: AgentId,
    pub slug: String,
    pub name: String,
    pub subtype: String,
    /// 1 to 4: where the agent stands in the tree of organizations.
    pub business_layer: u8,
    /// The business layer whose guardrails apply.
    pub guardrail_layer: u8,
    pub status: AgentStatus,
    pub kind: AgentKind,
    /// Whether only platform admins may change it.
    pub protected: bool,
    pub autonomy: AutonomyLevel,
    /// In order of preference; empty for the default of the organization or the installation.
    pub models: Vec<String>,
    /// The profile that its tools come from.
    pub profile: String,
    pub tools: ToolPolicy,
    /// Tools that need approval at every level of autonomy.
    pub require_approval_for: BTreeSet<ToolName>,
    /// Topics that escalate the conversation to a person.
    pub blocked_topics: Vec<String>,
    pub limits: DailyLimits,
    pub brand: Option<Brand>,
    /// Tags of the knowledge it can see; empty for everything that its organization knows.
    pub knowledge_tags: BTreeSet<String>,
    pub created_at: Timestamp,
}

/// What an agent may do in a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DailyLimits {
    pub max_messages_per_day: u32,
    pub max_cents_per_day: u64,
}

/// An agent with its soul's version and its channels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentDetail {
    pub agent: AgentSummary,
    /// The current version of its soul.
    pub soul_version: Option<u32>,
    /// The channels that it answers.
    pub channels: Vec<AgentChannel>,
}

/// A channel that an agent answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentChannel {
    pub binding: BindingId,
    pub channel: Channel,
    pub enabled: bool,
    /// The channel with the lowest number is used first.
    pub priority: u32,
}
