//! The errors of the store, as far as callers tell them apart.

use ostler_domain::gate::approval::ApprovalError;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::ReserveError;
use ostler_domain::org::role::Role;
use ostler_domain::queue_agent::delegation::DelegationRefused;
use ostler_domain::queue_agent::team_lifecycle::TeamChangeRefused;
use ostler_domain::soul::proposal::ProposalError;

use crate::backend::Refusal;
use crate::events::EventCursor;
use crate::maintenance::backup::BackupError;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why an operation failed. A failed operation leaves nothing half-written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It does not exist, or belongs to another org.
    #[error("no such {0} here")]
    NotFound(&'static str),
    /// Something with the same name or id exists.
    #[error("{0} exists already")]
    Conflict(String),
    /// Something else refers to it.
    #[error("{what} is used by {users}; remove or change that first")]
    InUse { what: String, users: String },
    /// The change would leave the org without anybody in a role that it needs.
    #[error("this is the last {0} of the organization; make somebody else {0} first")]
    LastWithRole(Role),
    /// Another worker holds the lease of the conversation or workflow.
    #[error("another worker holds the lease now; the work of this one is discarded")]
    StaleLease,
    /// A row that a turn changes was changed after the turn read it. Nothing of the
    /// turn is stored, and its worker still holds the lease.
    #[error("a change is based on an old version ({0}); compute it again and repeat the commit")]
    StaleChanges(#[source] Box<Self>),
    /// A worker is answering in a conversation that is to be deleted.
    #[error("one of these conversations is being answered right now; try again in a minute")]
    ConversationBusy,
    /// A person has taken over the conversation; messages of agents written before
    /// the takeover are not sent.
    #[error("a person has taken over the conversation since; write the message yourself")]
    TakenOver,
    /// A takeover or its end changed the conversation after it was read.
    #[error("somebody else has changed this conversation; reload it")]
    ConversationChanged,
    /// The configuration of the org changed after it was read.
    #[error("the configuration of this organization has changed since; make the plan again")]
    ConfigChanged,
    /// Events after the reader's cursor have been deleted.
    #[error(
        "events after this position were pruned; read a snapshot and continue from {go_on_from}"
    )]
    EventsPruned {
        /// The oldest cursor after which no event is missing.
        go_on_from: EventCursor,
    },
    /// The org has reached its limit of unanswered messages.
    #[error("the organization has {limit} unanswered messages, its limit; try again later")]
    BacklogFull { limit: u32 },
    /// There are not enough credits, or no such reservation.
    #[error(transparent)]
    Credits(#[from] ReserveError),
    /// The amount exceeds any real account: a calculation is wrong.
    #[error("the amount exceeds the limit of {limit} credits")]
    TooManyCredits { limit: Credits },
    #[error("the {what} is too large; the limit is {limit} bytes")]
    TooLarge {
        what: &'static str,
        /// In bytes.
        limit: usize,
    },
    /// The files of the org have reached its storage limit.
    #[error("the files of the organization have reached its limit of {} MiB", limit >> 20)]
    StorageFull {
        /// In bytes.
        limit: u64,
    },
    /// The approval can no longer be decided or used.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// The soul proposal can no longer be decided or applied.
    #[error(transparent)]
    Proposal(#[from] ProposalError),
    #[error("too many {what}; the limit is {limit}")]
    TooMany { what: &'static str, limit: usize },
    /// The rules of delegations refuse it.
    #[error(transparent)]
    Delegation(#[from] DelegationRefused),
    /// The rules of teams refuse it.
    #[error(transparent)]
    Team(#[from] TeamChangeRefused),
    /// Another process has locked the database for too long.
    #[error("the database is locked by another process; try again")]
    Busy,
    #[error("the disk of the database is full; free some space, nothing was written")]
    DiskFull,
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The database has no schema, or an older one.
    #[error(
        "the database is at schema version {found} and this program needs {needed}; run `ostler migrate`"
    )]
    NotMigrated { found: i64, needed: i64 },
    /// A newer program has migrated the database.
    #[error(
        "the database is at schema version {found}, newer than this program's {known}; use a newer ostler"
    )]
    NewerSchema { found: i64, known: i64 },
    /// The database has a schema from before the first release.
    #[error(
        "this database was made by a version before 0.1 and cannot be used or migrated; create a new one"
    )]
    UnsupportedSchema,
    #[error("a stored {what} cannot be read: {why}")]
    CorruptValue { what: &'static str, why: String },
    /// The address of the database has no known form. It may contain a password, so
    /// the text does not repeat it.
    #[error("invalid database address; use sqlite:PATH, sqlite::memory: or postgres://…")]
    InvalidUrl,
    /// The host is another machine, and the address allows an unencrypted connection.
    #[error(
        "the database on {0} is reached over TLS only, because it is another machine; take \
         sslmode={{disable,allow,prefer}} out of its address, or use sslmode=verify-full"
    )]
    NotEncrypted(String),
    #[error("TLS to the database cannot be set up: {0}")]
    Tls(String),
    /// A backup cannot be written, read or restored.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// Any other error of the database.
    #[error("the database refused: {0}")]
    Backend(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&rusqlite::Error> for StoreError {
    fn from(error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        if let rusqlite::Error::SqliteFailure(_, Some(said)) = error
            && let Some(refusal) =
                said.strip_prefix(Refusal::SQLITE_PREFIX).and_then(Refusal::named)
        {
            return refusal.into();
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure) => {
                Self::Unavailable(error.to_string())
            }
            Some(ErrorCode::ConstraintViolation) => match error.sqlite_error() {
                Some(said) if said.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY => {
                    Self::NotFound("organization")
                }
                _ => Self::Conflict(error.to_string()),
            },
            _ => Self::Backend(error.to_string()),
        }
    }
}

/// Formats an error with its cause, such as a refused connection.
fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        match error.as_db_error() {
            None => Self::Unavailable(with_source(&error)),
            Some(said) if said.code().code() == Refusal::SQL_STATE => {
                match Refusal::named(said.message()) {
                    Some(refusal) => refusal.into(),
                    None => Self::Backend(said.message().to_owned()),
                }
            }
            Some(said) => match *said.code() {
                SqlState::FOREIGN_KEY_VIOLATION => Self::NotFound("organization"),
                SqlState::UNIQUE_VIOLATION => Self::Conflict(said.message().to_owned()),
                SqlState::DISK_FULL => Self::DiskFull,
                SqlState::T_R_DEADLOCK_DETECTED | SqlState::LOCK_NOT_AVAILABLE => Self::Busy,
                SqlState::ADMIN_SHUTDOWN
                | SqlState::CRASH_SHUTDOWN
                | SqlState::CANNOT_CONNECT_NOW
                | SqlState::TOO_MANY_CONNECTIONS => Self::Unavailable(said.message().to_owned()),
                _ => Self::Backend(said.message().to_owned()),
            },
        }
    }
}
