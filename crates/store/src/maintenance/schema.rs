//! The schema of the database and its migrations, in both dialects.
//!
//! Migrations only go forward. All that are missing run in one transaction, so a
//! database is either at the version it had or at the newest one. A database that
//! is newer than this program, or older than the first released schema, is never
//! changed.

use crate::backend::Tx;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};

/// One step of the schema: a script for each database.
#[doc(hidden)]
#[derive(Debug)]
pub struct Migration {
    name: &'static str,
    script: Sql,
}

impl Migration {
    /// A migration with its script in both dialects.
    #[doc(hidden)]
    pub const fn new(name: &'static str, sqlite: &'static str, postgres: &'static str) -> Self {
        Self { name, script: Sql { sqlite, postgres } }
    }
}

macro_rules! migrations {
    ($($name:literal),* $(,)?) => {
        [$(Migration::new(
            $name,
            include_str!(concat!("../../migrations/", $name, ".sqlite.sql")),
            include_str!(concat!("../../migrations/", $name, ".postgres.sql")),
        )),*]
    };
}

/// All migrations, oldest first. Their number is the schema version; one that was
/// released is never changed.
pub(crate) const MIGRATIONS: &[Migration] = &migrations![
    "0001_schema",
    "0002_config_versions",
    "0003_outbox_lanes",
    "0004_outbox_lane_numbers",
    "0005_decision_expiry",
    "0006_people",
    "0007_org_tools",
    "0008_model_uses",
    "0009_harness_threads",
    "0010_notice_deliveries",
    "0011_binding_failures",
    "0012_memory",
    "0013_subagent_runs",
    "0014_thread_files",
    "0015_logins",
    "0016_send_breakers",
    "0017_workflow_claims",
    "0018_erasure_markers",
    "0019_session_work",
    "0020_webhooks",
    "0021_workflow_schedules",
    "0022_workflow_children",
    "0023_agent_harnesses",
];

/// The schema version that this program needs.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

const CREATE_TABLE: Sql = Sql {
    sqlite: "CREATE TABLE IF NOT EXISTS schema_migrations
             (version BIGINT NOT NULL, name TEXT NOT NULL)",
    // The lock serializes processes that start at the same time.
    postgres: "SELECT pg_advisory_xact_lock(7470);
               CREATE TABLE IF NOT EXISTS schema_migrations
               (version BIGINT NOT NULL, name TEXT NOT NULL)",
};
const TABLE_EXISTS: Sql = Sql {
    sqlite: "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1",
    postgres: "SELECT count(*) FROM information_schema.tables
               WHERE table_name = $1::text AND table_schema = current_schema()",
};
const READ_VERSION: Sql = sql!("SELECT coalesce(max(version), 0) FROM schema_migrations");
const RECORD_VERSION: Sql = sql!("INSERT INTO schema_migrations (version, name) VALUES (?1, ?2)");
/// Row-level security of every table that belongs to tenants; the owner of the
/// tables is subject to it too.
const GUARD: Sql =
    Sql { sqlite: "", postgres: include_str!("../../migrations/guard.postgres.sql") };

/// The table in which versions before 0.1 recorded their schema.
const UNSUPPORTED_TABLE: &str = "schema_version";

/// Reads the schema version; 0 means that there is no schema.
pub(crate) fn version(tx: &Tx) -> Result<i64> {
    check_supported(tx)?;
    if table_exists(tx, "schema_migrations")? { read_version(tx) } else { Ok(0) }
}

/// Runs the migrations that are missing and returns the version before. Either
/// all of them take effect or none.
pub(crate) fn migrate(tx: &Tx, migrations: &'static [Migration]) -> Result<i64> {
    check_supported(tx)?;
    tx.script(&CREATE_TABLE)?;
    let found = read_version(tx)?;
    check_not_newer(found, migrations.len() as i64)?;
    for (migration, version) in migrations.iter().zip(1..) {
        if version > found {
            tx.script(&migration.script)?;
            tx.execute(&RECORD_VERSION, &[Value::Int(version), migration.name.into()])?;
        }
    }
    tx.script(&GUARD)?;
    Ok(found)
}

/// A row of no version, which takes several pages.
const WRITE_PROBE: Sql = Sql {
    sqlite: "INSERT INTO schema_migrations (version, name) VALUES (0, hex(zeroblob(10000)))",
    postgres: "INSERT INTO schema_migrations (version, name) VALUES (0, 'probe')",
};
const DELETE_PROBE: Sql = sql!("DELETE FROM schema_migrations WHERE version = 0");

/// Writes something and deletes it again; fails if nothing can be written.
pub(crate) fn probe_writing(tx: &Tx) -> Result<()> {
    tx.execute(&WRITE_PROBE, &[])?;
    tx.execute(&DELETE_PROBE, &[]).map(drop)
}

const LIMIT_SIZE: Sql = Sql { sqlite: "PRAGMA max_page_count = 1", postgres: "" };
const UNLIMIT_SIZE: Sql = Sql { sqlite: "PRAGMA max_page_count = 1073741823", postgres: "" };

/// Limits the SQLite file to its present size, or removes the limit.
pub(crate) fn set_disk_full(tx: &Tx, full: bool) -> Result<()> {
    tx.script(if full { &LIMIT_SIZE } else { &UNLIMIT_SIZE })
}

/// Fails unless the schema has exactly the version that this program needs.
pub(crate) fn check_usable(found: i64) -> Result<()> {
    check_not_newer(found, SCHEMA_VERSION)?;
    if found < SCHEMA_VERSION {
        return Err(StoreError::NotMigrated { found, needed: SCHEMA_VERSION });
    }
    Ok(())
}

pub(crate) fn check_not_newer(found: i64, known: i64) -> Result<()> {
    if found > known {
        return Err(StoreError::NewerSchema { found, known });
    }
    Ok(())
}

fn check_supported(tx: &Tx) -> Result<()> {
    if table_exists(tx, UNSUPPORTED_TABLE)? {
        return Err(StoreError::UnsupportedSchema);
    }
    Ok(())
}

fn table_exists(tx: &Tx, name: &str) -> Result<bool> {
    let count = tx.first(&TABLE_EXISTS, &[name.into()])?.map_or(Ok(0), |row| row.int(0))?;
    Ok(count > 0)
}

fn read_version(tx: &Tx) -> Result<i64> {
    tx.first(&READ_VERSION, &[])?.map_or(Ok(0), |row| row.int(0))
}
