//! The state of a database, for its operator. [`assess()`] turns it into checks and
//! reads nothing else.

mod assess;

use std::time::{Duration, SystemTime};

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::Result;
use crate::{Backend, LedgerCheck, SCHEMA_VERSION, Store, database_file};

pub use assess::{CheckStatus, HealthCheck, assess};

/// The state of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseHealth {
    Unreachable { reason: String },
    Reachable(Box<DatabaseStatus>),
}

/// The state of a database that can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseStatus {
    pub kind: DatabaseKind,
    pub bytes: u64,
    /// 0 means no schema.
    pub schema_version: i64,
    pub row_security: RowSecurity,
    /// Why nothing can be written; `None` if it can, or if there is no schema.
    pub write_error: Option<String>,
    /// What is wrong with the file of a SQLite database.
    pub damage: Vec<String>,
    /// How far the database's clock and this machine's are apart.
    pub clock_skew: Duration,
    /// `None` if the schema is not at this program's version, or the file is damaged.
    pub work: Option<WorkCounts>,
}

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    Sqlite,
    Postgres,
}

/// Whether row-level security applies to the connected role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSecurity {
    /// The database does not have it.
    Unsupported,
    Enforced,
    /// The role is a superuser or has BYPASSRLS, or a table has no forced row-level security.
    Bypassed,
}

/// Counts of open work and problems. Nothing is counted beyond
/// [`WorkCounts::MAX_COUNT`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkCounts {
    /// Conversations whose lease expired long ago without another claim.
    pub abandoned_leases: u64,
    /// Conversations that have long been due without a claim.
    pub overdue_conversations: u64,
    /// For how long the oldest conversation has been due without a claim.
    pub conversation_wait: Duration,
    /// For how long the oldest pending outbox row has been due.
    pub outbox_overdue: Duration,
    /// Outbox rows with an unknown outcome.
    pub unknown_sends: u64,
    /// External calls with an unknown outcome.
    pub unknown_calls: u64,
    /// For how long the oldest unknown outcome has been unknown.
    pub oldest_unknown: Duration,
    /// Inbox and outbox rows.
    pub dead_letters: u64,
    /// Outbox rows among them that will be tried again.
    pub retried_dead_letters: u64,
    /// The age of the oldest dead letter.
    pub oldest_dead_letter: Duration,
    /// An upper bound of the events in the log.
    pub events: u64,
    pub ledger: LedgerCheck,
}

impl WorkCounts {
    /// Where counting stops.
    pub const MAX_COUNT: u64 = 10_000;
    /// Work that has been due for longer than this is late.
    pub const LATE: Duration = Duration::from_secs(60);
}

