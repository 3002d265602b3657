//! Envelopes: messages with their metadata.
//!
//! In memory an envelope is shared, not copied. On the wire it is versioned
//! JSON: unknown fields are ignored, unknown versions are rejected.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::authority::AuthorityClaim;
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::queue_agent::priority::Priority;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::id::{next_id_at, now};
use crate::queue::QueueName;

/// The version of the wire format that is written, and the newest that is read.
pub const VERSION: u32 = 1;

/// The version of an envelope's wire format; always a supported one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvelopeVersion(u32);

impl Default for EnvelopeVersion {
    fn default() -> Self {
        Self(VERSION)
    }
}

impl Serialize for EnvelopeVersion {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(self.0)
    }
}

impl<'de> Deserialize<'de> for EnvelopeVersion {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let version = u32::deserialize(from)?;
        if (1..=VERSION).contains(&version) {
            return Ok(Self(version));
        }
        let text = format!("version {version} of the envelope is not supported");
        Err(serde::de::Error::custom(text))
    }
}

/// The type of a message, which tells the receiver how to read the payload and
/// what to do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct EnvelopeKind(Arc<str>);

/// The text is not a valid message type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a message type has 1 to 200 printable characters without spaces")]
pub struct InvalidEnvelopeKind;

impl EnvelopeKind {
    /// Returns the type as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Arc<str>> for EnvelopeKind {
    type Error = InvalidEnvelopeKind;

    fn try_from(text: Arc<str>) -> Result<Self, InvalidEnvelopeKind> {
        let fits = (1..=200).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text)) } else { Err(InvalidEnvelopeKind) }
    }
}

impl FromStr for EnvelopeKind {
    type Err = InvalidEnvelopeKind;

    fn from_str(text: &str) -> Result<Self, InvalidEnvelopeKind> {
        Arc::<str>::from(text).try_into()
    }
}

impl From<&'static str> for EnvelopeKind {
    /// Converts a literal without validation.
    fn from(text: &'static str) -> Self {
        Self(text.into())
    }
}

impl From<EnvelopeKind> for Arc<str> {
    fn from(kind: EnvelopeKind) -> Self {
        kind.0
    }
}

impl fmt::Display for EnvelopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EnvelopeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The content of a message, shared by all copies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Payload(Arc<Value>);

impl From<Value> for Payload {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl Deref for Payload {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

/// A message without its routing metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// A redelivery keeps the id.
    pub id: EnvelopeId,
    pub sent_at: Timestamp,
    /// The sender's name for the exchange that the message belongs to; replies
    /// keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<Arc<str>>,
    #[serde(rename = "type")]
    pub kind: EnvelopeKind,
    pub payload: Payload,
}

/// Where a message comes from and what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvelopeContext {
    /// The message that this one replies to or follows from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_message: Option<EnvelopeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_goal: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<QueueName>,
    /// Set by the harness of the sending agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_agent: Option<AgentName>,
    /// The receiver, in a queue shared by many agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<AgentName>,
    /// The agent that could not handle the message and forwarded it to another
    /// with the same capability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forwarded_by: Option<AgentName>,
    /// The code of the request that delegated work belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_reference: Option<ReferenceCode>,
    /// The trace that the message belongs to, as in the header `traceparent` of the W3C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<Arc<str>>,
}

/// A message on the bus with its metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    #[serde(rename = "v")]
    pub version: EnvelopeVersion,
    pub message: Message,
    /// The code that people quote; replies keep it.
    pub reference: ReferenceCode,
    /// The authority granted to the receiver.
    #[serde(default)]
    pub claims: Arc<[AuthorityClaim]>,
    #[serde(default)]
    pub context: EnvelopeContext,
    #[serde(default)]
    pub priority: Priority,
    /// When the message must be handled, if that was promised (SLA).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla_deadline: Option<Timestamp>,
}

impl Envelope {
    /// Creates a message with a new id, sent now.
    pub fn new(
        kind: impl Into<EnvelopeKind>,
        payload: impl Into<Payload>,
        reference: ReferenceCode,
    ) -> Self {
        let now = now();
        let message = Message {
            id: next_id_at(now),
            sent_at: now,
            correlation_id: None,
            kind: kind.into(),
            payload: payload.into(),
        };
        Self {
            version: EnvelopeVersion::default(),
            message,
            reference,
            claims: Arc::default(),
            context: EnvelopeContext::default(),
            priority: Priority::default(),
            sla_deadline: None,
        }
    }

    /// Creates a reply to this message: it keeps the reference code,
    /// correlation id, priority and context, and has this message as its
    /// parent. The harness sets the sender.
    #[must_use]
    pub fn reply(&self, kind: impl Into<EnvelopeKind>, payload: impl Into<Payload>) -> Self {
        let mut reply = Self::new(kind, payload, self.reference);
        reply.message.correlation_id.clone_from(&self.message.correlation_id);
        reply.priority = self.priority;
        reply.context = EnvelopeContext {
            parent_message: Some(self.message.id),
            reply_to: None,
            from_agent: None,
            to_agent: None,
            forwarded_by: None,
            ..self.context.clone()
        };
        reply
    }

    /// Encodes the envelope as JSON.
    pub(crate) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// Decodes an envelope from JSON.
    pub(crate) fn decode(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests;
