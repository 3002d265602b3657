//! The limit: bare SQLite stores a step and the progress of its workflow in one durable
//! commit, in the same tables, without checks, leases or events.

use std::path::Path;
use std::time::{Duration, Instant};

use ostler_store::Store;
use rusqlite::Connection;

use crate::BenchError;

const ORG: [u8; 16] = [7; 16];
const BEGIN: [&str; 2] = [
    "INSERT INTO orgs (id, slug, data) VALUES (?1, 'bare', '{}')",
    "INSERT INTO workflows (org, id, name, status, definition, input, state, created_at, updated_at)
     VALUES (?1, ?1, 'bare', 'running', '{}', '{}', '{}', 0, 0)",
];
const PROGRESS: &str =
    "UPDATE workflows SET state = ?2, updated_at = ?3 WHERE org = ?1 AND id = ?1";
const STEP: &str = "INSERT INTO workflow_tasks (org, workflow, task, result, record, updated_at)
     VALUES (?1, ?1, ?2, ?3, ?3, 0)";
/// About what the progress of a chain of 100 steps takes.
const STATE_BYTES: usize = 3000;

/// Returns steps per second that bare SQLite commits, one at a time.
pub(super) async fn steps_per_second(path: &Path, time: Duration) -> Result<f64, BenchError> {
    Store::connect(&format!("sqlite:{}", path.display()))?.migrate().await?;
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    for sql in BEGIN {
        connection.execute(sql, [ORG])?;
    }
    let (start, mut steps) = (Instant::now(), 0_i64);
    let state = "x".repeat(STATE_BYTES);
    while start.elapsed() < time {
        steps += 1;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        connection.prepare_cached(PROGRESS)?.execute((ORG, &state, steps))?;
        connection.prepare_cached(STEP)?.execute((ORG, steps.to_string(), "the result"))?;
        connection.prepare_cached("COMMIT")?.execute([])?;
    }
    Ok(steps as f64 / start.elapsed().as_secs_f64())
}
