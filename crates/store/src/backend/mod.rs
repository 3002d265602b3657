//! The two databases, and what an operation sees of them.
//!
//! An operation is written once, over [`Tx`]. Its SQL is the same text for both
//! where both understand it, and two texts side by side where they differ. On
//! SQLite it runs to its end on the writer's thread; on PostgreSQL it awaits.

pub(crate) mod postgres;
pub(crate) mod sql;
pub(crate) mod sqlite;
pub(crate) mod value;

use std::future::Future;

use ostler_domain::id::OrgId;

use crate::error::{Result, StoreError};
use sql::Sql;
use value::{Row, Value};

/// An open transaction, or a connection that reads.
pub(crate) trait Tx {
    /// Runs a statement and says how many rows it touched, or found if it only
    /// reads.
    fn execute(&self, sql: &'static Sql, params: &[Value]) -> impl Future<Output = Result<u64>>;

    /// Runs a query and returns all its rows.
    fn query(&self, sql: &'static Sql, params: &[Value]) -> impl Future<Output = Result<Vec<Row>>>;

    /// Runs queries in order, on PostgreSQL without waiting in between, and
    /// returns all rows of each. A later one sees what was committed while an
    /// earlier one waited.
    fn query_in_order(
        &self,
        queries: &[(&'static Sql, &[Value])],
    ) -> impl Future<Output = Result<Vec<Vec<Row>>>>;

    /// Runs statements in order, on PostgreSQL without waiting in between, and
    /// says how many rows each touched.
    fn batch(&self, batch: &[Statement]) -> impl Future<Output = Result<Vec<u64>>>;

    /// Runs the last statements of a transaction like a batch; on PostgreSQL
    /// the commit travels with them, so whoever calls it may not refuse
    /// afterwards. A statement that touches no row though it must refuses the
    /// whole transaction.
    fn finish(&self, batch: &[Statement]) -> impl Future<Output = Result<Vec<u64>>>;

    /// Runs a migration.
    fn script(&self, sql: &'static Sql) -> impl Future<Output = Result<()>>;

    /// The first row of a query, if there is one.
    fn first(
        &self,
        sql: &'static Sql,
        params: &[Value],
    ) -> impl Future<Output = Result<Option<Row>>> {
        async move { Ok(self.query(sql, params).await?.into_iter().next()) }
    }

    /// Runs a query once for each of these parameters, on PostgreSQL without
    /// waiting in between, and returns all rows of each.
    fn query_each(
        &self,
        sql: &'static Sql,
        params: &[Vec<Value>],
    ) -> impl Future<Output = Result<Vec<Vec<Row>>>> {
        async move {
            let mut answers = Vec::with_capacity(params.len());
            for some in params.chunks(TOGETHER) {
                let queries = some.iter().map(|params| self.query(sql, params));
                answers.extend(futures_util::future::try_join_all(queries).await?);
            }
            Ok(answers)
        }
    }
}

/// Statements that are sent without waiting for each other.
const TOGETHER: usize = 24;

/// A statement with its parameters.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: &'static Sql,
    pub(crate) params: Vec<Value>,
    /// What it means that it touches no row, if it may not.
    pub(crate) must: Option<Refusal>,
}

/// Why a transaction is given up by one of its own statements. SQLite is asked
/// how many rows were touched; PostgreSQL's text calls `refuse` with the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another worker has the conversation.
    StaleLease,
    /// A message that is said to be answered does not wait.
    NotWaiting,
    /// A call with the same id is another one.
    OtherCall,
    /// A person has stepped into the conversation.
    Moved,
}

impl Refusal {
    /// The error that the function `refuse` of PostgreSQL raises.
    pub(crate) const SQL_STATE: &str = "OS001";
    const ALL: [Self; 4] = [Self::StaleLease, Self::NotWaiting, Self::OtherCall, Self::Moved];

    const fn name(self) -> &'static str {
        match self {
            Self::StaleLease => "stale_lease",
            Self::NotWaiting => "not_waiting",
            Self::OtherCall => "other_call",
            Self::Moved => "moved",
        }
    }

    /// The refusal that PostgreSQL named.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.name() == name)
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::StaleLease => Self::StaleLease,
            Refusal::NotWaiting => Self::NotFound("waiting message"),
            Refusal::OtherCall => Self::Conflict("another call with this id".into()),
            Refusal::Moved => Self::Moved,
        }
    }
}

/// Whose rows an operation may touch. PostgreSQL holds every statement to it,
/// whatever the statement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One org's.
    Org(OrgId),
    /// One org's and those of another one that pays for it.
    And(OrgId, OrgId),
    /// Those of all: workers that look for work, and the platform itself.
    All,
}

/// Something to do in one transaction, on either database. It may run more
/// than once, until one run is committed.
pub(crate) trait Operation: Send + Sync + 'static {
    /// What it answers.
    type Output: Send + 'static;

    /// Whether the answer waits until it is on the disk. Where it does not, a
    /// later commit that does takes it along.
    const FLUSHED: bool = true;

    /// Whether every turn reads it. SQLite then reads where the writer has its
    /// pages in memory: a connection beside it would fetch them anew after each
    /// commit.
    const EACH_TURN: bool = false;

    /// Whose rows it touches.
    fn scope(&self) -> Scope;

    /// Does it.
    fn run<T: Tx>(&self, tx: &T) -> impl Future<Output = Result<Self::Output>>;
}
