//! The two databases, and what an operation sees of them.
//!
//! An operation is written once, over [`Tx`]. Its SQL is one text where both
//! databases understand it, and two texts side by side where they differ. On
//! SQLite it runs to completion on the writer thread; on PostgreSQL it awaits.

pub(crate) mod postgres;
pub(crate) mod sql;
pub(crate) mod sqlite;
pub(crate) mod value;

use std::future::Future;

use ostler_domain::id::OrgId;

use crate::error::{Result, StoreError};
use sql::Sql;
use value::{Row, Value};

/// An open transaction, or a read-only connection.
pub(crate) trait Tx {
    /// Runs a statement and returns how many rows it changed, or found if it only
    /// reads.
    fn execute(&self, sql: &'static Sql, params: &[Value]) -> impl Future<Output = Result<u64>>;

    /// Runs a query and returns all its rows.
    fn query(&self, sql: &'static Sql, params: &[Value]) -> impl Future<Output = Result<Vec<Row>>>;

    /// Runs queries in order, pipelined on PostgreSQL, and returns the rows of
    /// each. A later one sees what was committed while an earlier one waited.
    fn query_in_order(
        &self,
        queries: &[(&'static Sql, &[Value])],
    ) -> impl Future<Output = Result<Vec<Vec<Row>>>>;

    /// Runs statements in order, pipelined on PostgreSQL, and returns how many rows
    /// each changed.
    fn batch(&self, batch: &[Statement]) -> impl Future<Output = Result<Vec<u64>>>;

    /// Runs the last statements of a transaction like [`batch`](Self::batch). On
    /// PostgreSQL the commit is sent with them, so the caller must not fail
    /// afterwards. The transaction is rolled back if a statement with
    /// [`Statement::on_no_rows`] changes no row.
    fn finish(&self, batch: &[Statement]) -> impl Future<Output = Result<Vec<u64>>>;

    /// Runs a migration.
    fn script(&self, sql: &'static Sql) -> impl Future<Output = Result<()>>;

    /// Runs a query and returns its first row, if there is one.
    fn first(
        &self,
        sql: &'static Sql,
        params: &[Value],
    ) -> impl Future<Output = Result<Option<Row>>> {
        async move { Ok(self.query(sql, params).await?.into_iter().next()) }
    }

    /// Runs a query once for each set of parameters, pipelined on PostgreSQL, and
    /// returns the rows of each.
    fn query_each(
        &self,
        sql: &'static Sql,
        params: &[Vec<Value>],
    ) -> impl Future<Output = Result<Vec<Vec<Row>>>> {
        async move {
            let mut answers = Vec::with_capacity(params.len());
            for chunk in params.chunks(PIPELINE_LENGTH) {
                let queries = chunk.iter().map(|params| self.query(sql, params));
                answers.extend(futures_util::future::try_join_all(queries).await?);
            }
            Ok(answers)
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

/// Why a statement rolls its transaction back. On SQLite the program counts the
/// changed rows; on PostgreSQL the statement calls `refuse` with the name.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Org(OrgId),
    /// One org and another one that pays for it.
    OrgAndPayer(OrgId, OrgId),
    /// All orgs: for workers that search for work, and for the platform itself.
    All,
}

/// The work of one transaction, on either database. It may run several times until
/// one run is committed.
pub(crate) trait Operation: Send + Sync + 'static {
    type Output: Send + 'static;

    /// Whether the caller waits until the write is on disk. A write that is not
    /// durable reaches the disk with the next one that is.
    const DURABLE: bool = true;

    /// Whether SQLite reads on the writer's connection, which has the pages in
    /// memory; other connections fetch them again after each commit. For reads of
    /// every turn.
    const ON_WRITER: bool = false;

    /// Returns whose rows it reads and changes.
    fn scope(&self) -> Scope;

    /// Runs in an open transaction, which is committed unless it fails.
    fn run<T: Tx>(&self, tx: &T) -> impl Future<Output = Result<Self::Output>>;
}
