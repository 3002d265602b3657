//! What every bus must do: the same tests in memory and on RabbitMQ, and what
//! only a broker can do wrong.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod consuming;
mod deadletters;
#[path = "../kit/mod.rs"]
mod kit;
mod limits;
mod order;
mod property;
mod proxy;
mod reconnect;
mod requests;
mod teams;
mod wire;
mod world;
