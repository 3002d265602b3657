//! A message of the bus that an AI agent answers: as much of it as the answer
//! needs.

use std::sync::Arc;

use ostler_bus::{Context, Envelope, Kind, Payload, QueueName};
use ostler_domain::channel::Channel;
use ostler_domain::dispatch::name::AgentName;
use ostler_domain::dispatch::priority::Priority;
use ostler_domain::id::EnvelopeId;
use ostler_domain::reference::ReferenceCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The channel of those who ask on the bus.
pub(crate) fn channel() -> Channel {
    Channel::Named("bus".to_owned())
}

/// A message of the bus, without what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Which one.
    pub message: EnvelopeId,
    /// What it is.
    pub kind: Kind,
    /// Its code, which the answer keeps.
    pub reference: ReferenceCode,
    /// What the sender calls the exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<Arc<str>>,
    /// Its class.
    #[serde(default)]
    pub priority: Priority,
    /// Where it comes from, and where the answer goes.
    #[serde(default)]
    pub context: Context,
    /// In whose name it is answered.
    pub by: AgentName,
}

impl Asked {
    /// A message that this agent answers.
    pub(crate) fn of(envelope: &Envelope, by: &AgentName) -> Self {
        Self {
            message: envelope.message.id,
            kind: envelope.message.kind.clone(),
            reference: envelope.reference,
            correlation_id: envelope.message.correlation_id.clone(),
            priority: envelope.priority,
            context: envelope.context.clone(),
            by: by.clone(),
        }
    }

    /// Where an answer goes; nowhere if nobody wants one.
    pub const fn reply_to(&self) -> Option<&QueueName> {
        self.context.reply_to.as_ref()
    }

    /// An answer, known by this id however often it is sent.
    pub(crate) fn answer(&self, id: EnvelopeId, kind: Kind, payload: Payload) -> Envelope {
        let mut asked = Envelope::new(self.kind.clone(), Value::Null, self.reference);
        asked.message.id = self.message;
        asked.message.correlation_id.clone_from(&self.correlation_id);
        asked.priority = self.priority;
        asked.context = self.context.clone();
        let mut answer = asked.reply(kind, payload);
        answer.message.id = id;
        answer.context.from_agent = Some(self.by.clone());
        answer
    }
}
