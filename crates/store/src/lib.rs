//! Persistence: SQLite and PostgreSQL behind one [`Store`].
//!
//! Owns every table and every query. Data of a tenant is reached through
//! [`Store::org`], and every query of an [`OrgStore`] names its org: an id of
//! another org is not found. Workers and senders search all orgs for work; what
//! they claim belongs to one org, and a claim gives access to that org only. The
//! store decides only what a transaction must decide; the rules are in
//! `ostler-domain`.
//!
//! | module | holds |
//! |---|---|
//! | `conversation` | inbox, leases, turns, sessions, approvals, takeovers |
//! | `delivery`     | outbox, dead letters, bindings, notices |
//! | `tenancy`      | orgs, users, members, keys, policies, integrations, audit |
//! | `agents`       | agents, their versions, proposals and daily usage |
//! | `contacts`     | contacts, identifiers, records, blobs, privacy |
//! | `ledger`       | credits, reservations, rate counters |
//! | `knowledge`    | documents and their search |
//! | `memory`       | observational memory of threads, recall of messages |
//! | `workflows`    | workflows, their leases, signals and events |
//! | `queue_agents` | agents on queues, their teams and delegations |
//! | `threads`      | threads of interactive harnesses, and their settings |
//! | `events`       | the event log |
//! | `webhooks`     | where events are sent, and the log of their deliveries |
//! | `maintenance`  | schema, health, retention, idempotency |
//! | `backend`      | the two databases and what an operation sees of them |
//! | `round_robin`  | taking turns, for fairness among orgs |
//! | `batcher`      | many requests handled in one transaction |

mod agents;
mod backend;
mod batcher;
mod contacts;
mod conversation;
mod database_file;
mod delivery;
mod error;
mod events;
mod knowledge;
mod ledger;
mod maintenance;
mod memory;
mod operation;
mod queue_agents;
mod round_robin;
mod tenancy;
mod threads;
mod webhooks;
mod workflows;

use std::sync::Arc;

use ostler_domain::id::OrgId;

