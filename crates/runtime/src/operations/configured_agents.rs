//! Looking at the agents of an org as they are configured.

use ostler_domain::agent::Agent;
use ostler_domain::org::Org;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::OrgBinding;

use super::{OperationError, OrgOperations, Result};

/// An agent with where it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDetail {
    pub org: Org,
    pub agent: Agent,
    /// The current version of its soul.
    pub soul_version: Option<u32>,
    /// The channels that it answers.
    pub bindings: Vec<OrgBinding>,
}

impl OrgOperations<'_> {
    /// Returns the org with its agents, also archived ones, oldest first.
    pub async fn configured_agents(&self) -> Result<(Org, Vec<Agent>)> {
        let store = self.authorize(OrgPermission::View).await?;
        Ok((store.org().await?, store.agents().await?))
    }

    /// Returns the agent with an id, a slug or a name.
    pub async fn configured_agent(&self, name: &str) -> Result<AgentDetail> {
        let (org, agents) = self.configured_agents().await?;
        let is_named = |one: &Agent| {
            one.slug == name || one.display_name == name || one.id.to_string() == name
        };
        let agent = agents.into_iter().find(is_named);
        let agent = agent.ok_or_else(|| OperationError::NoAgent(name.to_owned()))?;
        let souls = self.soul_versions(&agent.slug).await?;
        let mut bindings = self.bindings().await?;
        bindings.retain(|bound| bound.agent == agent.id);
        let soul_version = souls.last().map(|soul| soul.version);
        Ok(AgentDetail { org, agent, soul_version, bindings })
    }
}
