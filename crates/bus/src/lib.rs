//! Envelopes and the message bus.
//!
//! Owns the form of a message between agents, queue names, and two buses with
//! the same behaviour: [`MemoryBus`] inside one process and [`RabbitBus`]
//! between processes. It never reads a payload and makes no decisions about
//! agents: `domain` decides what a message may do, the runtime decides who
//! handles it.
//!
//! Both buses guarantee that a message confirmed by [`MessageBus::publish`] is
//! either handled or becomes a dead letter with a failure class, a reason and a
//! delivery count; it is never dropped silently. A redelivery keeps the message
//! id and is marked as such. Every queue, wait and buffer has a limit.
//!
//! ```
//! use std::sync::Arc;
//! use ostler_bus::{ConsumeOptions, Delivery, Disposition, Envelope, MemoryBus, MessageBus, QueueName};
//! use ostler_domain::reference::ReferenceCode;
//! use ostler_domain::time::UtcDay;
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let bus: Arc<dyn MessageBus> = Arc::new(MemoryBus::default());
//! let queue = QueueName::agent(&"echo".parse().unwrap());
//!
//! let replies = Arc::clone(&bus);
//! let echo = move |delivery: Delivery| {
//!     let bus = Arc::clone(&replies);
//!     async move {
//!         let reply = delivery.envelope.reply("said", delivery.envelope.message.payload.clone());
//!         if let Some(to) = &delivery.envelope.context.reply_to {
//!             bus.publish(to, Arc::new(reply)).await.unwrap();
//!         }
//!         Disposition::Done
//!     }
//! };
//! let consumer = bus.consume(&queue, ConsumeOptions::default(), Arc::new(echo)).await.unwrap();
//!
//! let code = ReferenceCode::new(UtcDay::default(), 7);
//! let hello = Envelope::new("say", serde_json::json!({"text": "hello"}), code);
//! let reply = bus.request(&queue, hello, std::time::Duration::from_secs(5)).await.unwrap();
//! assert_eq!(reply.message.payload["text"], "hello");
//! consumer.close().await;
//! # });
//! ```

mod bus;
mod connection;
mod consumer;
mod dead_letter;
mod envelope;
mod error;
mod id;
mod memory;
mod pending_replies;
mod queue;
mod rabbit;

pub use bus::{
    BoxFuture, ConsumeOptions, Delivery, Disposition, Failure, Handler, MessageBus, OverflowPolicy,
    QueueDepth, QueueLimits,
};
pub use connection::{BusConnection, open};
pub use consumer::Consumer;
pub use dead_letter::{DeadLetter, DeadLetterCause, DeadLetterFilter};
pub use envelope::{
    Envelope, EnvelopeContext, EnvelopeKind, EnvelopeVersion, InvalidEnvelopeKind, Message,
    Payload, VERSION,
};
pub use error::{BusError, Result};
pub use id::{next_id, now};
pub use memory::MemoryBus;
pub use queue::{InvalidQueueName, QueueName};
pub use rabbit::{RabbitBus, RabbitOptions};