pub use agents::daily_usage::AgentDailyUsage;
pub use agents::proposals::{ProposalActivity, StoredProposal};
pub use agents::versions::AgentVersion;
pub use backend::job::StoreFuture;
pub use batcher::{BatchHandler, Batcher};
pub use contacts::blobs::{NewBlob, StoredBlob};
pub use contacts::contact::StoredContact;
pub use contacts::identifiers::ContactResolution;
pub use contacts::merge::MergeCounts;
pub use contacts::privacy::{ContactExport, ExportedItem, PersonalDataCounts, PersonalDataKind};
pub use contacts::records::Record;
pub use contacts::shared_records::{SharedFollowUp, SharedRecordChange};
pub use contacts::visitors::ChannelVisitor;
pub use conversation::approvals::{ApprovalVerdict, DecisionFollowUp, StoredApproval};
pub use conversation::checkpoint::{Checkpoint, OpenCheckpoint};
pub use conversation::claim::{ClaimPolicy, ClaimedConversation, PendingMessage};
pub use conversation::decisions::DecisionState;
pub use conversation::history::StoredMessage;
pub use conversation::inbox::{AcceptOutcome, FollowUpEntry, NewInboxEntry};
pub use conversation::journal::{CallOutcome, LeaseStatus, RetrySafety, StoredCall, StoredIntent};
pub use conversation::lease::{Lease, ReleaseReason};
pub use conversation::message_search::{MessageHit, MessageMatcher, MessageSearchPage};
pub use conversation::notes::SessionNote;
pub use conversation::operator_change::OperatorChange;
pub use conversation::record_changes::RecordChange;
pub use conversation::runs::NewRun;
pub use conversation::session_work::{Assignment, SessionWork};
pub use conversation::sessions::{
    DueSession, RecentRun, SessionFilter, StoredRun, StoredSession, TurnStart,
};
pub use conversation::side_effects::{CounterIncrement, SessionDue, TurnSideEffects};
pub use conversation::transcript::{SessionPhase, Transcript, TranscriptCursor, TranscriptStart};
pub use conversation::turn::{
    Author, CommitOutcome, LeaseAction, NewEvent, NewMessage, NewOutboxEntry, SessionState,
    TurnCommit,
};
pub use delivery::binding_failures::BindingFailure;
pub use delivery::bindings::OrgBinding;
pub use delivery::dead_letters::{DeadLetterId, DeadLetterKind, StoredDeadLetter};
pub use delivery::notice_deliveries::{
    DueNoticeDelivery, NoticeConversation, NoticeDeliveryKey, NoticeDeliveryState, NoticeMessage,
    StoredNoticeDelivery,
};
pub use delivery::notices::{NewNotice, NotifyOutcome, StoredNotice};
pub use delivery::outbox::{
    DeliveryFollowUp, OutboxDelivery, OutboxEntry, OutboxState, SendPolicy, SendProgress,
    WithdrawnMessages,
};
pub use delivery::send_pauses::SendBinding;
pub use delivery::send_state::{SendPermit, TeamMessage};
pub use error::{Result, StoreError};
pub use events::{EventCursor, EventLimits, InvalidEventCursor, StoredEvent};
pub use knowledge::{DocumentHit, DocumentSummary, StoredDocument};
pub use ledger::rate::{CountOutcome, CounterUsage};
pub use ledger::{
    AccountMismatch, LedgerCheck, LedgerLine, LedgerLineKind, NewGrant, NewReservation,
    RemainingCredits, TurnCharges,
};
pub use maintenance::backup::{BackupError, BackupHeader, BackupProgress, BackupSummary};
pub use maintenance::health::{
    CheckStatus, DatabaseHealth, DatabaseKind, DatabaseStatus, HealthCheck, RowSecurity,
    WorkCounts, assess,
};
pub use maintenance::idempotency::IDEMPOTENCY_RECORD_KIND;
pub use maintenance::model_uses::ModelUses;
pub use maintenance::retention::{
    PruneMode, PruneOptions, PruneProgress, PruneReport, RetentionKind,
};
#[doc(hidden)]
pub use maintenance::schema::Migration;
pub use maintenance::schema::SCHEMA_VERSION;
pub use memory::{
    MemoryCall, MemoryCommit, MemoryMessage, MemoryPurpose, ObservationState, RecalledMessage,
    StoredObservation, StoredThreadMemory,
};
pub use queue_agents::agents::StoredQueueAgent;
pub use queue_agents::delegations::DelegationFilter;
pub use queue_agents::held::{HeldMessage, HeldMessageKind};
pub use tenancy::audit::{AuditEntry, NewAuditEntry};
pub use tenancy::audit_search::AuditFilter;
pub use tenancy::audited_write::AuditedWrite;
pub use tenancy::config_change::{ConfigChange, ConfigWrite};
pub use tenancy::integrations::{IntegrationConnection, OrgIntegration};
pub use tenancy::invitations::{Invitation, InvitationState, NewInvitation};
pub use tenancy::keys::{ApiKey, NewApiKey};
pub use tenancy::logins::{Login, NewLogin};
pub use tenancy::members::Member;
pub use tenancy::org_config::{AgentConfig, ConfigVersion, OrgConfig, SharedConfig};
pub use tenancy::org_state::{ConfigRevision, OrgState, STARTING_CREDITS};
pub use tenancy::org_tools::StoredOrgTool;
pub use tenancy::people::MemberAccount;
pub use tenancy::platform_setup::{PlatformParts, PlatformSetup};
pub use tenancy::policies::PolicyVersion;
pub use tenancy::refusals::RefusedRequest;
pub use tenancy::users::{Membership, User, UserAccount};
pub use threads::commit::{JournalEntry, JournalKind, ThreadCommit, ThreadEvents};
pub use threads::files::ThreadFile;
pub use threads::lease::{ThreadClaim, ThreadLease};
pub use threads::subagent_runs::{NewSubagentRun, StoredSubagentRun};
pub use threads::{NewThread, StoredThread, StoredThreadMessage, ThreadCopy, ThreadPlace};
pub use webhooks::log::{Redelivery, StoredWebhookDelivery};
pub use webhooks::queue::{ClaimedWebhook, DueWebhookDelivery, NewWebhookDelivery, WebhookAttempt};
pub use webhooks::{StoredWebhook, WebhookKey, WebhookWrite};
pub use workflows::claim::{ClaimedWorkflow, WorkflowAttempt, WorkflowLease};
pub use workflows::commit::{WorkflowCommit, WorkflowLeaseAction, WorkflowWait};
pub use workflows::events::PublishOutcome;
pub use workflows::reopen::ReopenedWorkflow;
pub use workflows::schedules::{
    DueSchedule, ScheduleAdvance, ScheduledStart, StartOutcome, StoredSchedule, UnreadableSchedule,
};
pub use workflows::signals::{WorkflowAnswer, WorkflowSignals};
pub use workflows::{
    MAX_WORKFLOW_BYTES, NewWorkflow, StoredChild, StoredTask, StoredWorkflow, WorkflowParent,
};

