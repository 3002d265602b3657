//! Where records are kept.

use std::sync::Arc;

use ostler_bus::next_id;
use ostler_domain::dispatch::delegation::{Delegation, DelegationStatus};
use ostler_domain::dispatch::name::{AgentName, TeamName};
use ostler_domain::id::{DelegationId, OrgId};
use ostler_domain::org::plan::Plan;
use ostler_domain::org::{Org, Place as OrgPlace};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::time::{Timestamp, UtcDay};
use ostler_runtime::queue::{
    CodeSource, Delegations, MemoryCodes, MemoryDelegations, MemoryPlans, MemoryRegistry,
    MemoryTeams, MemoryWorkList, Plans, Registry, Stored, Teams, WorkList,
};
use ostler_store::Store;

/// All that is kept.
#[derive(Clone)]
pub(crate) struct Keeper {
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) delegations: Arc<dyn Delegations>,
    pub(crate) teams: Arc<dyn Teams>,
    pub(crate) plans: Arc<dyn Plans>,
    pub(crate) worklist: Arc<dyn WorkList>,
    pub(crate) codes: Arc<dyn CodeSource>,
}

impl Keeper {
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

    pub(crate) fn stored(stored: Stored) -> Self {
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

/// A database with an org of the test's own.
pub(crate) struct Place {
    url: String,
    org: OrgId,
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}", folder.path().join("ostler.db").display());
        Self::prepare(url, Some(folder)).await
    }

    pub(crate) async fn postgres() -> Self {
        let url = std::env::var("OSTLER_TEST_POSTGRES_URL")
            .expect("OSTLER_TEST_POSTGRES_URL is not set; run the tests with `make test`");
        Self::prepare(url, None).await
    }

    async fn prepare(url: String, folder: Option<tempfile::TempDir>) -> Self {
        let store = Store::connect(&url).expect("the database opens");
        store.migrate().await.expect("the schema is made");
        let org = OrgId::from_u128(next_id().as_u128());
        let new = Org {
            id: org,
            slug: format!("kept-{}", org.as_u128()),
            name: "Kept".into(),
            place: OrgPlace::TopLevel,
            plan: Plan::Pro,
            sub_orgs_enabled: false,
            time_zone: "Europe/Rome".into(),
            retention_days: None,
        };
        store.create_org(new).await.expect("a new org");
        Self { url, org, _folder: folder }
    }

    /// Opens it as a process does that has just begun.
    pub(crate) async fn open(&self) -> Stored {
        Stored::new(Store::open(&self.url).await.expect("the database is there"), self.org)
    }
}

pub(crate) fn name(text: &str) -> AgentName {
    text.parse().unwrap()
}

pub(crate) fn called(text: &str) -> TeamName {
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

/// Work for `ada` that is due at 1,000 and waits for these.
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
