//! PostgreSQL: a pool of connections, a transaction for each write.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use ostler_domain::id::OrgId;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, NoTls};

use super::sql::Sql;
use super::value::{self, Row, Value};
use super::{Operation, PIPELINE_LENGTH, Scope, Statement, Tx};
use crate::error::{Result, StoreError};

const CONNECTIONS: usize = 16;
/// How long a caller waits for a connection.
const WAIT: Duration = Duration::from_secs(10);
/// How often a write is tried that conflicts with another.
const ATTEMPTS: u32 = 5;

/// Limits that no correct statement reaches.
const OPTIONS: &str = "-c statement_timeout=30s -c lock_timeout=10s \
     -c idle_in_transaction_session_timeout=30s";

/// A PostgreSQL database.
#[derive(Debug, Clone)]
pub(crate) struct Postgres {
    pool: Pool,
}

impl Postgres {
    /// Creates the pool; the first operation connects.
    pub(crate) fn open(url: &str) -> Result<Self> {
        let mut config: Config = url.parse().map_err(|_| StoreError::InvalidUrl)?;
        config.application_name("ostler").connect_timeout(WAIT);
        // Options of the address come last and override these.
        let options = format!("{OPTIONS} {}", config.get_options().unwrap_or_default());
        config.options(options.trim_end());
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

    /// Runs an operation in a transaction, and again if it conflicts with another.
    ///
    /// If the connection is lost during the commit, its outcome is unknown. The
    /// caller gets [`StoreError::Unavailable`] and may repeat the operation: one that
    /// must not happen twice has an id or a reference that identifies a repeat.
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
        let begin = if O::DURABLE { "BEGIN" } else { "BEGIN; SET LOCAL synchronous_commit = off" };
        PgTx::new(self.pool.get().await?, begin, operation.scope()).run(operation).await
    }

    /// Runs an operation that reads, in one snapshot.
    pub(crate) async fn read<O: Operation>(&self, operation: O) -> Result<O::Output> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        PgTx::new(self.pool.get().await?, begin, operation.scope()).run(&operation).await
    }
}

/// A transaction. `BEGIN` is sent together with the first statement.
struct PgTx {
    client: Option<Object>,
    begin: String,
    state: AtomicU8,
}

const NOT_BEGUN: u8 = 0;
const OPEN: u8 = 1;
const OVER: u8 = 2;

impl PgTx {
    fn new(client: Object, begin: &str, scope: Scope) -> Self {
        let hex = |org: OrgId| format!("{:032x}", org.as_u128());
        let (scope, payer) = match scope {
            Scope::Org(org) => (hex(org), None),
            Scope::OrgAndPayer(org, other) => (hex(org), Some(hex(other))),
            Scope::All => ("all".into(), None),
        };
        let mut begin = format!("{begin}; SET LOCAL ostler.scope = '{scope}'");
        if let Some(payer) = payer {
            begin.push_str(&format!("; SET LOCAL ostler.other_orgs = '{payer}'"));
        }
        Self { client: Some(client), begin, state: AtomicU8::new(NOT_BEGUN) }
    }

    async fn run<O: Operation>(mut self, operation: &O) -> Result<O::Output> {
        let result = operation.run(&self).await;
        if *self.state.get_mut() == OPEN {
            let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
            self.client()?.batch_execute(end).await?;
        }
        *self.state.get_mut() = OVER;
        result
    }

    fn client(&self) -> Result<&Object> {
        self.client.as_ref().ok_or_else(|| StoreError::Unavailable("the connection is gone".into()))
    }

    /// Sends statements, with `BEGIN` before them if the transaction has not begun.
    async fn with_begin<T>(
        &self,
        statements: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        if self.state.swap(OPEN, Ordering::Relaxed) != NOT_BEGUN {
            return Ok(statements.await?);
        }
        let begin = self.client()?.batch_execute(&self.begin);
        // Polled in this order, so sent in this order.
        let (begun, done) = futures_util::future::join(begin, statements).await;
        begun?;
        Ok(done?)
    }
}

