//! Broker outages and killed processes.
//!
//! A test that stops RabbitMQ has a broker of its own.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod killed;
mod restart;
mod server;
mod silent;
mod swarm;
mod tls;

/// Reads a number from the environment, for longer runs.
fn env_number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
