//! What an org has in a store before a test begins. Each function panics if the store
//! refuses.

use ostler_domain::agent::Agent;
use ostler_domain::channel::Channel;
use ostler_domain::id::{AgentId, BindingId};
use ostler_domain::money::Credits;
use ostler_domain::money::pools::PoolKind;
use ostler_store::{NewGrant, OrgBinding, OrgStore};

use crate::sample::{binding, first_soul};

/// Creates or updates an agent. A new agent gets a first soul.
pub async fn save_agent(org: &OrgStore<'_>, agent: Agent) {
    let (id, soul) = (agent.id, first_soul(&format!("I am {}.", agent.display_name)));
    org.save_agent(agent).await.unwrap();
    if org.soul_versions(id).await.unwrap().is_empty() {
        org.push_soul(id, soul).await.unwrap();
    }
}

/// Binds a channel, without settings and secret, to an agent.
pub async fn bind_channel(org: &OrgStore<'_>, id: BindingId, channel: Channel, agent: AgentId) {
    let binding = binding(id, channel);
    let settings = "{}".to_owned();
    org.save_binding(OrgBinding { binding, agent, settings, secret: None }).await.unwrap();
}

/// Grants purchased credits, once per `reference`.
pub async fn grant_credits(org: &OrgStore<'_>, reference: &str, amount: u64) {
    let (reference, amount) = (reference.to_owned(), Credits::new(amount));
    org.grant_credits(NewGrant { reference, pool: PoolKind::Purchased, amount }).await.unwrap();
}