/// Closes the connection of a transaction that was dropped halfway, which ends it.
impl Drop for PgTx {
    fn drop(&mut self) {
        if *self.state.get_mut() == OPEN
            && let Some(client) = self.client.take()
        {
            drop(Object::take(client));
        }
    }
}

fn as_params(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl Tx for PgTx {
    async fn execute(&self, sql: &'static Sql, params: &[Value]) -> Result<u64> {
        let client = self.client()?;
        let statement = client.prepare_cached(sql.postgres).await?;
        self.with_begin(client.execute(&statement, &as_params(params))).await
    }

    async fn query(&self, sql: &'static Sql, params: &[Value]) -> Result<Vec<Row>> {
        let client = self.client()?;
        let statement = client.prepare_cached(sql.postgres).await?;
        let rows = self.with_begin(client.query(&statement, &as_params(params))).await?;
        rows.iter().map(owned).collect()
    }

    async fn query_in_order(&self, queries: &[(&'static Sql, &[Value])]) -> Result<Vec<Vec<Row>>> {
        let client = self.client()?;
        // All are prepared before one is sent; otherwise a cached statement could
        // overtake one that has to be prepared first.
        let mut prepared = Vec::with_capacity(queries.len());
        for (sql, _) in queries {
            prepared.push(client.prepare_cached(sql.postgres).await?);
        }
        let params: Vec<_> = queries.iter().map(|(_, params)| as_params(params)).collect();
        let running = prepared.iter().zip(&params).map(|(sql, params)| client.query(sql, params));
        let answers = self.with_begin(in_order(running)).await?;
        answers.iter().map(|rows| rows.iter().map(owned).collect()).collect()
    }

    async fn batch(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        let prepared = self.prepare(batch).await?;
        let params: Vec<_> = batch.iter().map(|statement| as_params(&statement.params)).collect();
        let client = self.client()?;
        let mut running =
            prepared.iter().zip(&params).map(|(sql, params)| client.execute(sql, params));
        // Polled together, so pipelined; the server keeps their order. A few at a
        // time, because each poll visits all of them.
        let mut touched = Vec::with_capacity(batch.len());
        while touched.len() < batch.len() {
            let chunk = running.by_ref().take(PIPELINE_LENGTH);
            touched.extend(self.with_begin(in_order(chunk)).await?);
        }
        Ok(touched)
    }

    async fn finish(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        if batch.len() > PIPELINE_LENGTH {
            return self.batch(batch).await;
        }
        let prepared = self.prepare(batch).await?;
        let params: Vec<_> = batch.iter().map(|statement| as_params(&statement.params)).collect();
        let client = self.client()?;
        let running = prepared.iter().zip(&params).map(|(sql, params)| client.execute(sql, params));
        let all = in_order(running);
        let committed = async {
            // If a statement failed, the server treats this as a rollback.
            let (touched, committed) =
                futures_util::future::join(all, client.batch_execute("COMMIT")).await;
            let touched = touched?;
            committed?;
            Ok(touched)
        };
        let result = self.with_begin(committed).await;
        self.state.store(OVER, Ordering::Relaxed);
        result
    }

    async fn script(&self, sql: &'static Sql) -> Result<()> {
        let client = self.client()?;
        self.with_begin(client.batch_execute(sql.postgres)).await
    }
}

impl PgTx {
    /// Prepares statements and checks their parameters. A statement that failed
    /// only on this side would be missing in the commit, which is sent with the
    /// others.
    async fn prepare(&self, batch: &[Statement]) -> Result<Vec<tokio_postgres::Statement>> {
        let client = self.client()?;
        let mut prepared = Vec::with_capacity(batch.len());
        for statement in batch {
            let cached = client.prepare_cached(statement.sql.postgres).await?;
            if !value::fit(&statement.params, cached.params()) {
                return Err(StoreError::Backend(
                    "the parameters of a statement have wrong types".into(),
                ));
            }
            prepared.push(cached);
        }
        Ok(prepared)
    }
}

/// Runs all futures and returns all results or the first error.
async fn in_order<T, F: Future<Output = std::result::Result<T, tokio_postgres::Error>>>(
    running: impl Iterator<Item = F>,
) -> std::result::Result<Vec<T>, tokio_postgres::Error> {
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
