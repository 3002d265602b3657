//! Tool scope: which tools an agent has in this session, and why not the rest.
//!
//! Seven stages look at each tool in turn, and each can only remove it. The
//! first stage that does is the explanation. Four of the stages are the policy
//! layers: platform, org, agent, session.

pub mod layer_rules;
pub mod policy;
pub mod removal;
pub mod session;
mod stages;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::agent::autonomy::AutonomyLevel;
use crate::agent::{Agent, ToolChoice};
use crate::org::layer::Standing;
use crate::tool::profile::Profile;
use crate::tool::{Integration, ToolName, ToolSpec};
use policy::ToolPolicy;
use removal::Removal;
use session::SessionTools;

/// What the resolution depends on.
#[derive(Debug, Clone, Copy)]
pub struct ScopeFacts<'a> {
    /// The platform's policy.
    pub platform: &'a ToolPolicy,
    /// What the org brings.
    pub org: OrgTools<'a>,
    /// What the agent brings.
    pub agent: AgentTools<'a>,
    /// What has happened in the session.
    pub session: &'a SessionTools,
}

/// What an org says about tools.
#[derive(Debug, Clone, Copy)]
pub struct OrgTools<'a> {
    /// Its policy.
    pub policy: &'a ToolPolicy,
    /// The services it has connected.
    pub integrations: &'a BTreeSet<Integration>,
    /// Whether its licence opens the agency tools.
    pub sub_orgs_enabled: bool,
    /// Whether its agents work as a team.
    pub team_coordination: bool,
}

/// What an agent says about tools.
#[derive(Debug, Clone, Copy)]
pub struct AgentTools<'a> {
    /// Where it stands.
    pub standing: &'a Standing,
    /// Its selection.
    pub profile: Profile,
    /// Its policy.
    pub policy: &'a ToolPolicy,
    /// How much it may do by itself.
    pub autonomy: AutonomyLevel,
}

impl<'a> AgentTools<'a> {
    /// What this agent says. Its models are no part of it: a scope is the same
    /// whatever thinks.
    pub const fn of(agent: &'a Agent, standing: &'a Standing) -> Self {
        let ToolChoice { profile, policy } = &agent.tools;
        Self { standing, profile: *profile, policy, autonomy: agent.autonomy }
    }
}

/// A tool and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopedTool {
    /// The tool.
    pub spec: ToolSpec,
    /// Why it is not active, if it is not.
    pub removed: Option<Removal>,
}

/// The resolved scope: every known tool, active or explained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolScope {
    tools: Vec<ScopedTool>,
}

impl ToolScope {
    /// A scope that nothing narrows: where no org's policy stands behind it, as
    /// on a developer's own machine.
    pub fn unrestricted(specs: impl IntoIterator<Item = ToolSpec>) -> Self {
        Self { tools: specs.into_iter().map(|spec| ScopedTool { spec, removed: None }).collect() }
    }

    /// Every tool with its state, in the order of the catalogue.
    pub fn tools(&self) -> &[ScopedTool] {
        &self.tools
    }

    /// The tools that the model is offered: these and no others.
    pub fn active(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().filter(|tool| tool.removed.is_none()).map(|tool| &tool.spec)
    }

    /// A tool by the name the model used; none if nobody has heard of it.
    pub fn find(&self, name: &str) -> Option<&ScopedTool> {
        self.tools.iter().find(|tool| tool.spec.name.as_str() == name)
    }

    /// The tools that are off because they failed in this session.
    pub fn disabled_for_session(&self) -> impl Iterator<Item = &ToolName> {
        self.tools
            .iter()
            .filter(|tool| matches!(tool.removed, Some(Removal::FailedTooOften { .. })))
            .map(|tool| &tool.spec.name)
    }

    /// The tools that the agent has elsewhere, and not in this session: they
    /// failed too often, or the session has spent too much for them.
    pub fn unavailable_in_session(&self) -> impl Iterator<Item = &ToolName> {
        let off = |tool: &&ScopedTool| {
            matches!(tool.removed, Some(Removal::FailedTooOften { .. } | Removal::SessionReadOnly))
        };
        self.tools.iter().filter(off).map(|tool| &tool.spec.name)
    }

    /// The services that known tools need, whether connected or not.
    pub fn integration_requirements(&self) -> impl Iterator<Item = (&ToolName, &Integration)> {
        self.tools.iter().flat_map(|tool| {
            tool.spec.integrations.iter().map(|integration| (&tool.spec.name, integration))
        })
    }
}

/// Resolves the scope over a catalogue.
pub fn resolve(catalogue: impl IntoIterator<Item = ToolSpec>, facts: &ScopeFacts<'_>) -> ToolScope {
    let tools = catalogue
        .into_iter()
        .map(|spec| {
            let removed = stages::ALL.iter().find_map(|stage| stage(&spec, facts));
            ScopedTool { spec, removed }
        })
        .collect();
    ToolScope { tools }
}

#[cfg(test)]
mod tests;
