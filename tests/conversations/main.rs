//! Customers' conversations, from the message that comes in to the reply that
//! goes out, with a scripted model.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod channels;
mod crash;
mod delivery;
mod exchange;
mod harness;
mod pipeline;
#[path = "../../crates/channels/tests/channels/real.rs"]
mod real;
mod receive;
mod rooms;
#[path = "../../crates/channels/tests/channels/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;
mod world;
