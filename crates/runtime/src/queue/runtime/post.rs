//! Where a message to an agent goes: into a queue of the agent's own, or into
//! one that it shares.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ostler_bus::{Envelope, QueueName};
use ostler_domain::dispatch::name::{AgentName, TeamName};

use super::AgentRuntime;
use super::host::shard_queue;
use crate::queue::error::Result;
use crate::queue::registry::Placement;

/// How many agents' places are remembered.
const REMEMBERED: usize = 100_000;
/// What the names of agents' queues begin with.
const AGENT: &str = "agent.";

#[derive(Clone)]
struct Route {
    queue: QueueName,
    placement: Placement,
}

/// Where agents are, as far as it was asked. A placement does not change while
/// an agent is registered; what is remembered is dropped now and then for those
/// that were registered anew.
#[derive(Default)]
pub(super) struct Routes(RwLock<HashMap<Box<str>, Route>>);

impl Routes {
    fn get(&self, name: &str) -> Option<Route> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn put(&self, name: &str, route: Route) {
        let mut routes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if routes.len() >= REMEMBERED {
            routes.clear();
        }
        routes.insert(name.into(), route);
    }

    pub(super) fn forget(&self, name: &AgentName) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(name.as_str());
    }

    pub(super) fn forget_all(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl AgentRuntime {
    /// Sends a message to an agent; it waits there if the agent is away.
    pub async fn send(&self, to: &AgentName, envelope: Envelope) -> Result<()> {
        self.send_shared(to, Arc::new(envelope)).await
    }

    pub(in crate::queue) async fn send_shared(
        &self,
        to: &AgentName,
        envelope: Arc<Envelope>,
    ) -> Result<()> {
        let route = self.route(to).await?;
        Ok(self.0.bus.publish(&route.queue, addressed(envelope, to, &route)).await?)
    }

    /// Sends a message to an agent and waits for the reply.
    pub async fn ask(
        &self,
        to: &AgentName,
        mut envelope: Envelope,
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        let route = self.route(to).await?;
        if route.placement == Placement::Hosted {
            envelope.context.to_agent = Some(to.clone());
        }
        Ok(self.0.bus.request(&route.queue, envelope, patience).await?)
    }

    /// Sends a message to each member of a team.
    pub async fn broadcast(&self, team: &TeamName, mut envelope: Envelope) -> Result<()> {
        envelope.context.team = Some(team.clone());
        Ok(self.0.bus.broadcast(team, Arc::new(envelope)).await?)
    }

    /// Puts a message into a queue; one that is named after an agent may stand
    /// for the queue that it shares.
    pub(crate) async fn post(&self, queue: &QueueName, envelope: Arc<Envelope>) -> Result<()> {
        let name = queue.as_str().strip_prefix(AGENT).and_then(|name| name.parse().ok());
        match name {
            Some(agent) => Box::pin(async move { self.send_shared(&agent, envelope).await }).await,
            None => Ok(self.0.bus.publish(queue, envelope).await?),
        }
    }

    async fn route(&self, agent: &AgentName) -> Result<Route> {
        match self.0.routes.get(agent.as_str()) {
            Some(route) => Ok(route),
            None => Box::pin(self.find_route(agent)).await,
        }
    }

    async fn find_route(&self, agent: &AgentName) -> Result<Route> {
        let record = self.0.registry.get(agent).await?;
        let placement = record.as_ref().map(|record| record.placement).unwrap_or_default();
        let queue = match placement {
            Placement::Pinned => QueueName::agent(agent),
            Placement::Hosted => shard_queue(agent, self.0.options.shards),
        };
        let route = Route { queue, placement };
        if record.is_some() {
            self.0.routes.put(agent.as_str(), route.clone());
        }
        Ok(route)
    }
}

/// The message with whom it is for, where the queue does not say it.
fn addressed(mut envelope: Arc<Envelope>, to: &AgentName, route: &Route) -> Arc<Envelope> {
    if route.placement == Placement::Hosted {
        Arc::make_mut(&mut envelope).context.to_agent = Some(to.clone());
    }
    envelope
}
