//! What can go wrong on the bus.

use std::time::Duration;

use crate::queue::QueueName;

/// The result of an operation of the bus.
pub type Result<T, E = BusError> = std::result::Result<T, E>;

/// Why the bus did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The queue is full, and the choice was to refuse or the wait is over.
    #[error("the queue `{0}` is full; publish more slowly, or have more consumers take from it")]
    Full(QueueName),
    /// No reply came in time.
    #[error("no reply from `{queue}` within {} ms", patience.as_millis())]
    NoReply {
        /// Who was asked.
        queue: QueueName,
        /// How long was waited.
        patience: Duration,
    },
    /// Nobody waits for this reply any more.
    #[error("nobody waits for a reply at `{0}`")]
    NobodyWaits(QueueName),
    /// The broker cannot be reached. The message may or may not be there; it
    /// can be published again, because a repeat has the same id.
    #[error("the broker did not confirm within {} ms: {reason}", waited.as_millis())]
    Unavailable {
        /// How long was waited.
        waited: Duration,
        /// What the last attempt ended with.
        reason: String,
    },
    /// The broker has a queue or an exchange of this name with other settings.
    #[error("the broker refused `{name}`: {reason}")]
    Topology {
        /// Which one.
        name: String,
        /// What the broker says.
        reason: String,
    },
    /// The message is too large for the broker.
    #[error("the message has {size} bytes, and {limit} are allowed")]
    TooLarge {
        /// How large it is.
        size: usize,
        /// How large it may be.
        limit: usize,
    },
    /// The message cannot be written as JSON.
    #[error("the message cannot be written: {0}")]
    Encode(String),
    /// There are as many queues as may be.
    #[error("there are {0} queues already, and no more are allowed")]
    TooManyQueues(usize),
    /// The address of the broker is not one.
    #[error("the address of the broker is not of the form amqp://user:password@host/vhost")]
    Address,
    /// What the names of queues begin with leaves no room for the names.
    #[error("the prefix of queues has {size} bytes, and {limit} are allowed; choose a shorter one")]
    Prefix {
        /// How long it is.
        size: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The bus was closed.
    #[error("the bus is closed")]
    Closed,
}
