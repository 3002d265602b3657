//! Transactions on PostgreSQL.

use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use ostler_domain::id::OrgId;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};

use super::connection::Connection;
use super::coroutine::Waiter;
use crate::backend::bulk::EachRow;
use crate::backend::sql::Sql;
use crate::backend::value::{self, Row, Value};
use crate::backend::{PIPELINE_LENGTH, Scope, Statement};
use crate::error::{Result, StoreError};

/// How long the server may be silent; its own limits are shorter.
const SILENCE: Duration = Duration::from_secs(45);

/// A transaction. `BEGIN` is sent together with the first statement.
pub(crate) struct PgTx<'c> {
    waiter: &'c Waiter<'c>,
    connection: &'c Connection,
    begin: String,
    state: Cell<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    NotBegun,
    Open,
    Over,
    /// The server did not answer; the connection cannot be used again.
    Broken,
}

type PgResult<T> = std::result::Result<T, tokio_postgres::Error>;

impl<'c> PgTx<'c> {
    pub(super) fn new(
        waiter: &'c Waiter<'c>,
        connection: &'c Connection,
        begin: &str,
        scope: Scope,
    ) -> Self {
        let hex = |org: OrgId| format!("{:032x}", org.as_u128());
        let (scope, others) = match scope {
            Scope::Org(org) => (hex(org), None),
            Scope::OrgAndOthers(org, others) => {
                let others: Vec<String> = others.into_iter().map(hex).collect();
                (hex(org), Some(others.join(",")))
            }
            Scope::All => ("all".into(), None),
        };
        let mut begin = format!("{begin}; SET LOCAL ostler.scope = '{scope}'");
        if let Some(others) = others {
            begin.push_str(&format!("; SET LOCAL ostler.other_orgs = '{others}'"));
        }
        Self { waiter, connection, begin, state: Cell::new(State::NotBegun) }
    }

    /// Commits the transaction, or rolls it back.
    pub(super) fn end(&self, commit: bool) -> Result<()> {
        match self.state.get() {
            State::Open => {
                let end = if commit { "COMMIT" } else { "ROLLBACK" };
                self.wait(self.connection.client.batch_execute(end))
            }
            State::NotBegun | State::Over => Ok(()),
            State::Broken => Err(silent()),
        }
    }

    /// Waits for the server.
    fn wait<T>(&self, running: impl Future<Output = PgResult<T>>) -> Result<T> {
        match self.waiter.wait(timeout(SILENCE, running)) {
            Ok(result) => Ok(result?),
            Err(_) => {
                self.state.set(State::Broken);
                Err(silent())
            }
        }
    }

    /// Sends statements, with `BEGIN` before them if the transaction has not begun.
    fn send<T>(&self, statements: impl Future<Output = PgResult<T>>) -> Result<T> {
        if self.state.replace(State::Open) != State::NotBegun {
            return self.wait(statements);
        }
        let begin = self.connection.client.batch_execute(&self.begin);
        self.wait(async {
            // Polled in this order, so sent in this order.
            let (begun, done) = futures_util::future::join(begin, statements).await;
            begun?;
            done
        })
    }

    fn prepared(&self, text: &'static str) -> Result<tokio_postgres::Statement> {
        let key = (text.as_ptr(), text.len());
        if let Some(known) = self.connection.statements.borrow().get(&key) {
            return Ok(known.clone());
        }
        let new = self.wait(self.connection.client.prepare(text))?;
        self.connection.statements.borrow_mut().insert(key, new.clone());
        Ok(new)
    }

    pub(crate) fn execute(&self, text: &'static str, params: &[Value]) -> Result<u64> {
        let statement = self.prepared(text)?;
        self.send(self.connection.client.execute(&statement, &as_params(params)))
    }

    pub(crate) fn query(&self, text: &'static str, params: &[Value]) -> Result<Vec<Row>> {
        let statement = self.prepared(text)?;
        let rows = self.send(self.connection.client.query(&statement, &as_params(params)))?;
        rows.iter().map(owned).collect()
    }

