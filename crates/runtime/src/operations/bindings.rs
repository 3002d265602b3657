//! The channels through which an org is reached.

use ostler_domain::agent::routing::{Candidate, choose};
use ostler_domain::channel::Channel;
use ostler_domain::channel::binding::{Binding, same_bot};
use ostler_domain::id::{AgentId, BindingId};
use ostler_domain::org::duty::Duty;
use ostler_domain::secret::SecretRef;
use ostler_domain::session::key::Entry;
use ostler_store::OrgBinding;
use serde_json::json;

use super::{Office, OperationError, Result};
use crate::ids::fresh;

/// The most that are listed.
const MOST: u32 = 1000;

/// A channel through which an org is to be reached.
#[derive(Debug, Clone)]
pub struct NewBinding {
    /// The channel.
    pub channel: Channel,
    /// What the channel needs to know, as JSON.
    pub settings: String,
    /// Where its secret is kept, if it has one.
    pub secret: Option<SecretRef>,
    /// Who answers there, by id, slug or subtype; whoever customers reach if it is
    /// not said.
    pub agent: Option<String>,
    /// The lowest number is used first.
    pub priority: u32,
}

/// What is changed of a binding. What is not said stays as it is.
#[derive(Debug, Clone, Default)]
pub struct BindingChange {
    /// What the channel needs to know, as JSON.
    pub settings: Option<String>,
    /// Where its secret is kept.
    pub secret: Option<SecretRef>,
    /// Who answers there, by id, slug or subtype.
    pub agent: Option<String>,
    /// The lowest number is used first.
    pub priority: Option<u32>,
    /// Whether it may be used.
    pub enabled: Option<bool>,
}

impl Office<'_> {
    /// The channels that the org has, those that are off included.
    pub async fn bindings(&self) -> Result<Vec<OrgBinding>> {
        Ok(self.allowed(Duty::Look).await?.bindings(None, MOST).await?)
    }

    /// A binding as it would be; nothing is stored.
    pub async fn draft_binding(&self, new: NewBinding) -> Result<OrgBinding> {
        self.allowed(Duty::SetUp).await?;
        let NewBinding { channel, settings, secret, agent, priority } = new;
        let agent = match agent {
            Some(name) => self.agent_named(&name).await?,
            None => self.agent_of_customers().await?,
        };
        let id = fresh(BindingId::from_u128);
        let binding = Binding { id, channel, enabled: true, priority };
        Ok(OrgBinding { binding, agent, settings, secret })
    }

    /// A binding as it would be with this change; nothing is stored.
    pub async fn changed_binding(&self, id: BindingId, to: BindingChange) -> Result<OrgBinding> {
        let mut bound = self.allowed(Duty::SetUp).await?.binding(id).await?;
        if let Some(name) = to.agent {
            bound.agent = self.agent_named(&name).await?;
        }
        bound.secret = to.secret.or(bound.secret);
        bound.settings = to.settings.unwrap_or(bound.settings);
        bound.binding.priority = to.priority.unwrap_or(bound.binding.priority);
        bound.binding.enabled = to.enabled.unwrap_or(bound.binding.enabled);
        Ok(bound)
    }

    /// Binds the org to a channel, or changes how it is. It counts at once.
    pub async fn save_binding(&self, bound: OrgBinding) -> Result<()> {
        let store = self.allowed(Duty::SetUp).await?;
        let known = self.bindings().await?;
        let others = known.iter().map(|one| (&one.binding, one.secret.as_ref()));
        if let Some(other) = same_bot((&bound.binding, bound.secret.as_ref()), others) {
            return Err(OperationError::Bound(other));
        }
        let Binding { id, channel, enabled, .. } = &bound.binding;
        let said = json!({"channel": channel, "enabled": enabled, "agent": bound.agent});
        let line = self.line("save_binding", id, &said);
        Ok(store.audited(line).save_binding(bound).await?)
    }

    async fn agent_named(&self, name: &str) -> Result<AgentId> {
        let view = self.view().await?;
        let found = view.find_agent(name).map(|one| one.agent.id);
        found.ok_or_else(|| OperationError::NoAgent(name.to_owned()))
    }

    /// The agent that a customer reaches who writes for the first time.
    async fn agent_of_customers(&self) -> Result<AgentId> {
        let view = self.view().await?;
        let agents = view.agents.iter();
        let candidates = agents.map(|one| Candidate { agent: &one.agent, bound: false });
        let chosen = choose(Entry::Customer, None, candidates);
        chosen.map(|agent| agent.id).map_err(|_| OperationError::Nobody)
    }
}
