//! Tool scope: which tools an agent has in a session, and why not the others.
//!
//! Seven stages check each tool in order, and each can only remove it. The first stage
//! that removes a tool is the explanation. Four of the stages are the policy layers:
//! platform, org, agent, session.

pub mod layer_rules;
pub mod policy;
pub mod removal;
pub mod session;
mod stages;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::agent::autonomy::AutonomyLevel;
use crate::agent::{Agent, ToolSelection};
use crate::org::layer::BusinessPosition;
use crate::tool::profile::ToolProfile;
use crate::tool::{Integration, ToolName, ToolSpec};
use policy::ToolPolicy;
use removal::Removal;
use session::SessionTools;

/// What the scope depends on.
#[derive(Debug, Clone, Copy)]
pub struct ScopeFacts<'a> {
    pub platform: &'a ToolPolicy,
    pub org: OrgTools<'a>,
    pub agent: AgentTools<'a>,
    pub session: &'a SessionTools,
}

/// Tool settings of an org.
#[derive(Debug, Clone, Copy)]
pub struct OrgTools<'a> {
    pub policy: &'a ToolPolicy,
    /// The integrations it has connected.
    pub integrations: &'a BTreeSet<Integration>,
    /// Whether its licence includes the agency tools.
    pub sub_orgs_enabled: bool,
    /// Whether its agents work as a team.
    pub team_coordination: bool,
}

/// Tool settings of an agent.
#[derive(Debug, Clone, Copy)]
pub struct AgentTools<'a> {
    pub position: &'a BusinessPosition,
    pub profile: ToolProfile,
    pub policy: &'a ToolPolicy,
    pub autonomy: AutonomyLevel,
}

impl<'a> AgentTools<'a> {
    /// Returns the tool settings of an agent. They do not depend on its models.
    pub const fn of(agent: &'a Agent, position: &'a BusinessPosition) -> Self {
        let ToolSelection { profile, policy } = &agent.tools;
        Self { position, profile: *profile, policy, autonomy: agent.autonomy }
    }
}

/// A tool and whether the scope includes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopedTool {
    pub spec: ToolSpec,
    /// Why the tool is not active; `None` if it is.
    pub removed: Option<Removal>,
}

/// A resolved scope: every known tool, active or with the reason for its removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolScope {
    tools: Vec<ScopedTool>,
    /// The hosts that tools may call with data that was read; `None` for any host.
    #[serde(default)]
    hosts: Option<BTreeSet<String>>,
}

impl ToolScope {
    /// Creates a scope with all tools active, for uses without an org, such as on a
    /// developer's own machine.
    pub fn unrestricted(specs: impl IntoIterator<Item = ToolSpec>) -> Self {
        let tools = specs.into_iter().map(|spec| ScopedTool { spec, removed: None }).collect();
        Self { tools, hosts: None }
    }

    /// Sets the hosts that the org lets tools call after private or outside content was read,
    /// in any case.
    #[must_use]
    pub fn with_hosts(self, hosts: &BTreeSet<String>) -> Self {
        let hosts = hosts.iter().map(|host| host.to_lowercase()).collect();
        Self { hosts: Some(hosts), ..self }
    }

    /// Returns whether the host of a URL is one that the org lets tools call after private or
    /// outside content was read. `*` in its list stands for every host.
    pub fn allows_host_of(&self, url: &str) -> bool {
        let Some(hosts) = &self.hosts else { return true };
        // Compared as text up to the path, so that no two parsers read another host in it.
        let rest = url.strip_prefix("https://");
        let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
        hosts.contains("*") || host.is_some_and(|host| hosts.contains(&host.to_lowercase()))
    }

    /// Returns all tools in the order of the catalogue.
    pub fn tools(&self) -> &[ScopedTool] {
        &self.tools
    }

    /// Returns the active tools. The model is offered exactly these.
    pub fn active(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().filter(|tool| tool.removed.is_none()).map(|tool| &tool.spec)
    }

    /// Returns a tool by the name the model used, or `None` if it is unknown.
    pub fn find(&self, name: &str) -> Option<&ScopedTool> {
        self.tools.iter().find(|tool| tool.spec.name.as_str() == name)
    }

    /// Returns the tools that are disabled because they failed in this session.
    pub fn disabled_for_session(&self) -> impl Iterator<Item = &ToolName> {
        self.tools
            .iter()
            .filter(|tool| matches!(tool.removed, Some(Removal::FailedTooOften { .. })))
            .map(|tool| &tool.spec.name)
    }

    /// Returns the tools that the agent lacks only in this session: they failed too often,
    /// or the session budget is nearly used up.
    pub fn unavailable_in_session(&self) -> impl Iterator<Item = &ToolName> {
        let unavailable = |tool: &&ScopedTool| {
            matches!(tool.removed, Some(Removal::FailedTooOften { .. } | Removal::SessionReadOnly))
        };
        self.tools.iter().filter(unavailable).map(|tool| &tool.spec.name)
    }

    /// Returns the integrations that known tools need, whether connected or not.
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
    ToolScope { tools, hosts: Some(BTreeSet::new()) }
}

#[cfg(test)]
mod tests;
