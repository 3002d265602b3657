//! What an agent gets beside a message: who it is, and what it may set going.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::Envelope;
use ostler_domain::dispatch::choice::Capability;
use ostler_domain::dispatch::name::{AgentName, TeamName};

use super::agent::Agent;
use super::error::Result;
use super::harness::Harness;
use super::runtime::AgentRuntime;
use super::spec::Spec;

/// The surroundings of an agent while it handles one message. What it sends
/// through this carries its name, whatever the message says.
#[derive(Clone)]
pub struct AgentContext {
    pub(super) runtime: AgentRuntime,
    pub(super) harness: Arc<Harness>,
    pub(super) cause: Arc<Envelope>,
    pub(super) attempt: u32,
    pub(super) redelivered: bool,
}

impl AgentContext {
    /// The agent's name.
    pub fn name(&self) -> &AgentName {
        &self.harness.spec.name
    }

    /// The runtime, for starting and stopping other agents. An agent that
    /// waits there until it has itself stopped waits for itself; that is what
    /// [`Self::stop_myself`] is for.
    pub fn runtime(&self) -> &AgentRuntime {
        &self.runtime
    }

    /// The teams that it is in.
    pub fn teams(&self) -> Vec<TeamName> {
        self.harness.teams()
    }

    /// How often the message was delivered; the first time is 1.
    pub const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether the message may have been handled before.
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
        patience: Duration,
    ) -> Result<Arc<Envelope>> {
        self.runtime.ask(to, self.sign(envelope), patience).await
    }

    /// Sends a message to whoever can do something and has the least to do.
    pub async fn send_to_able(
        &self,
        capability: &Capability,
        envelope: Envelope,
    ) -> Result<AgentName> {
        self.runtime.send_to_able(capability, self.sign(envelope)).await
    }

    /// Sends a message to each member of a team.
    pub async fn broadcast(&self, team: &TeamName, envelope: Envelope) -> Result<()> {
        self.runtime.broadcast(team, self.sign(envelope)).await
    }

    /// Starts an agent, which this one may ask to stop.
    pub async fn start(&self, mut spec: Spec, agent: impl Agent) -> Result<AgentName> {
        spec.started_by = Some(self.name().clone());
        self.runtime.start(spec, agent).await
    }

    /// Starts an agent in a team.
    pub async fn start_in_team(
        &self,
        team: &TeamName,
        mut spec: Spec,
        agent: impl Agent,
    ) -> Result<AgentName> {
        spec.started_by = Some(self.name().clone());
        self.runtime.start_in_team(team, spec, agent).await
    }

    /// Has this agent stopped once its work is done; returns at once.
    pub fn stop_myself(&self) {
        self.runtime.stop_later(&self.harness);
    }

    /// Writes the agent's name on a message, and what it follows from.
    fn sign(&self, mut envelope: Envelope) -> Envelope {
        envelope.context.from_agent = Some(self.name().clone());
        envelope.context.parent_message.get_or_insert(self.cause.message.id);
        envelope
    }
}
