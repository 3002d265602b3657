//! Customers' conversations, from the message that comes in to the reply that
//! goes out, with a scripted model.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod budgets;
mod database;
mod enforcement;
mod faults;
mod harness;
mod identity;
mod kit;
mod knowledge;
mod order;
mod pipeline;
mod scope;
mod sessions;
mod world;
