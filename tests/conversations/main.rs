//! Customers' conversations, from the message that comes in to the reply that
//! goes out, with a scripted model.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod approvals;
mod attending;
mod budgets;
mod buses;
mod channels;
mod crash;
mod database;
mod delivery;
mod doorbell;
mod enforcement;
mod escalation;
mod exchange;
mod faults;
mod handoff;
mod harness;
mod identity;
mod kit;
mod knowledge;
mod on_the_bus;
mod online;
mod operations;
mod order;
mod pipeline;
mod races;
#[path = "../../crates/channels/tests/channels/real.rs"]
mod real;
mod receive;
mod recovery;
mod rooms;
mod scope;
#[path = "../../crates/channels/tests/channels/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;
mod sessions;
mod sweeping;
mod switchboard;
mod takeover;
mod team;
mod triggers;
mod workflows;
mod world;
