//! The context of an agent while it handles a message.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::Envelope;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::selection::AgentSkill;

use super::agent::QueueAgent;
use super::error::Result;
use super::harness::QueueAgentHarness;
use super::runtime::AgentRuntime;
use super::spec::AgentSpec;

/// The context of an agent while it handles one message. Messages sent through
/// it carry the agent's name, whatever the envelope says.
#[derive(Clone)]
pub struct AgentContext {
    pub(super) runtime: AgentRuntime,
    pub(super) harness: Arc<QueueAgentHarness>,
    pub(super) cause: Arc<Envelope>,
    pub(super) attempt: u32,
    pub(super) redelivered: bool,
}

impl AgentContext {
    /// Returns the agent's name.
    pub fn name(&self) -> &AgentName {
        &self.harness.spec.name
    }

    /// Returns the runtime, for starting and stopping other agents. An agent
    /// that awaits its own stop there would wait forever; use
    /// [`Self::stop_self`] instead.
    pub fn runtime(&self) -> &AgentRuntime {
        &self.runtime
    }

    /// Returns the teams that the agent is in.
    pub fn teams(&self) -> Vec<TeamName> {
        self.harness.teams()
    }

    /// Returns how often the message was delivered, starting at 1.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns whether the message may have been handled before.
    pub const fn redelivered(&self) -> bool {
        self.redelivered
    }

    /// Sends a message to an agent.
    pub async fn send(&self, to: &AgentName, envelope: Envelope) -> Result<()> {
        self.runtime.send(to, self.sign(envelope)).await
    }

    /// Sends a message to an agent and waits for the reply.
    pub async fn ask(
        &self,
        to: &AgentName,
        envelope: Envelope,
        timeout: Duration,
    ) -> Result<Arc<Envelope>> {
        self.runtime.ask(to, self.sign(envelope), timeout).await
    }

    /// Sends a message to the least loaded agent with a capability and returns
    /// its name.
    pub async fn send_by_capability(
        &self,
        capability: &AgentSkill,
        envelope: Envelope,
    ) -> Result<AgentName> {
        self.runtime.send_by_capability(capability, self.sign(envelope)).await
    }

    /// Sends a message to each member of a team.
    pub async fn broadcast(&self, team: &TeamName, envelope: Envelope) -> Result<()> {
        self.runtime.broadcast(team, self.sign(envelope)).await
    }

    /// Starts an agent, which this one may stop later.
    pub async fn start(&self, mut spec: AgentSpec, agent: impl QueueAgent) -> Result<AgentName> {
        spec.started_by = Some(self.name().clone());
        self.runtime.start(spec, agent).await
    }

    /// Starts an agent in a team.
    pub async fn start_in_team(
        &self,
        team: &TeamName,
        mut spec: AgentSpec,
        agent: impl QueueAgent,
    ) -> Result<AgentName> {
        spec.started_by = Some(self.name().clone());
        self.runtime.start_in_team(team, spec, agent).await
    }

    /// Stops this agent once its messages are handled. Returns at once.
    pub fn stop_self(&self) {
        self.runtime.stop_later(&self.harness);
    }

    /// Sets the sender, and the message that this one follows from.
    fn sign(&self, mut envelope: Envelope) -> Envelope {
        envelope.context.from_agent = Some(self.name().clone());
        envelope.context.parent_message.get_or_insert(self.cause.message.id);
        envelope
    }
}
