//! Dead letters: messages that could not be handled, with the reason.

use std::sync::Arc;

use ostler_domain::id::EnvelopeId;
use ostler_domain::queue_agent::failure::FailureClass;
use ostler_domain::time::Timestamp;
use serde::Serialize;

use crate::envelope::Envelope;
use crate::queue::QueueName;

/// Why and where a message became a dead letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeadLetterCause {
    /// The queue that the message was published to.
    pub queue: QueueName,
    pub class: FailureClass,
    pub reason: String,
    /// Number of deliveries.
    pub attempts: u32,
    pub at: Timestamp,
}

/// A dead letter. A broadcast message may be a dead letter of several queues.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeadLetter {
    /// The message id; for an unreadable body, a hash of it.
    pub id: EnvelopeId,
    pub cause: DeadLetterCause,
    /// `None` if the body is unreadable.
    pub envelope: Option<Arc<Envelope>>,
    /// The start of an unreadable body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Selects dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeadLetterFilter {
    All,
    Queue(QueueName),
    One { queue: QueueName, id: EnvelopeId },
}

impl DeadLetterFilter {
    pub(crate) fn matches(&self, dead_letter: &DeadLetter) -> bool {
        match self {
            Self::All => true,
            Self::Queue(queue) => dead_letter.cause.queue == *queue,
            Self::One { queue, id } => dead_letter.cause.queue == *queue && dead_letter.id == *id,
        }
    }
}