use backend::Backend;
use conversation::backlog::BacklogAllowance;
use ledger::ReservationBatchers;
use maintenance::schema;

/// A database. Cheap to clone; all clones share the connections.
#[derive(Debug, Clone)]
pub struct Store {
    backend: Backend,
    backlog_allowance: Arc<BacklogAllowance>,
    reservation_batchers: Arc<ReservationBatchers>,
    /// The most bytes of files of an org.
    storage_limit: u64,
}

impl Store {
    /// The most bytes of files that an org may store by default: 10 GiB.
    pub const DEFAULT_STORAGE_LIMIT: u64 = 10 << 30;

    /// Connects to `sqlite:PATH`, `sqlite::memory:` or `postgres://…` without
    /// checking the schema.
    pub fn connect(url: &str) -> Result<Self> {
        Ok(Self {
            backend: Backend::connect(url)?,
            backlog_allowance: Arc::default(),
            reservation_batchers: Arc::default(),
            storage_limit: Self::DEFAULT_STORAGE_LIMIT,
        })
    }

    /// Sets the most bytes of files that an org may store.
    #[must_use]
    pub fn with_storage_limit(self, bytes: u64) -> Self {
        Self { storage_limit: bytes, ..self }
    }

    /// Connects to a database that exists, without checking the schema.
    pub fn connect_existing(url: &str) -> Result<Self> {
        database_file::check_exists(url)?;
        Self::connect(url).map_err(|error| database_file::name_remedy(url, error))
    }

    /// Connects to a database that exists, and checks that the schema has the version this
    /// program needs.
    pub async fn open(url: &str) -> Result<Self> {
        let store = Self::connect_existing(url)?;
        let named = |error| database_file::name_remedy(url, error);
        schema::check_usable(store.schema_version().await.map_err(named)?)?;
        Ok(store)
    }

    /// Returns the schema version of the database; 0 means that it has no schema.
    pub fn schema_version(&self) -> StoreFuture<i64> {
        self.read_all_orgs(schema::version)
    }

    /// Brings the schema up to date and returns the version before.
    pub fn migrate(&self) -> StoreFuture<i64> {
        self.migrate_with(schema::MIGRATIONS)
    }

    /// Brings the schema up to date with other migrations than this program's; for
    /// tests of migrations.
    #[doc(hidden)]
    pub fn migrate_with(&self, migrations: &'static [Migration]) -> StoreFuture<i64> {
        self.write_all_orgs(move |tx| schema::migrate(tx, migrations))
    }

    /// Empties the write-ahead log of a SQLite file. Call it after the last write, so that a
    /// clean exit leaves nothing to recover.
    pub async fn empty_log(&self) -> Result<()> {
        match &self.backend {
            Backend::Sqlite(database) => database.empty_log().await,
            Backend::Postgres(_) => Ok(()),
        }
    }

    /// Fails if nothing can be written: the disk is full, or the database is read-only.
    pub async fn check_writable(&self) -> Result<()> {
        self.write_all_orgs(schema::probe_writing).await
    }

    /// Simulates a full disk on SQLite, or ends the simulation; for tests.
    #[doc(hidden)]
    pub fn simulate_full_disk(&self, full: bool) -> StoreFuture<()> {
        self.write_all_orgs(move |tx| schema::set_disk_full(tx, full))
    }

    /// Returns the data of one org.
    pub const fn org(&self, org: OrgId) -> OrgStore<'_> {
        OrgStore { store: self, org }
    }
}

/// The data of one org: the only way to tenant data.
#[derive(Debug, Clone, Copy)]
pub struct OrgStore<'s> {
    store: &'s Store,
    org: OrgId,
}

impl OrgStore<'_> {
    /// Returns the id of the org.
    pub const fn id(&self) -> OrgId {
        self.org
    }
}
