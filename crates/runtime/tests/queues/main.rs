//! Agents on queues: the same tests in memory and on RabbitMQ.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod authority;
mod examples;
mod hosting;
mod humans;
#[path = "../../../bus/tests/kit/mod.rs"]
mod kit;
mod lifecycle;
mod messages;
mod patterns;
mod property;
mod records;
mod replies;
mod resilience;
mod supervision;
mod support;
mod teams;
mod trace;
mod trace_context;
