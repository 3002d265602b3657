//! Routes messages to agents: to a pinned agent's own queue or to a hosted
//! agent's shared queue.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use ostler_bus::{Envelope, QueueName};
use ostler_domain::queue_agent::name::{AgentName, TeamName};

use super::AgentRuntime;
use super::host::shard_queue;
use crate::agents::error::Result;
use crate::agents::registry::Placement;
use crate::trace_context;

/// Maximum number of cached routes.
const MAX_ROUTES: usize = 100_000;
const AGENT_PREFIX: &str = "agent.";

#[derive(Clone)]
struct Route {
    queue: QueueName,
    placement: Placement,
}

/// Cached routes to agents. The placement of a registered agent does not
/// change; the cache is cleared regularly because an agent may be removed and
/// registered again.
#[derive(Default)]
pub(super) struct RouteCache(RwLock<HashMap<Box<str>, Route>>);

impl RouteCache {
    fn get(&self, name: &str) -> Option<Route> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn put(&self, name: &str, route: Route) {
        let mut routes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if routes.len() >= MAX_ROUTES {
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
    /// Sends a message to an agent. If the agent is not running, the message
    /// waits in its queue.
    pub async fn send(&self, to: &AgentName, mut envelope: Envelope) -> Result<()> {
        trace_context::inject(&mut envelope);
        self.send_shared(to, Arc::new(envelope)).await
    }

    pub(in crate::agents) async fn send_shared(
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
        timeout: Duration,
    ) -> Result<Arc<Envelope>> {
        trace_context::inject(&mut envelope);
        let route = self.route(to).await?;
        if route.placement == Placement::Hosted {
            envelope.context.to_agent = Some(to.clone());
        }
        Ok(self.0.bus.request(&route.queue, envelope, timeout).await?)
    }

    /// Sends a message to each member of a team. If one queue is full, the other members
    /// still get their copy and an error is returned.
    pub async fn broadcast(&self, team: &TeamName, mut envelope: Envelope) -> Result<()> {
        envelope.context.team = Some(team.clone());
        trace_context::inject(&mut envelope);
        let envelope = Arc::new(envelope);
        let mut result =
            self.0.bus.broadcast(team, Arc::clone(&envelope)).await.map_err(Into::into);
        for member in self.hosted_members(team).await? {
            let sent = self.send_shared(&member, Arc::clone(&envelope)).await;
            result = result.and(sent);
        }
        result
    }

    /// Returns the queue in which messages to an agent wait: its own, or a shared one.
    pub async fn queue_of(&self, agent: &AgentName) -> Result<QueueName> {
        Ok(self.route(agent).await?.queue)
    }

    /// Returns the queues that hosted agents share.
    pub fn shared_queues(&self) -> Vec<QueueName> {
        let shards = self.0.options.shards.max(1);
        (0..shards).map(|number| QueueName::hosted(number, shards)).collect()
    }

    pub(super) async fn is_hosted(&self, agent: &AgentName) -> Result<bool> {
        Ok(self.route(agent).await?.placement == Placement::Hosted)
    }

    /// Forgets where an agent is, because its record was changed by another.
    pub(crate) fn forget_route(&self, agent: &AgentName) {
        self.0.routes.forget(agent);
    }

    /// Sends a message to a queue. The name of an agent's queue may stand for
    /// its shared queue.
    pub(crate) async fn send_to_queue(
        &self,
        queue: &QueueName,
        envelope: Arc<Envelope>,
    ) -> Result<()> {
        let name = queue.as_str().strip_prefix(AGENT_PREFIX).and_then(|name| name.parse().ok());
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

/// Sets the receiver if the queue is shared.
fn addressed(mut envelope: Arc<Envelope>, to: &AgentName, route: &Route) -> Arc<Envelope> {
    if route.placement == Placement::Hosted {
        Arc::make_mut(&mut envelope).context.to_agent = Some(to.clone());
    }
    envelope
}
