//! The limit: the bare driver writes the rows of a turn into the same tables, in
//! transactions of the same size, without checks or leases.

use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use ostler_store::Store;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};

use super::fixture::{next, payload};
use crate::BenchError;

/// Connections of the store's pool.
const CONNECTIONS: usize = 16;
/// The org and the session of every row.
const ORG: [u8; 16] = [7; 16];

/// Creates a conversation and its session, with the same id.
const BEGIN: [&str; 3] = [
    "INSERT INTO orgs (id, slug, data)
     SELECT ?1, 'bare', ?3 WHERE CAST(?2 AS BYTEA) IS NOT NULL ON CONFLICT DO NOTHING",
    "INSERT INTO conversations (org, id, key) VALUES (?1, ?2, ?3)",
    "INSERT INTO sessions (org, id, conversation, thread, status, data)
     VALUES (?1, ?2, ?2, ?2, 'active', ?3)",
];
/// Updates of a turn; parameters are org, session and a text.
const UPDATES: [&str; 2] = [
    "UPDATE conversations SET out_seq = out_seq + length(?3) WHERE org = ?1 AND id = ?2",
    "UPDATE sessions SET data = ?3 WHERE org = ?1 AND id = ?2",
];
/// Inserts of a turn; parameters are org, session, id, a text and a number.
const INSERTS: [&str; 6] = [
    "INSERT INTO runs (org, session, id, data) SELECT ?1, ?2, ?3, ?4 WHERE CAST(?5 AS BIGINT) >= 0",
    "INSERT INTO outbox (org, conversation, id, payload, seq, author, epoch, due_at)
     VALUES (?1, ?2, ?3, ?4, ?5, 'agent', 0, 0)",
    "INSERT INTO reservations (org, id, data, charges, expires_at, settled_at)
     SELECT ?1, ?3, ?4, '[]', 0, ?5 WHERE CAST(?2 AS BYTEA) IS NOT NULL",
    MESSAGE,
    MESSAGE,
    EVENTS,
];
const MESSAGE: &str =
    "INSERT INTO messages (org, thread, id, data, seq) VALUES (?1, ?2, ?3, ?4, ?5)";
/// Three events in one row.
const EVENTS: &str = "INSERT INTO events (org, run, count, data, at)
     SELECT ?1, ?3, 3, '[' || CAST(?4 AS TEXT) || ',' || ?4 || ',' || ?4 || ']', ?5
     WHERE CAST(?2 AS BYTEA) IS NOT NULL";

/// Returns turns per second of bare SQLite with `sessions` turns in a transaction.
pub(crate) async fn sqlite(
    path: &Path,
    sessions: usize,
    time: Duration,
) -> Result<f64, BenchError> {
    Store::connect(&format!("sqlite:{}", path.display()))?.migrate().await?;
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -64 * 1024)?;
    connection.pragma_update(None, "wal_autocheckpoint", 8192)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    let ids: Vec<[u8; 16]> = (0..sessions).map(|_| id()).collect();
    for session in &ids {
        for sql in BEGIN {
            connection.execute(sql, (ORG, session, hex(*session)))?;
        }
    }
    let (text, start, mut turns) = (payload(), Instant::now(), 0_i64);
    while start.elapsed() < time {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for session in &ids {
            turns += 1;
            for sql in UPDATES {
                connection.prepare_cached(sql)?.execute((ORG, session, &text))?;
            }
            for (sql, at) in INSERTS.into_iter().zip(0..) {
                let seq = turns * 10 + at;
                connection.prepare_cached(sql)?.execute((ORG, session, id(), &text, seq))?;
            }
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
    }
    Ok(turns as f64 / start.elapsed().as_secs_f64())
}

/// Returns turns per second of bare PostgreSQL on as many connections as the store
/// uses, with one pipelined transaction per turn.
pub(crate) async fn postgres(
    url: &str,
    sessions: usize,
    time: Duration,
) -> Result<f64, BenchError> {
    Store::connect(url)?.migrate().await?;
    let start = Instant::now();
    let workers: Vec<_> = (0..sessions.min(CONNECTIONS))
        .map(|_| {
            let url = url.to_owned();
            tokio::spawn(async move {
                let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
                tokio::spawn(connection);
                write(&client, start, time).await
            })
        })
        .collect();
    let mut turns = 0;
    for worker in workers {
        turns += worker.await??;
    }
    Ok(f64::from(turns) / start.elapsed().as_secs_f64())
}

/// Writes turns of one session until the time is over.
async fn write(client: &Client, start: Instant, time: Duration) -> Result<u32, BenchError> {
    let (org, session) = (ORG.as_slice(), id());
    let (session, text) = (session.as_slice(), payload());
    client.batch_execute("SET ostler.scope = 'all'").await?;
    for sql in prepared(client, &BEGIN).await? {
        client.execute(&sql, &[&org, &session, &hex(id())]).await?;
    }
    let (changes, adds) = (prepared(client, &UPDATES).await?, prepared(client, &INSERTS).await?);
    let mut turns = 0_u32;
    while start.elapsed() < time {
        turns += 1;
        let ids: Vec<[u8; 16]> = adds.iter().map(|_| id()).collect();
        let ids: Vec<&[u8]> = ids.iter().map(<[u8; 16]>::as_slice).collect();
        let seqs: Vec<i64> = (0..10).map(|at| i64::from(turns) * 10 + at).collect();
        let same: [&(dyn ToSql + Sync); 3] = [&org, &session, &text];
        let params = ids.iter().zip(&seqs).map(|(id, seq)| {
            let each: [&(dyn ToSql + Sync); 5] = [&org, &session, id, &text, seq];
            each
        });
        let params: Vec<_> = params.collect();
        let changed = join_all(changes.iter().map(|sql| client.execute(sql, &same)));
        let added =
            join_all(adds.iter().zip(&params).map(|(sql, params)| client.execute(sql, params)));
        let rows = join(changed, added);
        let all = join(client.batch_execute("BEGIN"), rows);
        let ((begun, (changed, added)), done) = join(all, client.batch_execute("COMMIT")).await;
        begun?;
        changed.into_iter().chain(added).collect::<Result<Vec<u64>, _>>()?;
        done?;
    }
    Ok(turns)
}

async fn prepared<const N: usize>(
    client: &Client,
    all: &[&str; N],
) -> Result<Vec<Statement>, BenchError> {
    let mut prepared = Vec::new();
    for sql in all {
        prepared.push(client.prepare(&sql.replace('?', "$")).await?);
    }
    Ok(prepared)
}

fn id() -> [u8; 16] {
    next().to_be_bytes()
}

fn hex(id: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(id))
}