const SIZE: Sql = Sql {
    sqlite: "SELECT c.page_count * s.page_size FROM pragma_page_count() c, pragma_page_size() s",
    postgres: "SELECT pg_database_size(current_database())",
};
const BYPASSES_ROW_SECURITY: Sql = Sql {
    sqlite: "SELECT 2",
    postgres: "SELECT CASE WHEN rolsuper OR rolbypassrls OR EXISTS (
         SELECT 1 FROM pg_class c
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org' AND NOT a.attisdropped
         WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
           AND NOT (c.relrowsecurity AND c.relforcerowsecurity)) THEN 1 ELSE 0 END
       FROM pg_roles WHERE rolname = current_user",
};
/// Joined with orgs to use the index of each.
const LATE: Sql = sql!(
    "SELECT count(*) FROM (
       SELECT 1 FROM orgs o CROSS JOIN conversations c
       WHERE c.org = o.id AND c.pending_at < (SELECT now_ms()) - ?1
         AND CASE WHEN c.lease_until > 0 THEN 1 ELSE 0 END = ?2 LIMIT ?3) AS late"
);
const OVERDUE: Sql = sql!(
    "SELECT coalesce((SELECT now_ms()) - (
       SELECT min(o.due_at) FROM outbox o WHERE o.state = 'pending'), 0)"
);
const UNKNOWN_SENDS: Sql = sql!(
    "SELECT count(*) FROM (SELECT 1 FROM outbox
       WHERE state IN ('dead', 'unknown') AND state = 'unknown' LIMIT ?1) AS unknown"
);
const UNKNOWN_CALLS: Sql = sql!(
    "SELECT count(*) FROM (SELECT 1 FROM journal WHERE state = 'unknown' LIMIT ?1) AS unknown"
);
const DEAD_LETTERS: Sql = sql!(
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM inbox WHERE state = 'dead' LIMIT ?1) AS came_in)
       + (SELECT count(*) FROM (SELECT 1 FROM outbox
            WHERE state IN ('dead', 'unknown') AND state = 'dead' LIMIT ?1) AS went_out)"
);
const RETRIED_DEAD_LETTERS: Sql = sql!(
    "SELECT count(*) FROM (SELECT 1 FROM outbox
       WHERE state IN ('dead', 'unknown') AND state = 'dead' AND retry_at IS NOT NULL
       LIMIT ?1) AS retried"
);
const OLDEST_DEAD_LETTER: Sql = sql!(
    "SELECT coalesce((SELECT now_ms()) - min(due_at), 0) FROM (
       SELECT due_at FROM (SELECT due_at FROM inbox WHERE state = 'dead' LIMIT ?1) AS came_in
       UNION ALL SELECT due_at FROM (SELECT due_at FROM outbox
         WHERE state IN ('dead', 'unknown') AND state = 'dead' LIMIT ?1) AS went_out) AS dead"
);
const OLDEST_UNKNOWN: Sql = sql!(
    "SELECT coalesce((SELECT now_ms()) - min(since), 0) FROM (
       SELECT since FROM (SELECT due_at AS since FROM outbox
         WHERE state IN ('dead', 'unknown') AND state = 'unknown' LIMIT ?1) AS sends
       UNION ALL SELECT since FROM (SELECT intended_at AS since FROM journal
         WHERE state = 'unknown' LIMIT ?1) AS calls) AS unknown"
);
const CONVERSATION_WAIT: Sql = sql!(
    "SELECT coalesce((SELECT now_ms()) - min(c.pending_at), 0)
     FROM orgs o CROSS JOIN conversations c
     WHERE c.org = o.id AND c.pending_at < (SELECT now_ms()) AND c.lease_until = 0"
);
const NOW: Sql = sql!("SELECT now_ms()");
/// At most three problems; one row `ok` if there is none.
const DAMAGE: Sql = Sql { sqlite: "PRAGMA quick_check(3)", postgres: "SELECT 'ok' AS quick_check" };
/// From both ends of the log, which is an upper bound.
const EVENTS: Sql = sql!(
    "SELECT coalesce((SELECT e.id FROM events e ORDER BY e.id DESC LIMIT 1)
       - (SELECT e.id FROM events e ORDER BY e.id LIMIT 1) + 1, 0)"
);

impl DatabaseHealth {
    /// Reads the state of a database, whatever it is. A missing SQLite file is not
    /// created.
    pub async fn check(url: &str) -> Self {
        match database_status(url).await {
            Ok(status) => Self::Reachable(Box::new(status)),
            Err(error) => {
                Self::Unreachable { reason: database_file::name_remedy(url, error).to_string() }
            }
        }
    }
}

async fn database_status(url: &str) -> Result<DatabaseStatus> {
    database_file::check_exists(url)?;
    Store::connect(url)?.status().await
}

impl Store {
    /// Reads the state of this database.
    pub(crate) async fn status(&self) -> Result<DatabaseStatus> {
        let schema_version = self.schema_version().await?;
        let kind = match self.backend {
            Backend::Sqlite(_) => DatabaseKind::Sqlite,
            Backend::Postgres(_) => DatabaseKind::Postgres,
        };
        let (bytes, row_security) = self.read_all_orgs(read_basics).await?;
        let damage =
            self.read_all_orgs(read_damage).await.unwrap_or_else(|error| vec![error.to_string()]);
        let write_error = match schema_version {
            0 => None,
            _ => self.check_writable().await.err(),
        };
        let work = match schema_version {
            SCHEMA_VERSION if damage.is_empty() => Some(WorkCounts {
                ledger: self.check_ledger().await?,
                ..self.read_all_orgs(count_work).await?
            }),
            _ => None,
        };
        Ok(DatabaseStatus {
            kind,
            bytes,
            schema_version,
            row_security,
            write_error: write_error.map(|error| error.to_string()),
            damage,
            clock_skew: self.clock_skew(schema_version).await?,
            work,
        })
    }

