//! The record stores under test.

use std::sync::Arc;

use ostler_domain::id::{DelegationId, OrgId};
use ostler_domain::queue_agent::delegation::{Delegation, DelegationStatus};
use ostler_domain::queue_agent::name::{AgentName, TeamName};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::{Timestamp, UtcDay};
use ostler_runtime::agents::{
    CodeSource, Delegations, MemoryCodes, MemoryDelegations, MemoryPlans, MemoryRegistry,
    MemoryTeams, MemoryWorkList, Plans, Registry, StoredRecords, Teams, WorkList,
};
use ostler_store::Store;
use ostler_testkit::TestDatabase;

/// All record stores of a runtime.
#[derive(Clone)]
pub(crate) struct RecordStores {
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) delegations: Arc<dyn Delegations>,
    pub(crate) teams: Arc<dyn Teams>,
    pub(crate) plans: Arc<dyn Plans>,
    pub(crate) worklist: Arc<dyn WorkList>,
    pub(crate) codes: Arc<dyn CodeSource>,
}

impl RecordStores {
    pub(crate) fn memory() -> Self {
        Self {
            registry: Arc::new(MemoryRegistry::default()),
            delegations: Arc::new(MemoryDelegations::default()),
            teams: Arc::new(MemoryTeams::default()),
            plans: Arc::new(MemoryPlans::default()),
            worklist: Arc::new(MemoryWorkList::default()),
            codes: Arc::new(MemoryCodes::default()),
        }
    }

    pub(crate) fn stored(stored: StoredRecords) -> Self {
        let stored = Arc::new(stored);
        Self {
            registry: stored.clone(),
            delegations: stored.clone(),
            teams: stored.clone(),
            plans: stored.clone(),
            worklist: stored.clone(),
            codes: stored,
        }
    }
}

/// A database with an org for one test.
pub(crate) struct OrgDatabase {
    database: TestDatabase,
    org: OrgId,
}

impl OrgDatabase {
    pub(crate) async fn sqlite() -> Self {
        Self::create_org(TestDatabase::sqlite_file()).await
    }

    pub(crate) async fn postgres() -> Self {
        Self::create_org(TestDatabase::postgres().await).await
    }

    async fn create_org(database: TestDatabase) -> Self {
        let org = OrgId::from_u128(1);
        let store = database.migrated().await;
        store.create_org(ostler_testkit::org(org, "records")).await.expect("a new org");
        Self { database, org }
    }

    /// Opens the database like a new process.
    pub(crate) async fn open(&self) -> StoredRecords {
        let store = Store::open(&self.database.url).await.expect("the database is there");
        StoredRecords::new(store, self.org)
    }
}

pub(crate) fn name(text: &str) -> AgentName {
    text.parse().unwrap()
}

pub(crate) fn team_name(text: &str) -> TeamName {
    text.parse().unwrap()
}

pub(crate) const fn id(number: u128) -> DelegationId {
    DelegationId::from_u128(number)
}

pub(crate) const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn code(number: u64) -> ReferenceCode {
    ReferenceCode::new(UtcDay::default(), number)
}

/// Work for `ada`, due at 1,000, with these blockers.
pub(crate) fn work(number: u128, blocked_by: &[u128]) -> Delegation {
    Delegation {
        id: id(number),
        reference: code(1),
        root: Some(code(2)),
        delegated_by: name("boss"),
        assignee: name("ada"),
        description: format!("task {number}"),
        due: Some(at(1000)),
        status: DelegationStatus::Assigned,
        blocked_by: blocked_by.iter().copied().map(id).collect(),
    }
}
