//! PostgreSQL: a pool of connections, a transaction for each write.

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use std::time::Duration;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, IsolationLevel, NoTls};

use super::sql::Sql;
use super::value::{Row, Value};
use super::{Operation, Statement, Tx};
use crate::error::{Result, StoreError};

/// Connections to the server.
const CONNECTIONS: usize = 16;
/// How long a caller waits for one of them.
const WAIT: Duration = Duration::from_secs(10);
/// Statements that are sent without waiting for each other.
const TOGETHER: usize = 24;
/// How often a write that lost against another is tried.
const ATTEMPTS: u32 = 5;

/// A PostgreSQL database.
#[derive(Debug, Clone)]
pub(crate) struct Postgres {
    pool: Pool,
}

impl Postgres {
    /// Prepares to connect; the first operation does.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let mut config: Config = url.parse().map_err(|_| StoreError::BadUrl)?;
        config.application_name("ostler").connect_timeout(WAIT);
        // Nothing of ours runs or waits this long; what does has gone wrong.
        config.options(
            "-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=30s",
        );
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method });
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .timeouts(Timeouts { wait: Some(WAIT), create: Some(WAIT), recycle: Some(WAIT) })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { pool })
    }

    /// Runs an operation in a transaction; again if another one got in its way.
    ///
    /// A connection that is lost during the commit leaves open whether it
    /// happened; the caller learns that the database could not be reached, and
    /// repeats what it did, which every operation here can bear.
    pub(crate) async fn write<O: Operation>(&self, operation: O) -> Result<O::Output> {
        let mut attempt = 1;
        loop {
            match self.try_write(&operation).await {
                Err(StoreError::Busy) if attempt < ATTEMPTS => attempt += 1,
                result => return result,
            }
        }
    }

    async fn try_write<O: Operation>(&self, operation: &O) -> Result<O::Output> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        let output = operation.run(&PgTx(&transaction)).await?;
        transaction.commit().await?;
        Ok(output)
    }

    /// Runs an operation that reads, on one snapshot.
    pub(crate) async fn read<O: Operation>(&self, operation: O) -> Result<O::Output> {
        let mut client = self.pool.get().await?;
        let one_snapshot = IsolationLevel::RepeatableRead;
        let builder = client.build_transaction().read_only(true).isolation_level(one_snapshot);
        let transaction = builder.start().await?;
        let output = operation.run(&PgTx(&transaction)).await?;
        transaction.commit().await?;
        Ok(output)
    }
}

struct PgTx<'t>(&'t deadpool_postgres::Transaction<'t>);

fn as_params(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl Tx for PgTx<'_> {
    async fn execute(&self, sql: &'static Sql, params: &[Value]) -> Result<u64> {
        let statement = self.0.prepare_cached(sql.postgres).await?;
        Ok(self.0.execute(&statement, &as_params(params)).await?)
    }

    async fn query(&self, sql: &'static Sql, params: &[Value]) -> Result<Vec<Row>> {
        let statement = self.0.prepare_cached(sql.postgres).await?;
        let rows = self.0.query(&statement, &as_params(params)).await?;
        rows.iter().map(owned).collect()
    }

    async fn batch(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        let mut prepared = Vec::with_capacity(batch.len());
        for statement in batch {
            prepared.push(self.0.prepare_cached(statement.sql.postgres).await?);
        }
        let params: Vec<_> = batch.iter().map(|statement| as_params(&statement.params)).collect();
        let mut running =
            prepared.iter().zip(&params).map(|(sql, params)| self.0.execute(sql, params));
        // Polled together they are sent together, and the server keeps their
        // order. A few at a time: these are polled one after the other.
        let mut touched = Vec::with_capacity(batch.len());
        while touched.len() < batch.len() {
            let some = running.by_ref().take(TOGETHER);
            for result in futures_util::future::join_all(some).await {
                touched.push(result?);
            }
        }
        Ok(touched)
    }

    async fn script(&self, sql: &'static Sql) -> Result<()> {
        Ok(self.0.batch_execute(sql.postgres).await?)
    }
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
