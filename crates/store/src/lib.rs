//! The one place that persists: SQLite and PostgreSQL behind one [`Store`].
//!
//! Owns every table and every query. What belongs to a tenant is reached
//! through [`Store::org`], and every query of an [`OrgStore`] carries its org:
//! an id of another org is not found. Workers and senders look for work among
//! all orgs; what they claim is bound to the one org it belongs to, and so is
//! all that they do with it. The store decides nothing beyond what a
//! transaction must decide; the rules are in `ostler-domain`.

mod agent_day;
mod agent_versions;
mod agents;
mod answers;
mod approvals;
mod aside;
mod audit;
mod audited;
mod backend;
mod backlog;
mod bindings;
mod blob_uses;
mod blobs;
mod changes;
mod checkpoint;
mod claim;
mod contacts;
mod deadletters;
mod decisions;
mod dispatch;
mod error;
mod events;
mod health;
mod history;
mod identifiers;
mod inbox;
mod integrations;
mod intervene;
mod journal;
mod keys;
mod knowledge;
mod lease;
mod ledger;
mod members;
mod migrate;
mod notices;
mod orgs;
mod outbox;
mod personal;
mod policies;
mod proposals;
mod rate;
mod records;
mod reference;
mod retention;
mod sending;
mod sessions;
mod together;
mod told;
mod turn;
mod users;
mod workflows;

use std::sync::Arc;

use futures_util::future::Either;
use ostler_domain::id::OrgId;

pub use agent_day::AgentDay;
pub use agent_versions::AgentVersion;
pub use answers::ANSWERS;
pub use approvals::{StoredApproval, Verdict};
pub use aside::{Aside, Count, Due};
pub use audit::{AuditLine, NewAudit};
pub use audited::Audited;
pub use bindings::OrgBinding;
pub use blobs::{NewBlob, StoredBlob};
pub use changes::Change;
pub use checkpoint::{Checkpoint, OpenCheckpoint};
pub use claim::{ClaimPolicy, Claimed, Waiting};
pub use contacts::StoredContact;
pub use deadletters::{DeadLetter, Fault, LetterId};
pub use decisions::DecisionState;
pub use dispatch::agents::{AgentsAble, AgentsPlace, QueueAgent};
pub use dispatch::delegations::WhichDelegations;
pub use dispatch::held::{HeldKind, HeldMessage};
pub use error::{Result, StoreError};
pub use events::{BadCursor, EventCursor, EventLimits, StoredEvent};
pub use health::{Check, DatabaseKind, Grade, Guard, Health, Reached, Work, judge};
pub use history::StoredMessage;
pub use identifiers::Resolved;
pub use inbox::{Accepted, GoesOn, Inbound};
pub use integrations::{Connection, OrgIntegration};
pub use intervene::Intervention;
pub use journal::{Call, Intent, Outcome, Recorded, Repeat};
pub use keys::{Key, NewKey};
pub use knowledge::{DocumentHit, DocumentSummary, StoredDocument};
pub use lease::{GiveBack, Lease};
pub use ledger::{
    Imbalance, LedgerCheck, LedgerLine, LineKind, NewGrant, NewReservation, Reserved, Settle,
};
pub use members::Member;
pub use migrate::NEEDED as SCHEMA_VERSION;
pub use notices::{NewNotice, Notified, StoredNotice};
pub use outbox::{Also, Delivery, Outbound, OutboxState, SendProgress, Silenced};
pub use personal::{ContactExport, Exported, Personal, PersonalCounts};
pub use policies::PolicyVersion;
pub use proposals::{ProposalPace, StoredProposal};
pub use rate::{Counted, Used};
pub use records::Record;
pub use retention::{Kind, OrgPruned, Progress, PruneLimits, PruneMode};
pub use sending::{Announced, GoOn};
pub use sessions::{Beginning, DueSession, StoredRun, StoredSession, Which};
pub use together::{Answers, Together};
pub use told::{ReadFrom, SessionEnd, TalkPlace, Told};
pub use turn::{
    AfterTurn, Author, Committed, NewEvent, NewMessage, NewOutbound, NewRun, SessionState,
    TurnCommit,
};
pub use users::{Account, Membership, User};
pub use workflows::claim::{ClaimedWorkflow, Tried, WorkflowLease};
pub use workflows::commit::{AfterCommit, WorkflowCommit, WorkflowWait};
pub use workflows::events::Published;
pub use workflows::heard::{Heard, WorkflowAnswer};
pub use workflows::{NewWorkflow, StoredTask, StoredWorkflow};

