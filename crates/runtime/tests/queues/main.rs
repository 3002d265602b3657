//! Agents on queues: the same tests in memory and on RabbitMQ.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod authority;
mod examples;
mod hosting;
mod lifecycle;
mod patterns;
mod people;
mod property;
mod records;
mod replies;
mod resilience;
mod supervision;
mod teams;
mod trace;
mod travel;
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
