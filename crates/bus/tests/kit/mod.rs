//! What tests of queues and of agents on them share: buses in memory and on
//! RabbitMQ, waiting for something, and random campaigns. The tests of the
//! runtime are built with this file too.

mod campaign;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ostler_bus::{DeadLetter, Limits, MemoryBus, MessageBus, RabbitBus, RabbitOptions, Selection};

pub(crate) use campaign::{Counted, campaign, ends, once, until_all_ended};

pub(crate) type Bus = Arc<dyn MessageBus>;

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Where a test's buses are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    /// The broker that `make test` started, at this address.
    RabbitMq(String),
}

impl Backend {
    pub(crate) fn rabbitmq() -> Self {
        let address = std::env::var("OSTLER_TEST_AMQP_URL")
            .expect("OSTLER_TEST_AMQP_URL is not set; run the tests with `make test`");
        Self::RabbitMq(address)
    }

    /// A bus of the test's own.
    pub(crate) async fn bus(&self) -> Bus {
        self.limited(Limits::default()).await
    }

    /// A bus of the test's own, with these limits.
    pub(crate) async fn limited(&self, limits: Limits) -> Bus {
        self.shared(&prefix(), limits).await
    }

    /// A bus whose queues others with the same prefix see too.
    pub(crate) async fn shared(&self, prefix: &str, limits: Limits) -> Bus {
        match self {
            Self::Memory => Arc::new(MemoryBus::new(limits)),
            Self::RabbitMq(address) => {
                let prefix = prefix.to_owned();
                let options = RabbitOptions { prefix, limits, ..RabbitOptions::default() };
                Arc::new(RabbitBus::connect(address, options).await.expect("the broker answers"))
            }
        }
    }
}

/// A prefix that no other test has, in this process or another.
pub(crate) fn prefix() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("t{}-{:x}-{number}.", std::process::id(), ostler_bus::now().as_millis())
}

/// Waits until something is so. It takes as long as it takes on a busy
/// machine; what never comes is told by name.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(LONG, waiting).await;
    assert!(waited.is_ok(), "waited for {what} in vain");
}

/// Waits until so many dead letters are there, and returns them.
pub(crate) async fn dead(bus: &Bus, count: usize) -> Vec<DeadLetter> {
    let all = async || bus.dead_letters(Selection::All, 1000).await.unwrap();
    eventually(&format!("{count} dead letters"), async || all().await.len() >= count).await;
    all().await
}

/// Runs a test on every bus.
macro_rules! on_every_bus {
    ($name:ident) => {
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn memory() {
                super::$name(&$crate::kit::Backend::Memory).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn rabbitmq() {
                super::$name(&$crate::kit::Backend::rabbitmq()).await;
            }
        }
    };
}
pub(crate) use on_every_bus;
