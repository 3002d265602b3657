//! What every bus must do: the same tests in memory and on RabbitMQ, and what
//! only a broker can do wrong.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod consuming;
mod deadletters;
mod limits;
mod order;
mod property;
mod proxy;
mod reconnect;
mod requests;
mod teams;
mod wire;
mod world;

/// Runs a test on every bus.
macro_rules! on_every_bus {
    ($name:ident) => {
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn memory() {
                super::$name(&$crate::world::Backend::Memory).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn rabbitmq() {
                super::$name(&$crate::world::Backend::rabbitmq()).await;
            }
        }
    };
}
pub(crate) use on_every_bus;
