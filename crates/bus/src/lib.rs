//! Envelopes and the bus that carries them.
//!
//! Owns the form of a message between agents, the names of queues, and two
//! buses that behave alike: [`MemoryBus`] inside one process and [`RabbitBus`]
//! between many. It never looks into a payload and decides nothing about
//! agents; what a message may do is `domain`'s, and who handles it is the
//! runtime's.
//!
//! What both promise: a message that [`MessageBus::publish`] confirmed ends as
//! handled or as a dead letter with a reason, and never silently otherwise. A
//! repeat carries the same message id and is marked as one. Every queue, wait
//! and buffer has a limit.
//!
//! ```
//! use std::sync::Arc;
//! use ostler_bus::{ConsumeOptions, Delivery, Envelope, MemoryBus, MessageBus, QueueName, Verdict};
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
//!         Verdict::Done
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
mod consumer;
mod dead;
mod envelope;
mod error;
mod id;
mod memory;
mod open;
mod queue;
mod rabbit;

pub use bus::{
    BoxFuture, ConsumeOptions, Delivery, Depth, Failure, Handler, Limits, MessageBus, OnFull,
    Verdict,
};
pub use consumer::Consumer;
pub use dead::{DeadLetter, Death, Selection};
pub use envelope::{Context, Envelope, Kind, Message, NotAKind, Payload, VERSION, Version};
pub use error::{BusError, Result};
pub use id::{next_id, now};
pub use memory::MemoryBus;
pub use open::{Trunk, open};
pub use queue::{NotAQueueName, QueueName};
pub use rabbit::{RabbitBus, RabbitOptions};