    pub(crate) fn query_in_order(
        &self,
        queries: &[(&'static Sql, &[Value])],
    ) -> Result<Vec<Vec<Row>>> {
        // All are prepared before one is sent; otherwise a cached statement could
        // overtake one that has to be prepared first.
        let prepared = queries.iter().map(|(sql, _)| self.prepared(sql.postgres));
        let prepared = prepared.collect::<Result<Vec<_>>>()?;
        let params: Vec<_> = queries.iter().map(|(_, params)| as_params(params)).collect();
        let client = &self.connection.client;
        let running = prepared.iter().zip(&params).map(|(sql, params)| client.query(sql, params));
        let answers = self.send(in_order(running))?;
        answers.iter().map(|rows| rows.iter().map(owned).collect()).collect()
    }

    pub(crate) fn batch(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        let prepared = self.checked(batch)?;
        let params: Vec<_> = batch.iter().map(|statement| as_params(&statement.params)).collect();
        let client = &self.connection.client;
        let mut running =
            prepared.iter().zip(&params).map(|(sql, params)| client.execute(sql, params));
        // Polled together, so pipelined; the server keeps their order. A few at a
        // time, because each poll visits all of them.
        let mut touched = Vec::with_capacity(batch.len());
        while touched.len() < batch.len() {
            let chunk = running.by_ref().take(PIPELINE_LENGTH);
            touched.extend(self.send(in_order(chunk))?);
        }
        Ok(touched)
    }

    pub(crate) fn finish(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        if batch.len() > PIPELINE_LENGTH {
            return self.batch(batch);
        }
        let prepared = self.checked(batch)?;
        let params: Vec<_> = batch.iter().map(|statement| as_params(&statement.params)).collect();
        let client = &self.connection.client;
        let running = prepared.iter().zip(&params).map(|(sql, params)| client.execute(sql, params));
        let all = in_order(running);
        let result = self.send(async {
            // If a statement failed, the server treats this as a rollback.
            let (touched, committed) =
                futures_util::future::join(all, client.batch_execute("COMMIT")).await;
            let touched = touched?;
            committed?;
            Ok(touched)
        });
        if self.state.get() == State::Open {
            self.state.set(State::Over);
        }
        result
    }

    pub(crate) fn script(&self, text: &str) -> Result<()> {
        self.send(self.connection.client.batch_execute(text))
    }

    /// The rows arrive as fast as they are taken; the server may be silent between two of
    /// them as long as between two statements.
    pub(crate) fn stream(&self, query: &str, params: &[Value], each: EachRow<'_>) -> Result<()> {
        let client = &self.connection.client;
        let statement = self.wait(client.prepare(query))?;
        let running = client.query_raw(&statement, as_params(params));
        let mut rows = pin!(self.send(running)?);
        while let Some(row) = self.wait(rows.try_next())? {
            each(owned(&row)?)?;
        }
        Ok(())
    }

    pub(crate) fn execute_rows(&self, statement: &str, rows: &[Vec<Value>]) -> Result<()> {
        let client = &self.connection.client;
        let statement = self.wait(client.prepare(statement))?;
        for rows in rows.chunks(PIPELINE_LENGTH) {
            let params: Vec<_> = rows.iter().map(|row| as_params(row)).collect();
            let running = params.iter().map(|params| client.execute(&statement, params));
            self.send(in_order(running))?;
        }
        Ok(())
    }

    /// Prepares statements and checks their parameters. A statement that failed
    /// only on this side would be missing in the commit, which is sent with the
    /// others.
    fn checked(&self, batch: &[Statement]) -> Result<Vec<tokio_postgres::Statement>> {
        let mut prepared = Vec::with_capacity(batch.len());
        for statement in batch {
            let known = self.prepared(statement.sql.postgres)?;
            if !value::fit(&statement.params, known.params()) {
                return Err(StoreError::Backend(
                    "the parameters of a statement have wrong types".into(),
                ));
            }
            prepared.push(known);
        }
        Ok(prepared)
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable("the server did not answer in time".into())
}

fn as_params(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Runs all futures and returns all results or the first error.
async fn in_order<T, F: Future<Output = PgResult<T>>>(
    running: impl Iterator<Item = F>,
) -> PgResult<Vec<T>> {
    futures_util::future::join_all(running).await.into_iter().collect()
}

fn owned(row: &tokio_postgres::Row) -> Result<Row> {
    let value = |at: usize, ty: &Type| -> Result<Value> {
        Ok(match *ty {
            Type::INT8 => row.try_get::<_, Option<i64>>(at)?.into(),
            Type::INT4 => row.try_get::<_, Option<i32>>(at)?.map(i64::from).into(),
            Type::TEXT => row.try_get::<_, Option<String>>(at)?.into(),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at)?.map_or(Value::Null, Value::Bytes),
            _ => return Err(StoreError::Backend(format!("a column has the type {ty}"))),
        })
    };
    let columns = row.columns().iter().enumerate();
    Ok(Row(columns.map(|(at, column)| value(at, column.type_())).collect::<Result<_>>()?))
}
