//! Errors of the bus.

use std::time::Duration;

use crate::queue::QueueName;

/// The result of a bus operation.
pub type Result<T, E = BusError> = std::result::Result<T, E>;

/// Why a bus operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The queue is full, and the policy is to reject or the timeout has
    /// passed.
    #[error("queue `{0}` is full; publish more slowly or add consumers")]
    QueueFull(QueueName),
    #[error("no reply from `{queue}` within {} ms", timeout.as_millis())]
    ReplyTimeout { queue: QueueName, timeout: Duration },
    /// A reply was published to a queue where no request is waiting for it.
    #[error("no request is waiting for a reply at `{0}`")]
    NoPendingRequest(QueueName),
    /// The broker could not be reached or did not confirm. The message may have
    /// been stored; publishing it again is safe because the id stays the same.
    #[error("the broker did not confirm within {} ms: {reason}", waited.as_millis())]
    Unavailable {
        waited: Duration,
        /// Why the last attempt failed.
        reason: String,
    },
    /// The broker already has a queue or exchange of this name with other
    /// settings.
    #[error("the broker refused to declare `{name}`: {reason}")]
    TopologyRefused { name: String, reason: String },
    #[error("the message has {size} bytes; the limit is {limit}")]
    MessageTooLarge { size: usize, limit: usize },
    #[error("the message cannot be encoded: {0}")]
    Encode(String),
    /// The limit [`QueueLimits::max_queues`](crate::QueueLimits::max_queues) is
    /// reached.
    #[error("there are already {0} queues, which is the limit")]
    TooManyQueues(usize),
    #[error("invalid broker address; expected amqp://user:password@host/vhost")]
    InvalidAddress,
    /// The broker is on another machine, and the address is `amqp://`.
    #[error(
        "the broker on {0} is reached over TLS only, because it is another machine; use \
         amqps://, and cacertfile=PATH for certificates of your own authority"
    )]
    NotEncrypted(String),
    #[error("the file `{path}` with root certificates cannot be read: {reason}")]
    RootCertificates { path: String, reason: String },
    /// The prefix leaves no room for queue names.
    #[error("the queue prefix has {size} bytes; the limit is {limit}")]
    PrefixTooLong { size: usize, limit: usize },
    #[error("the bus is closed")]
    Closed,
}
