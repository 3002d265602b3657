//! Customers' conversations, from the message that comes in to the reply that
//! goes out, with a scripted model.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod approvals;
mod budgets;
mod database;
mod enforcement;
mod escalation;
mod faults;
mod harness;
mod identity;
mod kit;
mod knowledge;
mod operations;
mod order;
mod pipeline;
mod races;
mod scope;
mod sessions;
mod sweeping;
mod takeover;
mod team;
mod triggers;
mod world;
