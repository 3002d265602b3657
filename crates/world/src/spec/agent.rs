//! Agents and their souls.

use std::collections::BTreeSet;

use ostler_domain::agent::autonomy::AutonomyLevel;
use ostler_domain::agent::limits::AgentLimits;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::agent::{Agent, AgentKind, AgentStatus, Brand, Protection, ToolSelection};
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Usd;
use ostler_domain::scope::policy::ToolPolicy;
use ostler_domain::soul::Soul;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolName;
use ostler_domain::tool::profile::ToolProfile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::{Names, UnknownName};

/// An agent of an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// Its organization, by slug; the only one of the file if it is left out.
    #[serde(default)]
    pub org: String,
    /// The name in commands and tool calls: lower-case letters, digits and `-`.
    pub slug: String,
    /// The name on screens and in prompts.
    pub name: String,
    /// The role: `pm`, `customer_service`, `sales_assistant`, `booking_agent`,
    /// `coordinator`, `system`, or with `custom = true` any other word.
    pub subtype: String,
    /// Whether the role is one of your own. Its agents are guarded as business layer 3.
    #[serde(default)]
    pub custom: bool,
    /// Whether it answers.
    #[serde(default = "active")]
    pub status: AgentStatus,
    /// What it is for.
    #[serde(default = "conversational")]
    pub kind: AgentKind,
    /// The template that holds its soul, by slug. Workers and system agents have one.
    #[serde(default)]
    pub template: Option<String>,
    /// What it may do without asking a person.
    pub autonomy: AutonomyLevel,
    /// The set of tools to start from: `*`, `general`, `support`, `sales`, `booking`,
    /// `readonly` or `admin`; by default that of its role.
    #[serde(default)]
    pub profile: Option<String>,
    /// The tools that it may use.
    #[serde(default)]
    pub tools: ToolPolicy,
    /// Models in order of preference; the installation's default without one.
    #[serde(default)]
    pub models: Vec<String>,
    /// Tools that always need approval.
    #[serde(default)]
    pub require_approval_for: BTreeSet<ToolName>,
    /// Topics that escalate the conversation to a person.
    #[serde(default)]
    pub blocked_topics: Vec<String>,
    /// What it may do in a UTC day.
    #[serde(default)]
    pub limits: LimitsDefinition,
    /// How it presents the organization.
    #[serde(default)]
    pub brand: Option<Brand>,
    /// Tags of the documents that it can see; all without one.
    #[serde(default)]
    pub knowledge_tags: BTreeSet<String>,
    /// Its personality and rules.
    #[serde(default)]
    pub soul: Soul,
}

/// What an agent may do in a UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsDefinition {
    /// The most messages that it answers.
    pub max_messages_per_day: u32,
    /// The most that its models and tools may cost, in US cents.
    pub max_cents_per_day: u64,
}

const MICROS_PER_CENT: u64 = 10_000;

impl Default for LimitsDefinition {
    fn default() -> Self {
        Self::from_limits(AgentLimits::default())
    }
}

impl LimitsDefinition {
    const fn from_limits(limits: AgentLimits) -> Self {
        Self {
            max_messages_per_day: limits.max_messages_per_day,
            max_cents_per_day: limits.max_cost_per_day.as_micros() / MICROS_PER_CENT,
        }
    }

    const fn to_limits(self) -> AgentLimits {
        AgentLimits {
            max_messages_per_day: self.max_messages_per_day,
            max_cost_per_day: Usd::from_micros(
                self.max_cents_per_day.saturating_mul(MICROS_PER_CENT),
            ),
        }
    }
}

const fn active() -> AgentStatus {
    AgentStatus::Active
}

const fn conversational() -> AgentKind {
    AgentKind::Conversational
}

impl AgentDefinition {
    /// Returns the role.
    pub fn role(&self) -> Subtype {
        Subtype::from(self.subtype.as_str())
    }

    /// Returns the agent that this describes; its profile must be valid.
    pub fn to_agent(
        &self,
        id: AgentId,
        org: OrgId,
        created_at: Timestamp,
        names: &Names,
    ) -> Result<Agent, UnknownName> {
        let subtype = self.role();
        let profile = self.profile.as_deref().and_then(|name| name.parse().ok());
        let template = self.template.as_deref().map(|name| names.agents.find("agent", name));
        Ok(Agent {
            id,
            org,
            slug: self.slug.clone(),
            display_name: self.name.clone(),
            protection: match subtype {
                Subtype::System => Protection::Protected,
                _ => Protection::Open,
            },
            status: self.status,
            kind: self.kind,
            template: template.transpose()?,
            tools: ToolSelection {
                profile: profile.unwrap_or_else(|| ToolProfile::default_for(&subtype)),
                policy: self.tools.clone(),
            },
            subtype,
            models: self.models.clone(),
            brand: self.brand.clone(),
            autonomy: self.autonomy,
            require_approval_for: self.require_approval_for.clone(),
            blocked_topics: self.blocked_topics.clone(),
            limits: self.limits.to_limits(),
            knowledge_tags: self.knowledge_tags.clone(),
            created_at,
        })
    }

    /// Describes an agent of an org with its own soul.
    pub fn from_agent(agent: &Agent, soul: Soul, org: &str, names: &Names) -> Self {
        let Agent { slug, display_name, subtype, status, kind, template, tools, .. } =
            agent.clone();
        let Agent { models, brand, autonomy, require_approval_for, .. } = agent.clone();
        let Agent { blocked_topics, limits, knowledge_tags, .. } = agent.clone();
        let own_profile = tools.profile != ToolProfile::default_for(&subtype);
        Self {
            org: org.to_owned(),
            slug,
            name: display_name,
            custom: matches!(subtype, Subtype::Other(_)),
            subtype: subtype.to_string(),
            status,
            kind,
            template: template.map(|template| names.agents.name(template)),
            autonomy,
            profile: own_profile.then(|| tools.profile.name().to_owned()),
            tools: tools.policy,
            models,
            require_approval_for,
            blocked_topics,
            limits: LimitsDefinition::from_limits(limits),
            brand,
            knowledge_tags,
            soul: if template.is_some() { Soul::default() } else { soul },
        }
    }
}
