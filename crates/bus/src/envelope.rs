//! The envelope: a message and all that travels with it.
//!
//! In memory it moves as it is, and its parts are shared instead of copied. On
//! the wire it is JSON with a version; a field that this program does not know
//! is skipped, a version that it does not know is refused.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use ostler_domain::dispatch::authority::Claim;
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::dispatch::priority::Priority;
use ostler_domain::id::EnvelopeId;
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::id::{next_id_at, now};
use crate::queue::QueueName;

/// The version of the form that this program writes, and the newest it reads.
pub const VERSION: u32 = 1;

/// The version of an envelope's form; always one that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(u32);

impl Default for Version {
    fn default() -> Self {
        Self(VERSION)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(self.0)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let version = u32::deserialize(from)?;
        if (1..=VERSION).contains(&version) {
            return Ok(Self(version));
        }
        let text = format!("version {version} of the envelope is not understood");
        Err(serde::de::Error::custom(text))
    }
}

/// The type of a message: what its payload is, and what is wanted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct Kind(Arc<str>);

/// The text is not a type of message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a message's type is 1 to 200 printable characters without spaces")]
pub struct NotAKind;

impl Kind {
    /// The type as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<Arc<str>> for Kind {
    type Error = NotAKind;

    fn try_from(text: Arc<str>) -> Result<Self, NotAKind> {
        let fits = (1..=200).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text)) } else { Err(NotAKind) }
    }
}

impl FromStr for Kind {
    type Err = NotAKind;

    fn from_str(text: &str) -> Result<Self, NotAKind> {
        Arc::<str>::from(text).try_into()
    }
}

impl From<&'static str> for Kind {
    /// For the types that a program names in its source.
    fn from(text: &'static str) -> Self {
        Self(text.into())
    }
}

impl From<Kind> for Arc<str> {
    fn from(kind: Kind) -> Self {
        kind.0
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a message says; shared by all copies of it.
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

/// The message itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Which one. A repeat carries the same.
    pub id: EnvelopeId,
    /// When it was made.
    pub sent_at: Timestamp,
    /// What the sender calls the exchange that it belongs to; replies keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<Arc<str>>,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// What it says.
    pub payload: Payload,
}

/// Where a message comes from and belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// The message that this one answers or follows from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_message: Option<EnvelopeId>,
    /// What was wanted in the first place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_goal: Option<Arc<str>>,
    /// The team that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamName>,
    /// The channel that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Arc<str>>,
    /// Where the reply goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<QueueName>,
    /// Who sent it; the harness fills this in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_agent: Option<AgentName>,
    /// Whom it is for, where a queue is shared by many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<AgentName>,
    /// Who could not do it and passed it on to another of the same capability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_on_by: Option<AgentName>,
    /// The code of the request that a delegated piece of work comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_reference: Option<ReferenceCode>,
}

/// A message on the bus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The version of this form.
    #[serde(rename = "v")]
    pub version: Version,
    /// The message.
    pub message: Message,
    /// The number people quote; replies keep it.
    pub reference: ReferenceCode,
    /// What its receiver was granted.
    #[serde(default)]
    pub claims: Arc<[Claim]>,
    /// Where it comes from.
    #[serde(default)]
    pub context: Context,
    /// Its class.
    #[serde(default)]
    pub priority: Priority,
    /// By when it is to be done, if somebody promised that (the SLA).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sla_deadline: Option<Timestamp>,
}

impl Envelope {
    /// A new message.
    pub fn new(
        kind: impl Into<Kind>,
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
            version: Version::default(),
            message,
            reference,
            claims: Arc::default(),
            context: Context::default(),
            priority: Priority::default(),
            sla_deadline: None,
        }
    }

    /// A reply to this message: with its reference code, correlation, priority
    /// and place, and it as the parent. Who replies is the harness's to say.
    #[must_use]
    pub fn reply(&self, kind: impl Into<Kind>, payload: impl Into<Payload>) -> Self {
        let mut reply = Self::new(kind, payload, self.reference);
        reply.message.correlation_id.clone_from(&self.message.correlation_id);
        reply.priority = self.priority;
        reply.context = Context {
            parent_message: Some(self.message.id),
            reply_to: None,
            from_agent: None,
            to_agent: None,
            passed_on_by: None,
            ..self.context.clone()
        };
        reply
    }

    /// The form on the wire.
    pub(crate) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }

    /// Reads the form on the wire.
    pub(crate) fn decode(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests;
