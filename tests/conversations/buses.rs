//! Buses for tests, in memory and on RabbitMQ.

use std::sync::Arc;
use std::time::Duration;

use ostler_bus::{MemoryBus, MessageBus, RabbitBus, RabbitOptions, next_id};

/// A bus.
pub(crate) type Bus = Arc<dyn MessageBus>;

/// Two ends of one bus, as two processes have them.
pub(crate) struct Ends(pub(crate) Bus, pub(crate) Bus);

impl Ends {
    pub(crate) fn in_memory() -> Self {
        let bus: Bus = Arc::new(MemoryBus::default());
        Self(Arc::clone(&bus), bus)
    }

    /// On the broker that `make test` started.
    pub(crate) async fn on_rabbitmq() -> Self {
        let address = std::env::var("OSTLER_TEST_AMQP_URL")
            .expect("OSTLER_TEST_AMQP_URL is not set; run the tests with `make test`");
        let prefix = format!("c{:x}.", next_id().as_u128());
        let end = async || {
            let options = RabbitOptions { prefix: prefix.clone(), ..RabbitOptions::default() };
            RabbitBus::connect(&address, options).await.expect("the broker answers")
        };
        Self(Arc::new(end().await), Arc::new(end().await))
    }
}

/// Waits until something is so, as long as it takes on a busy machine.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(120), waiting).await;
    assert!(waited.is_ok(), "waited for {what} in vain");
}

/// Runs a test on every bus.
macro_rules! on_every_bus {
    ($name:ident) => {
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn memory() {
                super::$name($crate::buses::Ends::in_memory()).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn rabbitmq() {
                super::$name($crate::buses::Ends::on_rabbitmq().await).await;
            }
        }
    };
}
pub(crate) use on_every_bus;
