//! What tests of several crates share: sample values of the domain with good
//! defaults, an org in a store, a database per test, the address of the broker.
//!
//! Nothing here runs in production, apart from sample values and generated conversations in
//! benchmarks. A sample is changed with struct update syntax:
//!
//! ```ignore
//! let enzo = Agent { subtype: Subtype::Pm, ..testkit::agent(ORG, ENZO, "enzo") };
//! ```

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "tests only")]

mod columns;
mod database;
mod long_conversation;
mod order_system;
mod sample;
mod seed;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use ostler_store::{OutboxEntry, SendPolicy, Store};

pub use database::TestDatabase;
pub use long_conversation::{GeneratedQuestion, LongConversation, long_conversation};
pub use order_system::{OrderRequest, OrderSystem, serve_order_system};
pub use sample::{agent, binding, customer_key, first_soul, org};
pub use seed::{bind_channel, grant_credits, save_agent};

/// Returns the address of the PostgreSQL server of `make test`.
pub fn postgres_url() -> String {
    test_variable("OSTLER_TEST_POSTGRES_URL")
}

/// Returns the address of the RabbitMQ broker of `make test`.
pub fn amqp_url() -> String {
    test_variable("OSTLER_TEST_AMQP_URL")
}

fn test_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set; run `make test`"))
}

/// Returns a name for a database or a queue prefix that no other test uses, in any
/// process.
pub fn unique_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let millis = since.expect("the clock is set").as_millis();
    format!("t{}_{millis:x}_{number}", std::process::id())
}

/// Claims the next message to send, like a sender that may take `claim_time`.
pub async fn claim_send(store: &Store, claim_time: Duration) -> Option<OutboxEntry> {
    let policy = SendPolicy { claim_time, max_per_binding: 8 };
    store.claim_outbox(policy, 1).await.expect("messages can be claimed").pop()
}

/// Waits until a condition holds. Panics with its name after three minutes.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(180), waiting).await;
    assert!(waited.is_ok(), "timed out waiting for {what}");
}
