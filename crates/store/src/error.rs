//! What can go wrong, as callers need to tell it apart.

use ostler_domain::dispatch::delegation::DelegationRefused;
use ostler_domain::dispatch::life::TeamRefused;
use ostler_domain::gate::approval::ApprovalError;
use ostler_domain::money::Credits;
use ostler_domain::money::ledger::ReserveError;
use ostler_domain::org::role::Role;
use ostler_domain::soul::proposal::ProposalError;

use crate::backend::Refusal;
use crate::events::EventCursor;

/// The result of every operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Why an operation did not happen. Nothing is half-written after any of them.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing in this org, or it belongs to another.
    #[error("no such {0} here")]
    NotFound(&'static str),
    /// Something with the same name or id exists.
    #[error("{0} exists already")]
    Conflict(String),
    /// The org would be left without anybody in a role that it needs.
    #[error("this is the last {0} of the organization; make somebody else {0} first")]
    LastOf(Role),
    /// Another worker holds the conversation or the workflow now; this one's work
    /// is void.
    #[error("another worker has taken this over; what this one was doing is void")]
    StaleLease,
    /// What a turn was to change is not as it was read any more. Nothing of the
    /// turn is stored, and its worker still has the conversation.
    #[error("somebody else was faster ({0}); work the changes out anew and commit the turn again")]
    Outdated(#[source] Box<Self>),
    /// A worker is answering in a conversation that is to be deleted.
    #[error("somebody is answering in one of these conversations right now; try again in a minute")]
    InConversation,
    /// A person answers in the conversation now, and what an agent wrote before
    /// is not sent any more.
    #[error("a person has taken the conversation over since; write the message yourself")]
    TakenOver,
    /// Somebody else has stepped into the conversation meanwhile.
    #[error("somebody else has changed this conversation meanwhile; look at it again")]
    Moved,
    /// Events after this place in the log have been deleted.
    #[error("events after this place were pruned; read a snapshot and go on from {go_on_from}")]
    EventsPruned {
        /// The place from which on all events are there.
        go_on_from: EventCursor,
    },
    /// The org has as many unanswered messages as it may have.
    #[error("the organization has {limit} unanswered messages, which is the most; try again later")]
    Backlog {
        /// The cap.
        limit: u32,
    },
    /// There are not enough credits, or no such reservation.
    #[error(transparent)]
    Credits(#[from] ReserveError),
    /// More credits than anybody has: something was calculated wrongly.
    #[error("these are too many credits; the most is {most}")]
    TooManyCredits {
        /// The most.
        most: Credits,
    },
    /// There is more of it than may be stored.
    #[error("this {what} is too large; the most is {limit} bytes")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// The most bytes.
        limit: usize,
    },
    /// The approval cannot be decided or used any more.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// The soul proposal cannot be decided or applied any more.
    #[error(transparent)]
    Proposal(#[from] ProposalError),
    /// There are more of it than may be stored.
    #[error("these are too many {what}; the most is {limit}")]
    TooMany {
        /// What they are.
        what: &'static str,
        /// The most.
        limit: usize,
    },
    /// The rules of delegations refuse it.
    #[error(transparent)]
    Delegation(#[from] DelegationRefused),
    /// The rules of teams refuse it.
    #[error(transparent)]
    Team(#[from] TeamRefused),
    /// Somebody else holds the database for too long.
    #[error("the database is locked by another process; try again")]
    Busy,
    /// There is no room left.
    #[error("the disk of the database is full; free some space, nothing was written")]
    DiskFull,
    /// The database cannot be reached.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The database has no tables yet, or old ones.
    #[error(
        "the database is at schema version {found} and this program needs {needed}; run `ostler migrate`"
    )]
    NotMigrated {
        /// What is there.
        found: i64,
        /// What is needed.
        needed: i64,
    },
    /// The database was migrated by a newer program.
    #[error(
        "the database is at schema version {found}, newer than this program's {known}; use a newer ostler"
    )]
    NewerSchema {
        /// What is there.
        found: i64,
        /// What this program knows.
        known: i64,
    },
    /// A stored value cannot be read.
    #[error("a stored {what} cannot be read: {why}")]
    Unreadable {
        /// What it is.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// The address of the database is not one. It may hold a password, so it is
    /// not repeated.
    #[error("this is no database address; use sqlite:PATH, sqlite::memory: or postgres://…")]
    BadUrl,
    /// Anything else that the database said.
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

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        match error.as_db_error() {
            None => Self::Unavailable(error.to_string()),
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

impl From<deadpool_postgres::PoolError> for StoreError {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(error) => error.into(),
            other => Self::Unavailable(other.to_string()),
        }
    }
}
