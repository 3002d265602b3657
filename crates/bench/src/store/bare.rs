//! The limit: the same bytes written by the bare driver, in transactions of
//! the same size.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio_postgres::NoTls;

use super::world::payload;
use crate::BenchError;

/// Rows that a turn inserts or changes: the fence, session, run, two messages,
/// one to send, three events, and the conversation again.
const ROWS: usize = 10;
/// Connections that the store uses at most.
const CONNECTIONS: usize = 16;

/// Turns a second that bare SQLite writes, `sessions` of them in a transaction.
pub(crate) fn sqlite(path: &Path, sessions: usize, time: Duration) -> Result<f64, BenchError> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, data TEXT NOT NULL)")?;
    let (data, start, mut turns) = (payload(), Instant::now(), 0_u32);
    while start.elapsed() < time {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for _ in 0..sessions * ROWS {
            connection.prepare_cached("INSERT INTO rows (data) VALUES (?1)")?.execute([&data])?;
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        turns += sessions as u32;
    }
    Ok(f64::from(turns) / start.elapsed().as_secs_f64())
}

/// Turns a second that bare PostgreSQL writes on as many connections as the
/// store would use, each turn one statement of so many rows.
pub(crate) async fn postgres(
    url: &str,
    sessions: usize,
    time: Duration,
) -> Result<f64, BenchError> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    client
        .batch_execute("CREATE TABLE rows (id BIGINT GENERATED ALWAYS AS IDENTITY, data TEXT)")
        .await?;
    let start = Instant::now();
    let workers: Vec<_> = (0..sessions.min(CONNECTIONS))
        .map(|_| {
            let url = url.to_owned();
            tokio::spawn(async move {
                let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
                tokio::spawn(connection);
                let insert =
                    client.prepare("INSERT INTO rows (data) SELECT unnest($1::text[])").await?;
                let rows: Vec<String> = (0..ROWS).map(|_| payload()).collect();
                let mut turns = 0_u32;
                while start.elapsed() < time {
                    client.execute(&insert, &[&rows]).await?;
                    turns += 1;
                }
                Ok::<_, BenchError>(turns)
            })
        })
        .collect();
    let mut turns = 0;
    for worker in workers {
        turns += worker.await??;
    }
    Ok(f64::from(turns) / start.elapsed().as_secs_f64())
}
