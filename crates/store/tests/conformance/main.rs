//! The same tests on a SQLite file, on SQLite in memory and on PostgreSQL.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod agent_versions;
mod approvals;
mod audit;
mod audit_search;
mod backup;
mod bindings;
mod blobs;
mod config_change;
mod contacts;
mod contention;
mod conversations;
mod crash;
mod dead_letters;
mod delivery;
mod events;
mod faults;
mod guard;
mod health;
mod import;
mod integrations;
mod invitations;
mod journal;
mod keys;
mod knowledge;
mod ledger;
mod ledger_changes;
mod ledger_property;
mod members;
mod memory;
mod merge;
mod model_uses;
mod notice_deliveries;
mod notices;
mod operators;
mod org_config;
mod org_tools;
mod platform_setup;
mod policies;
mod privacy;
mod proposals;
mod pruning;
mod queue_agents;
mod rate;
mod records;
mod reference;
mod retention;
mod schedules;
mod schema;
mod send_pauses;
mod send_state;
mod sessions;
mod support;
mod tenants;
mod threads;
mod transcript;
mod turn_changes;
mod users;
mod webhooks;
mod workflow_children;
mod workflows;

/// Runs a test on every backend.
macro_rules! on_every_backend {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite_file() {
                let backend = $crate::support::TestDatabase::sqlite_file();
                super::$name(&backend.migrated().await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite_memory() {
                let backend = $crate::support::TestDatabase::sqlite_memory();
                super::$name(&backend.migrated().await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                let backend = $crate::support::TestDatabase::postgres().await;
                super::$name(&backend.migrated().await).await;
            }
        }
    };
}
pub(crate) use on_every_backend;
