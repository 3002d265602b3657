//! Agent records in the store: they outlive the process and are shared by all
//! processes.
//!
//! The store runs each operation in one transaction; this module only converts.
//! Because every operation is atomic, processes need no locks of their own.

mod codes;
mod delegations;
mod plans;
pub(crate) mod registry;
mod teams;
mod worklist;

use std::sync::Arc;

use ostler_bus::MessageBus;
use ostler_domain::id::OrgId;
use ostler_store::{OrgStore, Store, StoreError};

use super::error::QueueError;
use super::page::Page;
use super::runtime::{AgentRuntime, AgentRuntimeBuilder, RuntimeOptions};

/// The agent records of one org.
#[derive(Debug, Clone)]
pub struct StoredRecords {
    store: Store,
    org: OrgId,
}

impl StoredRecords {
    /// Returns the records of an org.
    pub const fn new(store: Store, org: OrgId) -> Self {
        Self { store, org }
    }

    /// Returns the prefix of the org's queues on a broker. With it, orgs can
    /// share a broker and use the same agent names.
    pub fn bus_prefix(&self) -> String {
        format!("{}.", self.org)
    }

    const fn org_store(&self) -> OrgStore<'_> {
        self.store.org(self.org)
    }
}

/// Number of queues shared by the hosted agents of an org.
const SHARDS: u16 = 4;

impl AgentRuntime {
    /// Returns a builder for the agents of an org, with the options that all
    /// processes of an installation share.
    pub fn for_org(bus: Arc<dyn MessageBus>, records: &StoredRecords) -> AgentRuntimeBuilder {
        let options = RuntimeOptions { shards: SHARDS, ..RuntimeOptions::default() };
        Self::builder(bus).records(records).options(options)
    }
}

impl AgentRuntimeBuilder {
    /// Stores everything there: agents, delegations, teams, plans, work lists
    /// and the numbers of reference codes.
    pub fn records(self, records: &StoredRecords) -> Self {
        let shared = Arc::new(records.clone());
        self.registry(shared.clone())
            .delegations(shared.clone())
            .teams(shared.clone())
            .plans(shared.clone())
            .worklist(shared)
            .codes(records.clone())
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

fn to_u32(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

fn page_limit<K>(page: &Page<K>) -> u32 {
    to_u32(page.limit())
}

fn invalid_json(error: serde_json::Error) -> QueueError {
    QueueError::Records(Box::new(error))
}
