//! Customers' conversations, from the message that comes in to the reply that
//! goes out, with a scripted model.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod harness;
mod pipeline;
mod world;
