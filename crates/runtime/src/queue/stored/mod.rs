//! What is kept of agents, in the store: it outlives the process, and several
//! processes share it.
//!
//! The store makes one transaction of each operation; here is only the way
//! there and back.

mod codes;
mod delegations;
mod plans;
mod registry;
mod teams;
mod worklist;

use std::sync::Arc;

use ostler_bus::MessageBus;
use ostler_domain::id::OrgId;
use ostler_store::{OrgStore, Store, StoreError};

use super::error::QueueError;
use super::page::Page;
use super::runtime::{AgentRuntime, Builder, RuntimeOptions};

/// The records of one org's agents, in a store.
#[derive(Debug, Clone)]
pub struct Stored {
    store: Store,
    org: OrgId,
}

impl Stored {
    /// The records of this org.
    pub const fn new(store: Store, org: OrgId) -> Self {
        Self { store, org }
    }

    /// What the names of this org's queues begin with on a broker, so that orgs
    /// may share one and their agents have the same names.
    pub fn bus_prefix(&self) -> String {
        format!("{}.", self.org)
    }

    const fn there(&self) -> OrgStore<'_> {
        self.store.org(self.org)
    }
}

/// How many queues the hosted agents of an org share.
const SHARDS: u16 = 4;

impl AgentRuntime {
    /// A runtime for the agents of an org, with the options that all processes of
    /// an installation share.
    pub fn of_org(bus: Arc<dyn MessageBus>, stored: &Stored) -> Builder {
        let options = RuntimeOptions { shards: SHARDS, ..RuntimeOptions::default() };
        Self::builder(bus).stored(stored).options(options)
    }
}

impl Builder {
    /// Keeps everything there: agents, delegations, teams, plans, work lists,
    /// and the numbers of reference codes.
    pub fn stored(self, stored: &Stored) -> Self {
        let keeper = Arc::new(stored.clone());
        self.registry(keeper.clone())
            .delegations(keeper.clone())
            .teams(keeper.clone())
            .plans(keeper.clone())
            .worklist(keeper)
            .codes(stored.clone())
    }
}

impl From<StoreError> for QueueError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Delegation(refused) => Self::Delegation(refused),
            StoreError::Team(refused) => Self::Team(refused),
            other => Self::Records(Box::new(other)),
        }
    }
}

/// A limit of ours as one of the store's.
fn most(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

/// How many a page has.
fn length<K>(page: &Page<K>) -> u32 {
    most(page.limit())
}

/// What was stored is not what it should be.
fn unreadable(error: serde_json::Error) -> QueueError {
    QueueError::Records(Box::new(error))
}
