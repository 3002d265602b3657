//! Brokers that go and come back, and processes that are killed.
//!
//! A test that takes a RabbitMQ away has one of its own.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod killed;
mod restart;
mod server;
mod silent;
mod swarm;

use std::time::Duration;

/// A number from the environment, for longer campaigns.
fn number_of(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Waits until something is so. It takes as long as it takes on a busy
/// machine; what never comes is told by name.
async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(180), waiting).await;
    assert!(waited.is_ok(), "waited for {what} in vain");
}
