//! A request from the bus that an AI agent answers, as far as the reply needs it.

use std::sync::Arc;

use ostler_bus::{Envelope, EnvelopeContext, EnvelopeKind, Payload, QueueName};
use ostler_domain::channel::Channel;
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::name::AgentName;
use ostler_domain::queue_agent::priority::Priority;
use ostler_domain::reference::ReferenceCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Returns the channel name of bus requests.
pub(crate) fn bus_channel() -> Channel {
    Channel::Named("bus".to_owned())
}

/// A request from the bus, without its payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusRequest {
    pub message: EnvelopeId,
    pub kind: EnvelopeKind,
    /// The reference code, which the reply keeps.
    pub reference: ReferenceCode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<Arc<str>>,
    #[serde(default)]
    pub priority: Priority,
    /// Where it comes from, and where the reply goes.
    #[serde(default)]
    pub context: EnvelopeContext,
    /// The agent that replies.
    pub agent: AgentName,
}

impl BusRequest {
    /// Creates the request of an envelope that an agent answers.
    pub(crate) fn of(envelope: &Envelope, agent: &AgentName) -> Self {
        Self {
            message: envelope.message.id,
            kind: envelope.message.kind.clone(),
            reference: envelope.reference,
            correlation_id: envelope.message.correlation_id.clone(),
            priority: envelope.priority,
            context: envelope.context.clone(),
            agent: agent.clone(),
        }
    }

    /// Returns where the reply goes, or `None` if the sender wants no reply.
    pub const fn reply_to(&self) -> Option<&QueueName> {
        self.context.reply_to.as_ref()
    }

    /// Returns the reply envelope. A repeated reply gets the same `id`.
    pub(crate) fn reply(&self, id: EnvelopeId, kind: EnvelopeKind, payload: Payload) -> Envelope {
        let mut request = Envelope::new(self.kind.clone(), Value::Null, self.reference);
        request.message.id = self.message;
        request.message.correlation_id.clone_from(&self.correlation_id);
        request.priority = self.priority;
        request.context = self.context.clone();
        let mut reply = request.reply(kind, payload);
        reply.message.id = id;
        reply.context.from_agent = Some(self.agent.clone());
        reply
    }
}
