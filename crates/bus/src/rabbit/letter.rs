//! A message in the form of the broker: properties, headers and a body.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::id::EnvelopeId;
use ostler_domain::time::Timestamp;

use super::topology::Topology;
use crate::bus::{Failure, Limits};
use crate::dead::{DeadLetter, Death};
use crate::envelope::Envelope;
use crate::id::now;
use crate::queue::QueueName;

const QUEUE: &str = "ostler-queue";
const CLASS: &str = "ostler-class";
const REASON: &str = "ostler-reason";
const ATTEMPTS: &str = "ostler-attempts";
const DIED_AT: &str = "ostler-died-at";
/// How much of a reason or a bad body is shown.
const SHOWN: usize = 500;

/// The properties of a message: durable, with its id and type, and the moment
/// of this sending in milliseconds, by which it is told from another.
pub(super) fn properties(envelope: &Envelope) -> BasicProperties {
    BasicProperties::default()
        .with_timestamp(now().as_millis().unsigned_abs())
        .with_delivery_mode(2)
        .with_content_type("application/json".into())
        .with_message_id(envelope.message.id.to_string().into())
        .with_type(envelope.message.kind.as_str().into())
}

/// The properties of a message that died.
pub(super) fn dead_properties(properties: &BasicProperties, death: &Death) -> BasicProperties {
    let mut headers = FieldTable::default();
    let mut put = |name: &str, text: &str| {
        headers.insert(name.into(), AMQPValue::LongString(text.into()));
    };
    put(QUEUE, death.queue.as_str());
    put(CLASS, death.class.as_str());
    put(REASON, &beginning(&death.reason));
    headers.insert(ATTEMPTS.into(), AMQPValue::LongLongInt(death.attempts.into()));
    headers.insert(DIED_AT.into(), AMQPValue::LongLongInt(death.at.as_millis()));
    properties.clone().with_headers(headers).with_delivery_mode(2)
}

fn beginning(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// The id of a message; one that has none gets a number made of its body, so
/// that it is the same whenever it is looked at.
pub(super) fn id(properties: &BasicProperties, body: &[u8]) -> EnvelopeId {
    let named = properties.message_id().as_ref().and_then(|id| id.as_str().parse().ok());
    named.unwrap_or_else(|| {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        EnvelopeId::from_u128(hasher.finish().into())
    })
}

/// Reads a message, or says what is wrong with it.
pub(super) fn read(
    properties: &BasicProperties,
    body: &[u8],
    limits: &Limits,
) -> Result<Arc<Envelope>, Failure> {
    let bad = |reason: String| Failure { class: FailureClass::Data, reason };
    if body.len() > limits.message_bytes {
        return Err(bad(format!("the message has {} bytes, which is too large", body.len())));
    }
    let Some(kind) = properties.kind() else {
        return Err(bad("the message does not name its type".to_owned()));
    };
    let envelope = Envelope::decode(body)
        .map_err(|error| bad(format!("the message cannot be read: {error}")))?;
    if envelope.message.kind.as_str() != kind.as_str() {
        return Err(bad(format!(
            "the message says that its type is `{}`, and its envelope `{}`",
            kind.as_str(),
            envelope.message.kind
        )));
    }
    Ok(Arc::new(envelope))
}

/// How often a message was delivered before this time.
pub(super) fn earlier_deliveries(properties: &BasicProperties) -> u32 {
    header(properties, "x-delivery-count").and_then(whole_number).unwrap_or(0)
}

fn header<'a>(properties: &'a BasicProperties, name: &str) -> Option<&'a AMQPValue> {
    properties.headers().as_ref()?.inner().get(name)
}

fn whole_number<T: TryFrom<i64>>(value: &AMQPValue) -> Option<T> {
    let number = match value {
        AMQPValue::ShortShortInt(n) => i64::from(*n),
        AMQPValue::ShortShortUInt(n) => i64::from(*n),
        AMQPValue::ShortInt(n) => i64::from(*n),
        AMQPValue::ShortUInt(n) => i64::from(*n),
        AMQPValue::LongInt(n) => i64::from(*n),
        AMQPValue::LongUInt(n) => i64::from(*n),
        AMQPValue::LongLongInt(n) => *n,
        _ => return None,
    };
    T::try_from(number).ok()
}

fn text(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => Some(text.to_string()),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
}

/// Reads a dead letter.
pub(super) fn read_dead(
    topology: &Topology,
    properties: &BasicProperties,
    body: &[u8],
) -> DeadLetter {
    let envelope = Envelope::decode(body).ok().map(Arc::new);
    let shown = || beginning(&String::from_utf8_lossy(&body[..body.len().min(4 * SHOWN)]));
    DeadLetter {
        id: id(properties, body),
        death: our_death(properties).unwrap_or_else(|| brokers_death(topology, properties)),
        body: envelope.is_none().then(shown),
        envelope,
    }
}

/// A death that a consumer of ours wrote down.
fn our_death(properties: &BasicProperties) -> Option<Death> {
    let words = |name| header(properties, name).and_then(text);
    let class = words(CLASS)?;
    Some(Death {
        queue: words(QUEUE)?.parse().ok()?,
        class: FailureClass::ALL.into_iter().find(|known| known.as_str() == class)?,
        reason: words(REASON)?,
        attempts: header(properties, ATTEMPTS).and_then(whole_number)?,
        at: Timestamp::from_millis(header(properties, DIED_AT).and_then(whole_number)?),
    })
}

/// A death by the broker's hand: no consumer ever settled the message.
fn brokers_death(topology: &Topology, properties: &BasicProperties) -> Death {
    let first = match header(properties, "x-death") {
        Some(AMQPValue::FieldArray(deaths)) => deaths.as_slice().first(),
        _ => None,
    };
    let field = |name: &str| match first {
        Some(AMQPValue::FieldTable(table)) => table.inner().get(name),
        _ => None,
    };
    let queue = field("queue").and_then(text).and_then(|name| topology.queue_of(&name));
    let at = match field("time") {
        Some(AMQPValue::Timestamp(secs)) => i64::try_from(secs.saturating_mul(1000)).ok(),
        _ => None,
    };
    let cause = field("reason").and_then(text).unwrap_or_else(|| "unknown".to_owned());
    Death {
        queue: queue.unwrap_or_else(unknown_queue),
        class: FailureClass::Infrastructure,
        reason: format!("no consumer settled it; the broker gave it up ({cause})"),
        attempts: earlier_deliveries(properties),
        at: Timestamp::from_millis(at.unwrap_or_default()),
    }
}

fn unknown_queue() -> QueueName {
    QueueName::replies(0)
}
