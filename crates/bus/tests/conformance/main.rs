//! The conformance suite: the same tests in memory and on RabbitMQ, and tests
//! for failures that only a broker has.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod consuming;
mod dead_letters;
#[path = "../kit/mod.rs"]
mod kit;
mod limits;
mod order;
mod property;
mod proxy;
mod reconnect;
mod requests;
mod support;
mod teams;
mod wire;
