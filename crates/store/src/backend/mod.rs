//! The two databases, and what an operation sees of them.
//!
//! An operation is a closure over a [`Tx`], written once for both databases. It runs
//! on a thread of the database and may block there; its caller awaits a
//! [`StoreFuture`]. Its SQL is one text where both databases understand it, and two
//! texts side by side where they differ.

pub(crate) mod bulk;
pub(crate) mod job;
pub(crate) mod postgres;
pub(crate) mod sql;
pub(crate) mod sqlite;
pub(crate) mod value;

use std::collections::BTreeSet;
use std::pin::Pin;

use ostler_domain::id::OrgId;

use crate::error::{Result, StoreError};
use job::{Access, Operation, Request, StoreFuture};
use postgres::{PgTx, Postgres};
use sql::Sql;
use sqlite::{Sqlite, SqliteTx};
use value::{Row, Value};

/// One of the two databases.
#[derive(Debug, Clone)]
pub(crate) enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
}

impl Backend {
    /// Connects to `sqlite:PATH`, `sqlite::memory:` or `postgres://…`.
    pub(crate) fn connect(url: &str) -> Result<Self> {
        match url.split_once(':') {
            Some(("sqlite", ":memory:" | "//:memory:")) => Ok(Self::Sqlite(Sqlite::open(None)?)),
            Some(("sqlite", path)) if !path.is_empty() => {
                let path = path.strip_prefix("//").unwrap_or(path);
                Ok(Self::Sqlite(Sqlite::open(Some(path.as_ref()))?))
            }
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(Postgres::open(url)?)),
            _ => Err(StoreError::InvalidUrl),
        }
    }

    /// Prepares an operation, which starts when the future is first polled. It may
    /// run several times until one run is committed.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        scope: Scope,
        access: Access,
        operation: Operation<T>,
    ) -> StoreFuture<T> {
        StoreFuture::new(self.clone(), scope, access, operation)
    }

    /// Passes a request to its thread. The future, if any, must end before the
    /// response counts.
    fn submit(self, request: Request) -> Option<Submission> {
        match self {
            Self::Sqlite(sqlite) => sqlite.submit(request),
            Self::Postgres(postgres) => {
                postgres.submit(request);
                None
            }
        }
    }
}

/// A request that is waiting for its thread.
type Submission = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// An open transaction, or a read-only connection.
pub(crate) enum Tx<'t, 'c> {
    Sqlite(SqliteTx<'t, 'c>),
    Postgres(PgTx<'t>),
}

impl Tx<'_, '_> {
    /// Runs a statement and returns how many rows it changed, or found if it only
    /// reads.
    pub(crate) fn execute(&self, sql: &'static Sql, params: &[Value]) -> Result<u64> {
        match self {
            Self::Sqlite(tx) => tx.execute(sql.sqlite, params),
            Self::Postgres(tx) => tx.execute(sql.postgres, params),
        }
    }

    /// Runs a query and returns all its rows.
    pub(crate) fn query(&self, sql: &'static Sql, params: &[Value]) -> Result<Vec<Row>> {
        match self {
            Self::Sqlite(tx) => tx.query(sql.sqlite, params),
            Self::Postgres(tx) => tx.query(sql.postgres, params),
        }
    }

    /// Runs a query and returns its first row, if there is one.
    pub(crate) fn first(&self, sql: &'static Sql, params: &[Value]) -> Result<Option<Row>> {
        Ok(self.query(sql, params)?.into_iter().next())
    }

    /// Runs queries in order, pipelined on PostgreSQL, and returns the rows of
    /// each. A later one sees what was committed while an earlier one waited.
    pub(crate) fn query_in_order(
        &self,
        queries: &[(&'static Sql, &[Value])],
    ) -> Result<Vec<Vec<Row>>> {
        match self {
            Self::Sqlite(_) => {
                queries.iter().map(|(sql, params)| self.query(sql, params)).collect()
            }
            Self::Postgres(tx) => tx.query_in_order(queries),
        }
    }

    /// Runs a query once for each set of parameters, pipelined on PostgreSQL, and
    /// returns the rows of each.
    pub(crate) fn query_each(
        &self,
        sql: &'static Sql,
        params: &[Vec<Value>],
    ) -> Result<Vec<Vec<Row>>> {
        let mut answers = Vec::with_capacity(params.len());
        for chunk in params.chunks(PIPELINE_LENGTH) {
            let queries: Vec<_> = chunk.iter().map(|params| (sql, params.as_slice())).collect();
            answers.extend(self.query_in_order(&queries)?);
        }
        Ok(answers)
    }

    /// Runs statements in order, pipelined on PostgreSQL, and returns how many rows
    /// each changed.
    pub(crate) fn batch(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        match self {
            Self::Sqlite(tx) => tx.batch(batch),
            Self::Postgres(tx) => tx.batch(batch),
        }
    }

    /// Runs the last statements of a transaction like [`batch`](Self::batch). On
    /// PostgreSQL the commit is sent with them, so the caller must not fail
    /// afterwards. The transaction is rolled back if a statement with
    /// [`Statement::on_no_rows`] changes no row.
    pub(crate) fn finish(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        match self {
            Self::Sqlite(tx) => tx.batch(batch),
            Self::Postgres(tx) => tx.finish(batch),
        }
    }

    /// Runs a migration.
    pub(crate) fn script(&self, sql: &'static Sql) -> Result<()> {
        match self {
            Self::Sqlite(tx) => tx.script(sql.sqlite),
            Self::Postgres(tx) => tx.script(sql.postgres),
        }
    }
}

/// How many statements are sent without waiting for each other.
const PIPELINE_LENGTH: usize = 24;

/// A statement with its parameters.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: &'static Sql,
    pub(crate) params: Vec<Value>,
    /// Rolls the transaction back for this reason if the statement changes no row.
    pub(crate) on_no_rows: Option<Refusal>,
}

/// Why a statement rolls its transaction back. The statement calls `refuse` with the
/// name; on SQLite the program can also count the changed rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another worker holds the lease.
    StaleLease,
    /// The answered message is not pending.
    NotPending,
    /// A different call has the same id.
    OtherCall,
    /// A takeover changed the conversation.
    ConversationChanged,
}

impl Refusal {
    /// The SQLSTATE that the PostgreSQL function `refuse` raises.
    pub(crate) const SQL_STATE: &str = "OS001";
    /// How the message of the SQLite function `refuse` begins.
    pub(crate) const SQLITE_PREFIX: &str = "refused: ";
    const ALL: [Self; 4] =
        [Self::StaleLease, Self::NotPending, Self::OtherCall, Self::ConversationChanged];

    const fn name(self) -> &'static str {
        match self {
            Self::StaleLease => "stale_lease",
            Self::NotPending => "not_pending",
            Self::OtherCall => "other_call",
            Self::ConversationChanged => "conversation_changed",
        }
    }

    /// Returns the refusal with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.name() == name)
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::StaleLease => Self::StaleLease,
            Refusal::NotPending => Self::NotFound("pending message"),
            Refusal::OtherCall => Self::Conflict("another call with this id".into()),
            Refusal::ConversationChanged => Self::ConversationChanged,
        }
    }
}

/// Whose rows an operation may read and change. PostgreSQL enforces it by
/// row-level security.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    Org(OrgId),
    /// One org and others: one that pays for it, or those that it shares a record with.
    OrgAndOthers(OrgId, BTreeSet<OrgId>),
    /// All orgs: for workers that search for work, and for the platform itself.
    All,
}