    /// Counts open work and problems; the ledger is not checked.
    pub async fn work_counts(&self) -> Result<WorkCounts> {
        self.read_all_orgs(count_work).await
    }

    /// Compares the clocks; without a schema there is no function for the database's.
    async fn clock_skew(&self, schema_version: i64) -> Result<Duration> {
        if schema_version == 0 {
            return Ok(Duration::ZERO);
        }
        let database = self.read_all_orgs(|tx| number(tx, &NOW, &[])).await?;
        let here = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Ok(here.abs_diff(Duration::from_millis(database)))
    }
}

/// Reads what is wrong with the file; empty if nothing is.
fn read_damage(tx: &Tx) -> Result<Vec<String>> {
    let rows = tx.query(&DAMAGE, &[])?;
    let problems = rows.iter().map(|row| row.text(0).map(str::to_owned));
    problems.filter(|problem| !matches!(problem, Ok(text) if text == "ok")).collect()
}

impl Store {
    /// Returns whether row-level security applies to the connected role.
    pub fn row_security(&self) -> StoreFuture<RowSecurity> {
        self.read_all_orgs(read_row_security)
    }
}

fn read_row_security(tx: &Tx) -> Result<RowSecurity> {
    Ok(match number(tx, &BYPASSES_ROW_SECURITY, &[])? {
        0 => RowSecurity::Enforced,
        1 => RowSecurity::Bypassed,
        _ => RowSecurity::Unsupported,
    })
}

/// Reads the size of the database, and whether row-level security applies.
fn read_basics(tx: &Tx) -> Result<(u64, RowSecurity)> {
    Ok((number(tx, &SIZE, &[])?, read_row_security(tx)?))
}

fn count_work(tx: &Tx) -> Result<WorkCounts> {
    let limit = Value::Int(i64::try_from(WorkCounts::MAX_COUNT).unwrap_or(i64::MAX));
    let late = |held: u32| [WorkCounts::LATE.into(), held.into(), limit.clone()];
    let limit = std::slice::from_ref(&limit);
    Ok(WorkCounts {
        abandoned_leases: number(tx, &LATE, &late(1))?,
        overdue_conversations: number(tx, &LATE, &late(0))?,
        outbox_overdue: millis(tx, &OVERDUE, &[])?,
        conversation_wait: millis(tx, &CONVERSATION_WAIT, &[])?,
        oldest_unknown: millis(tx, &OLDEST_UNKNOWN, limit)?,
        retried_dead_letters: number(tx, &RETRIED_DEAD_LETTERS, limit)?,
        oldest_dead_letter: millis(tx, &OLDEST_DEAD_LETTER, limit)?,
        unknown_sends: number(tx, &UNKNOWN_SENDS, limit)?,
        unknown_calls: number(tx, &UNKNOWN_CALLS, limit)?,
        dead_letters: number(tx, &DEAD_LETTERS, limit)?,
        events: number(tx, &EVENTS, &[])?,
        ledger: LedgerCheck::default(),
    })
}

/// Reads a number; negative ones count as 0.
fn number(tx: &Tx, sql: &'static Sql, params: &[Value]) -> Result<u64> {
    let found = tx.first(sql, params)?.map_or(Ok(0), |row| row.int(0))?;
    Ok(u64::try_from(found).unwrap_or(0))
}

fn millis(tx: &Tx, sql: &'static Sql, params: &[Value]) -> Result<Duration> {
    number(tx, sql, params).map(Duration::from_millis)
}
