//! Customers' conversations, from the message that comes in to the reply that
//! goes out, with a scripted model.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod approvals;
mod buses;
mod doorbell;
mod escalation;
mod harness;
mod on_the_bus;
mod operations;
mod pipeline;
mod races;
mod sweeping;
mod takeover;
mod team;
mod triggers;
mod world;
