//! Migrations: the schema, step by step, in both dialects.

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// The steps of a schema, each a file for either database.
macro_rules! steps {
    ($($name:literal),* $(,)?) => {
        [$(Sql {
            sqlite: include_str!(concat!("migrations/", $name, ".sqlite.sql")),
            postgres: include_str!(concat!("migrations/", $name, ".postgres.sql")),
        }),*]
    };
}

/// Every step, oldest first; a step is never changed once it has landed.
const STEPS: &[Sql] = &steps![
    "0001_core",
    "0002_records",
    "0003_reference_codes",
    "0004_refuse",
    "0005_ledger",
    "0006_people",
    "0007_settings",
    "0008_knowledge",
    "0009_blobs",
    "0010_approvals",
    "0011_notices",
    "0012_journal",
    "0013_retention",
    "0014_grants",
    "0015_personal",
    "0016_packed_events",
    "0017_dispatch",
    "0018_sessions",
    "0019_delivery",
    "0020_library_stamp",
    "0021_answers",
    "0022_shared_work",
    "0023_messages",
    "0024_workflows",
    "0025_answered",
    "0026_counters"
];

/// The version of the schema that this program needs.
pub const NEEDED: i64 = STEPS.len() as i64;

const CREATE: Sql = Sql {
    sqlite: "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)",
    // The lock lets one of several processes that start together go first.
    postgres: "SELECT pg_advisory_xact_lock(7470);
               CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)",
};
const EXISTS: Sql = Sql {
    sqlite: "SELECT count(*) FROM sqlite_master WHERE name = 'schema_version'",
    postgres: "SELECT count(*) FROM information_schema.tables
               WHERE table_name = 'schema_version' AND table_schema = current_schema()",
};
const FOUND: Sql = sql!("SELECT coalesce(max(version), 0) FROM schema_version");
/// Every table of tenants is held to the scope of the transaction, by a policy
/// that its owner is subject to as well.
const GUARD: Sql = Sql { sqlite: "", postgres: include_str!("migrations/guard.postgres.sql") };
const RECORD: Sql = sql!("INSERT INTO schema_version (version) VALUES (?1)");

/// Reads the version of the schema; 0 means that there is none.
pub(crate) struct ReadVersion;

impl Operation for ReadVersion {
    type Output = i64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<i64> {
        let exists = tx.first(&EXISTS, &[]).await?.map(|row| row.int(0)).transpose()?;
        if exists.unwrap_or(0) == 0 {
            return Ok(0);
        }
        tx.first(&FOUND, &[]).await?.map_or(Ok(0), |row| row.int(0))
    }
}

/// Brings the schema up to a version and says from which one it came. All steps
/// happen, or none.
pub(crate) struct Migrate {
    /// The version to reach; [`NEEDED`] but in tests.
    pub(crate) to: i64,
}

impl Operation for Migrate {
    type Output = i64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<i64> {
        tx.script(&CREATE).await?;
        let found = tx.first(&FOUND, &[]).await?.map_or(Ok(0), |row| row.int(0))?;
        check_not_newer(found)?;
        for (step, version) in STEPS.iter().zip(1..) {
            if version > found && version <= self.to {
                tx.script(step).await?;
                tx.execute(&RECORD, &[Value::Int(version)]).await?;
            }
        }
        tx.script(&GUARD).await?;
        Ok(found)
    }
}

/// Lets the file grow no further than it is, or as far as it likes.
pub(crate) struct Room {
    pub(crate) full: bool,
}

const NO_ROOM: Sql = Sql { sqlite: "PRAGMA max_page_count = 1", postgres: "" };
const ROOM: Sql = Sql { sqlite: "PRAGMA max_page_count = 1073741823", postgres: "" };

impl Operation for Room {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        tx.script(if self.full { &NO_ROOM } else { &ROOM }).await
    }
}

/// Whether this program understands a schema of this version.
pub(crate) fn check_usable(found: i64) -> Result<()> {
    check_not_newer(found)?;
    if found < NEEDED {
        return Err(StoreError::NotMigrated { found, needed: NEEDED });
    }
    Ok(())
}

fn check_not_newer(found: i64) -> Result<()> {
    if found > NEEDED {
        return Err(StoreError::NewerSchema { found, known: NEEDED });
    }
    Ok(())
}
