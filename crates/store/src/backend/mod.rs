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

use crate::error::Result;
use sql::Sql;
use value::{Row, Value};

/// An open transaction, or a connection that reads.
pub(crate) trait Tx {
    /// Runs a statement and says how many rows it touched.
    fn execute(&self, sql: &'static Sql, params: &[Value]) -> impl Future<Output = Result<u64>>;

    /// Runs a query and returns all its rows.
    fn query(&self, sql: &'static Sql, params: &[Value]) -> impl Future<Output = Result<Vec<Row>>>;

    /// Runs statements in order, on PostgreSQL without waiting in between, and
    /// says how many rows each touched.
    fn batch(&self, batch: &[Statement]) -> impl Future<Output = Result<Vec<u64>>>;

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
}

/// A statement with its parameters.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: &'static Sql,
    pub(crate) params: Vec<Value>,
}

/// Something to do in one transaction, on either database. It may run more
/// than once, until one run is committed.
pub(crate) trait Operation: Send + Sync + 'static {
    /// What it answers.
    type Output: Send + 'static;

    /// Does it.
    fn run<T: Tx>(&self, tx: &T) -> impl Future<Output = Result<Self::Output>>;
}