use backend::Operation;
use backend::postgres::Postgres;
use backend::sqlite::Sqlite;
use backlog::Room;
use ledger::Reserving;

/// A database. Cheap to clone; all clones share its connections.
#[derive(Debug, Clone)]
pub struct Store {
    backend: Backend,
    room: Arc<Room>,
    reserving: Arc<Reserving>,
}

#[derive(Debug, Clone)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Store {
    /// Connects to `sqlite:PATH`, `sqlite::memory:` or `postgres://…`, whatever
    /// its schema is.
    pub fn connect(url: &str) -> Result<Self> {
        let backend = match url.split_once(':') {
            Some(("sqlite", ":memory:" | "//:memory:")) => Backend::Sqlite(Sqlite::open(None)?),
            Some(("sqlite", path)) if !path.is_empty() => {
                let path = path.strip_prefix("//").unwrap_or(path);
                Backend::Sqlite(Sqlite::open(Some(path.as_ref()))?)
            }
            Some(("postgres" | "postgresql", _)) => Backend::Postgres(Postgres::open(url)?),
            _ => return Err(StoreError::BadUrl),
        };
        Ok(Self { backend, room: Arc::default(), reserving: Arc::default() })
    }

    /// Connects, and makes sure that the schema is the one this program needs.
    pub async fn open(url: &str) -> Result<Self> {
        let store = Self::connect(url)?;
        migrate::check_usable(store.schema_version().await?)?;
        Ok(store)
    }

    /// The version of the schema that is there; 0 means none.
    pub async fn schema_version(&self) -> Result<i64> {
        self.read(migrate::ReadVersion).await
    }

    /// Brings the schema up to date and says from which version it came.
    pub async fn migrate(&self) -> Result<i64> {
        self.write(migrate::Migrate { to: SCHEMA_VERSION }).await
    }

    /// Brings the schema up to an older version only, as an older program would
    /// have left it; for tests of migrations.
    #[doc(hidden)]
    pub async fn migrate_to(&self, version: i64) -> Result<i64> {
        self.write(migrate::Migrate { to: version }).await
    }

    /// Makes SQLite behave as if its disk were full, or no longer so; for tests
    /// of what happens then.
    #[doc(hidden)]
    pub async fn pretend_full(&self, full: bool) -> Result<()> {
        self.write(migrate::Room { full }).await
    }

    /// What belongs to one org.
    pub const fn org(&self, org: OrgId) -> OrgStore<'_> {
        OrgStore { store: self, org }
    }

    /// Runs an operation that writes. Whoever waits for it holds little: futures
    /// are copied into each other, and hundreds wait at a time.
    fn write<O: Operation>(&self, operation: O) -> impl Future<Output = Result<O::Output>> {
        match &self.backend {
            Backend::Sqlite(sqlite) => Either::Left(sqlite.write(operation)),
            Backend::Postgres(postgres) => Either::Right(Box::pin(postgres.write(operation))),
        }
    }

    /// Runs an operation that reads.
    fn read<O: Operation>(&self, operation: O) -> impl Future<Output = Result<O::Output>> {
        match &self.backend {
            Backend::Sqlite(sqlite) => Either::Left(Box::pin(sqlite.read(operation))),
            Backend::Postgres(postgres) => Either::Right(Box::pin(postgres.read(operation))),
        }
    }
}

/// What belongs to one org: the only way to tenant data.
#[derive(Debug, Clone, Copy)]
pub struct OrgStore<'s> {
    store: &'s Store,
    org: OrgId,
}

impl OrgStore<'_> {
    /// The org.
    pub const fn id(&self) -> OrgId {
        self.org
    }
}
