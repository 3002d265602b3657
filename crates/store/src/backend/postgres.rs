//! PostgreSQL: a pool of connections, a transaction for each write.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime, Timeouts};
use ostler_domain::id::OrgId;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, NoTls};

use super::sql::Sql;
use super::value::{self, Row, Value};
use super::{Operation, Scope, Statement, TOGETHER, Tx};
use crate::error::{Result, StoreError};

/// Connections to the server.
const CONNECTIONS: usize = 16;
/// How long a caller waits for one of them.
const WAIT: Duration = Duration::from_secs(10);
/// How often a write that lost against another is tried.
const ATTEMPTS: u32 = 5;

/// Nothing of ours runs or waits this long; what does has gone wrong.
const OPTIONS: &str = "-c statement_timeout=30s -c lock_timeout=10s \
     -c idle_in_transaction_session_timeout=30s";

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
        // What the address says comes last and counts.
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

    /// Runs an operation in a transaction; again if another one got in its way.
    ///
    /// A connection that is lost during the commit leaves open whether it
    /// happened. The caller learns that the database could not be reached, and
    /// may repeat what it did: what must not happen twice carries an id or a
    /// reference by which a repeat is told from something new, and says so.
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
        let begin = if O::FLUSHED { "BEGIN" } else { "BEGIN; SET LOCAL synchronous_commit = off" };
        PgTx::new(self.pool.get().await?, begin, operation.scope()).run(operation).await
    }

    /// Runs an operation that reads, on one snapshot.
    pub(crate) async fn read<O: Operation>(&self, operation: O) -> Result<O::Output> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        PgTx::new(self.pool.get().await?, begin, operation.scope()).run(&operation).await
    }
}

/// A transaction. It begins with its first statement, in the same round trip.
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
        let (scope, also) = match scope {
            Scope::Org(org) => (hex(org), None),
            Scope::And(org, other) => (hex(org), Some(hex(other))),
            Scope::All => ("all".into(), None),
        };
        let mut begin = format!("{begin}; SET LOCAL ostler.scope = '{scope}'");
        if let Some(also) = also {
            begin.push_str(&format!("; SET LOCAL ostler.also = '{also}'"));
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

    /// Sends statements and begins the transaction before them if it has not
    /// begun; all of it travels together.
    async fn with_begin<T>(
        &self,
        statements: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        if self.state.swap(OPEN, Ordering::Relaxed) != NOT_BEGUN {
            return Ok(statements.await?);
        }
        let begin = self.client()?.batch_execute(&self.begin);
        // Polled in this order, they are sent in this order.
        let (begun, done) = futures_util::future::join(begin, statements).await;
        begun?;
        Ok(done?)
    }
}

/// A transaction that was given up in the middle takes its connection along,
/// which ends it.
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
        // All are prepared before one is sent; otherwise one that is known
        // could overtake one that is not.
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
        // Polled together they are sent together, and the server keeps their
        // order. A few at a time: these are polled one after the other.
        let mut touched = Vec::with_capacity(batch.len());
        while touched.len() < batch.len() {
            let some = running.by_ref().take(TOGETHER);
            touched.extend(self.with_begin(in_order(some)).await?);
        }
        Ok(touched)
    }

    async fn finish(&self, batch: &[Statement]) -> Result<Vec<u64>> {
        if batch.len() > TOGETHER {
            return self.batch(batch).await;
        }
        let prepared = self.prepare(batch).await?;
        let params: Vec<_> = batch.iter().map(|statement| as_params(&statement.params)).collect();
        let client = self.client()?;
        let running = prepared.iter().zip(&params).map(|(sql, params)| client.execute(sql, params));
        let all = in_order(running);
        let committed = async {
            // If a statement failed, the server takes this for a rollback.
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
    /// Prepares statements and makes sure that each can be sent. One that
    /// failed on this side only would be missing from what is committed, since
    /// the commit travels with the others.
    async fn prepare(&self, batch: &[Statement]) -> Result<Vec<tokio_postgres::Statement>> {
        let client = self.client()?;
        let mut prepared = Vec::with_capacity(batch.len());
        for statement in batch {
            let known = client.prepare_cached(statement.sql.postgres).await?;
            if !value::fit(&statement.params, known.params()) {
                return Err(StoreError::Backend("a statement has other parameters".into()));
            }
            prepared.push(known);
        }
        Ok(prepared)
    }
}

/// Sends all, and answers with all results or the first failure.
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
