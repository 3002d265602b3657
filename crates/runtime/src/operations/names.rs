//! The names of those who act in an org, for screens that have their ids.

use std::collections::BTreeMap;

use ostler_domain::agent::Agent;
use ostler_domain::id::{AgentId, UserId};
use ostler_domain::org::permission::OrgPermission;

use super::{OrgOperations, Result};
use crate::colleagues;

/// The most people and keys whose names are read.
const MAX_NAMES: u32 = 1_000;

/// Names by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActorNames {
    pub agents: BTreeMap<AgentId, String>,
    /// People and API keys of the org; for people of its parent, who work here too, also those
    /// of the parent. People who work from the org's chats have the name of the channel, keys have the id under which their work is stored.
    pub people: BTreeMap<UserId, String>,
}

impl OrgOperations<'_> {
    /// Returns the agents of the org. The actor needs to see it.
    pub async fn agents(&self) -> Result<Vec<Agent>> {
        Ok(self.authorize(OrgPermission::View).await?.agents().await?)
    }

    /// Returns the names of the agents and people of the org.
    pub async fn actor_names(&self) -> Result<ActorNames> {
        let own = self.authorize(OrgPermission::View).await?;
        let agents = own.agents().await?.into_iter().map(|agent| (agent.id, agent.display_name));
        let mut names = ActorNames { agents: agents.collect(), people: BTreeMap::new() };
        let (store, parent) = (&self.inner().store, own.org().await?.parent());
        let mut orgs = vec![own];
        // Who may not see the parent learns no names of its people.
        if let Some(parent) = parent
            && self.actor.authorize(store, parent, OrgPermission::View).await.is_ok()
        {
            orgs.push(store.org(parent));
        }
        for org in orgs {
            names.people.extend(colleagues::names(org).await?);
            for member in org.members(None, MAX_NAMES).await? {
                names.people.insert(member.user.id, member.user.name);
            }
            for key in org.keys(None, MAX_NAMES).await? {
                names.people.insert(UserId::from_u128(key.id.as_u128()), key.name);
            }
        }
        Ok(names)
    }
}
