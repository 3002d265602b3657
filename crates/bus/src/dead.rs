//! Dead letters: messages that could not be handled, with the reason.

use std::sync::Arc;

use ostler_domain::dispatch::failure::FailureClass;
use ostler_domain::id::EnvelopeId;
use ostler_domain::time::Timestamp;
use serde::Serialize;

use crate::envelope::Envelope;
use crate::queue::QueueName;

/// How a message died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Death {
    /// On the way to whom.
    pub queue: QueueName,
    /// What kind of failure it was.
    pub class: FailureClass,
    /// Why, in words.
    pub reason: String,
    /// How often it was delivered.
    pub attempts: u32,
    /// When.
    pub at: Timestamp,
}

/// A dead letter. The same message may have died on the way to several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeadLetter {
    /// The message's id; for a body that cannot be read, a number made of it.
    pub id: EnvelopeId,
    /// How it died.
    pub death: Death,
    /// The message, if it can be read.
    pub envelope: Option<Arc<Envelope>>,
    /// The beginning of a body that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// Which dead letters are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// Those that died on the way to this queue.
    Queue(QueueName),
    /// This one.
    One {
        /// On the way to whom it died.
        queue: QueueName,
        /// Which message.
        id: EnvelopeId,
    },
}

impl Selection {
    pub(crate) fn has(&self, letter: &DeadLetter) -> bool {
        match self {
            Self::All => true,
            Self::Queue(queue) => letter.death.queue == *queue,
            Self::One { queue, id } => letter.death.queue == *queue && letter.id == *id,
        }
    }
}
