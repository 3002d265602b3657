//! Delivery: sends outbox entries to channels and to the bus, in order per conversation.
//!
//! Owns the path from an outbox entry to a provider. It never decides what is said or to
//! whom. Whether a failed send is retried is decided by
//! [`ostler_domain::channel::delivery`], and how a message looks by `channels`.
//!
//! A worker claims several entries at a time, each for as long as one piece of a message may
//! take.
//! How far the message got is stored between the pieces, so that no piece is sent twice and
//! none goes out after a takeover. A provider that asks for a pause gets it for the whole
//! binding. A message that its receiver does not take is held for some minutes, with the
//! later ones of its conversation behind it; a receiver that fails several times in a row is
//! probed with one message at a time, and when it answers, all that waits is sent. An entry whose sender never reports is sent again with the same id where the
//! receiver recognizes a repeat; elsewhere its outcome is unknown, and a person decides.
//!
//! | module | what it owns |
//! |---|---|
//! | [`worker`] | the workers that claim entries, and the sweep for entries nobody reported on |
//! | `unreported` | sends whose worker died before it reported |
//! | `attempt` | one claimed entry, up to its delivery result |
//! | `bus` | replies to requests from the bus |
//! | `receiver_state` | what waits because a receiver fails, and when it is sent |
//! | `dead_letter` | what is retried automatically, and what is abandoned |
//! | [`notices`] | where and when notices to people are sent |
//! | `message` | an outbox entry in the form that channels take |
//! | [`typing`] | typing indicators |

mod attempt;
mod bus;
mod dead_letter;
mod message;
pub mod notices;
mod receiver_state;
pub mod typing;
mod unreported;
pub mod worker;

pub use notices::NoticeDispatcher;
pub use typing::Typing;
pub use worker::{DeliveryOptions, DeliveryWorker};
