//! Buses in memory and on RabbitMQ.

use std::sync::Arc;

use ostler_bus::{MemoryBus, MessageBus, RabbitBus, RabbitOptions};
use ostler_testkit::{amqp_url, unique_name};

pub(crate) type Bus = Arc<dyn MessageBus>;

/// Two connections to one bus, as two processes have them.
pub(crate) struct BusPair(pub(crate) Bus, pub(crate) Bus);

impl BusPair {
    pub(crate) fn in_memory() -> Self {
        let bus: Bus = Arc::new(MemoryBus::default());
        Self(Arc::clone(&bus), bus)
    }

    pub(crate) async fn on_rabbitmq() -> Self {
        let prefix = format!("{}.", unique_name());
        let connect = async || {
            let options = RabbitOptions { prefix: prefix.clone(), ..RabbitOptions::default() };
            RabbitBus::connect(&amqp_url(), options).await.expect("the broker answers")
        };
        Self(Arc::new(connect().await), Arc::new(connect().await))
    }
}

/// Runs a test on every bus.
macro_rules! on_every_bus {
    ($name:ident) => {
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn memory() {
                super::$name($crate::support::BusPair::in_memory()).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn rabbitmq() {
                super::$name($crate::support::BusPair::on_rabbitmq().await).await;
            }
        }
    };
}
pub(crate) use on_every_bus;
