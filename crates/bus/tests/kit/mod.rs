//! Shared by the tests of the bus and of agents on queues: buses in memory and
//! on RabbitMQ, waiting for conditions, and property tests. The tests of the
//! runtime include this file too.

mod campaign;

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{
    DeadLetter, DeadLetterFilter, MemoryBus, MessageBus, QueueLimits, RabbitBus, RabbitOptions,
};
pub(crate) use ostler_testkit::eventually;

pub(crate) use campaign::{
    MessageCounts, once_each, run_property, settled_counts, wait_until_all_settled,
};

pub(crate) type Bus = Arc<dyn MessageBus>;

/// Longer than any operation takes on a busy machine.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The bus implementation of a test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    /// The address of the broker that `make test` started.
    RabbitMq(String),
}

impl Backend {
    pub(crate) fn rabbitmq() -> Self {
        Self::RabbitMq(ostler_testkit::amqp_url())
    }

    /// Creates a bus for one test.
    pub(crate) async fn bus(&self) -> Bus {
        self.bus_with(QueueLimits::default()).await
    }

    /// Creates a bus for one test with these limits.
    pub(crate) async fn bus_with(&self, limits: QueueLimits) -> Bus {
        self.bus_with_prefix(&prefix(), limits).await
    }

    /// Creates a bus that shares its queues with others of the same prefix.
    pub(crate) async fn bus_with_prefix(&self, prefix: &str, limits: QueueLimits) -> Bus {
        match self {
            Self::Memory => Arc::new(MemoryBus::new(limits)),
            Self::RabbitMq(address) => {
                let prefix = prefix.to_owned();
                let options = RabbitOptions { prefix, limits, ..RabbitOptions::default() };
                Arc::new(
                    RabbitBus::connect(address, options).await.expect("broker must be reachable"),
                )
            }
        }
    }
}

/// Returns a prefix that no other test uses, in any process.
pub(crate) fn prefix() -> String {
    ostler_testkit::unique_name() + "."
}

/// Waits until there are at least `count` dead letters, and returns them.
pub(crate) async fn wait_for_dead_letters(bus: &Bus, count: usize) -> Vec<DeadLetter> {
    let all = async || bus.dead_letters(DeadLetterFilter::All, 1000).await.unwrap();
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
