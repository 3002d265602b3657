//! Messages as AMQP properties, headers and body.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::time::Timestamp;

use super::topology::Topology;
use crate::bus::{Failure, QueueLimits};
use crate::dead_letter::{DeadLetter, DeadLetterCause};
use crate::envelope::Envelope;
use crate::id::now;
use crate::queue::QueueName;

const QUEUE: &str = "ostler-queue";
const CLASS: &str = "ostler-class";
const REASON: &str = "ostler-reason";
const ATTEMPTS: &str = "ostler-attempts";
const FAILED_AT: &str = "ostler-failed-at";
/// Maximum length of a stored reason or body excerpt.
const MAX_SHOWN_CHARS: usize = 500;

/// Returns the properties of a message: persistent, with id, type and time of
/// publishing in milliseconds, which distinguishes publications of one message.
pub(super) fn properties(envelope: &Envelope) -> BasicProperties {
    BasicProperties::default()
        .with_timestamp(now().as_millis().unsigned_abs())
        .with_delivery_mode(2)
        .with_content_type("application/json".into())
        .with_message_id(envelope.message.id.to_string().into())
        .with_type(envelope.message.kind.as_str().into())
}

/// Returns the properties of a dead letter.
pub(super) fn dead_letter_properties(
    properties: &BasicProperties,
    cause: &DeadLetterCause,
) -> BasicProperties {
    let mut headers = FieldTable::default();
    let mut put = |name: &str, text: &str| {
        headers.insert(name.into(), AMQPValue::LongString(text.into()));
    };
    put(QUEUE, cause.queue.as_str());
    put(CLASS, cause.class.as_str());
    put(REASON, &truncate(&cause.reason));
    headers.insert(ATTEMPTS.into(), AMQPValue::LongLongInt(cause.attempts.into()));
    headers.insert(FAILED_AT.into(), AMQPValue::LongLongInt(cause.at.as_millis()));
    properties.clone().with_headers(headers).with_delivery_mode(2)
}

fn truncate(text: &str) -> String {
    text.chars().take(MAX_SHOWN_CHARS).collect()
}

/// Returns the id of a message. Without one, a hash of the body is used, so
/// that the id is stable.
pub(super) fn message_id(properties: &BasicProperties, body: &[u8]) -> EnvelopeId {
    let parsed = properties.message_id().as_ref().and_then(|id| id.as_str().parse().ok());
    parsed.unwrap_or_else(|| {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        EnvelopeId::from_u128(hasher.finish().into())
    })
}

/// Decodes a message. Fails with a data failure if it is too large, untyped or
/// unreadable.
pub(super) fn decode(
    properties: &BasicProperties,
    body: &[u8],
    limits: &QueueLimits,
) -> Result<Arc<Envelope>, Failure> {
    let invalid = |reason: String| Failure { class: FailureClass::Data, reason };
    if body.len() > limits.message_bytes {
        return Err(invalid(format!("the message is too large: {} bytes", body.len())));
    }
    let Some(kind) = properties.kind() else {
        return Err(invalid("the message has no type".to_owned()));
    };
    let envelope = Envelope::decode(body)
        .map_err(|error| invalid(format!("the message cannot be read: {error}")))?;
    if envelope.message.kind.as_str() != kind.as_str() {
        return Err(invalid(format!(
            "the message type is `{}`, but its envelope says `{}`",
            kind.as_str(),
            envelope.message.kind
        )));
    }
    Ok(Arc::new(envelope))
}

/// Returns the number of deliveries before this one.
pub(super) fn previous_deliveries(properties: &BasicProperties) -> u32 {
    header(properties, "x-delivery-count").and_then(integer).unwrap_or(0)
}

fn header<'a>(properties: &'a BasicProperties, name: &str) -> Option<&'a AMQPValue> {
    properties.headers().as_ref()?.inner().get(name)
}

fn integer<T: TryFrom<i64>>(value: &AMQPValue) -> Option<T> {
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

/// Decodes a dead letter.
pub(super) fn decode_dead_letter(
    topology: &Topology,
    properties: &BasicProperties,
    body: &[u8],
) -> DeadLetter {
    let envelope = Envelope::decode(body).ok().map(Arc::new);
    let excerpt =
        || truncate(&String::from_utf8_lossy(&body[..body.len().min(4 * MAX_SHOWN_CHARS)]));
    DeadLetter {
        id: message_id(properties, body),
        cause: cause_from_headers(properties)
            .unwrap_or_else(|| cause_from_broker(topology, properties)),
        body: envelope.is_none().then(excerpt),
        envelope,
    }
}

/// Reads the cause that a consumer wrote into the headers.
fn cause_from_headers(properties: &BasicProperties) -> Option<DeadLetterCause> {
    let text_header = |name| header(properties, name).and_then(text);
    let class = text_header(CLASS)?;
    Some(DeadLetterCause {
        queue: text_header(QUEUE)?.parse().ok()?,
        class: FailureClass::ALL.into_iter().find(|known| known.as_str() == class)?,
        reason: text_header(REASON)?,
        attempts: header(properties, ATTEMPTS).and_then(integer)?,
        at: Timestamp::from_millis(header(properties, FAILED_AT).and_then(integer)?),
    })
}

/// Reads the cause from the broker's `x-death` header: no consumer settled the
/// message.
fn cause_from_broker(topology: &Topology, properties: &BasicProperties) -> DeadLetterCause {
    let first = match header(properties, "x-death") {
        Some(AMQPValue::FieldArray(entries)) => entries.as_slice().first(),
        _ => None,
    };
    let field = |name: &str| match first {
        Some(AMQPValue::FieldTable(table)) => table.inner().get(name),
        _ => None,
    };
    let queue = field("queue").and_then(text).and_then(|name| topology.parse_queue(&name));
    let at = match field("time") {
        Some(AMQPValue::Timestamp(secs)) => i64::try_from(secs.saturating_mul(1000)).ok(),
        _ => None,
    };
    let reason = field("reason").and_then(text).unwrap_or_else(|| "unknown".to_owned());
    DeadLetterCause {
        queue: queue.unwrap_or_else(unknown_queue),
        class: FailureClass::Infrastructure,
        reason: format!("no consumer settled it; the broker removed it from the queue ({reason})"),
        attempts: previous_deliveries(properties),
        at: Timestamp::from_millis(at.unwrap_or_default()),
    }
}

fn unknown_queue() -> QueueName {
    QueueName::replies(0)
}
