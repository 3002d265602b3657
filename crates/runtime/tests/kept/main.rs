//! What is kept of agents: the same tests in memory, on SQLite and on
//! PostgreSQL, and what a restart finds.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod delegations;
mod messages;
mod registry;
mod restart;
mod teams;
mod world;

/// Runs a test wherever records are kept.
macro_rules! wherever_kept {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn memory() {
                super::$name($crate::world::Keeper::memory()).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                let place = $crate::world::Place::sqlite().await;
                super::$name($crate::world::Keeper::stored(place.open().await)).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                let place = $crate::world::Place::postgres().await;
                super::$name($crate::world::Keeper::stored(place.open().await)).await;
            }
        }
    };
}
pub(crate) use wherever_kept;
