//! Agent records: the same tests in memory, on SQLite and on PostgreSQL, and
//! after a restart.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod delegations;
mod messages;
mod registry;
mod restart;
mod support;
mod teams;

/// Runs a test with every record store.
macro_rules! on_every_store {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn memory() {
                super::$name($crate::support::RecordStores::memory()).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                let database = $crate::support::OrgDatabase::sqlite().await;
                super::$name($crate::support::RecordStores::stored(database.open().await)).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                let database = $crate::support::OrgDatabase::postgres().await;
                super::$name($crate::support::RecordStores::stored(database.open().await)).await;
            }
        }
    };
}
pub(crate) use on_every_store;
