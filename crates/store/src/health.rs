//! Facts about a database, for whoever looks after it. What they mean is judged
//! in [`judge()`], which looks at nothing else.

mod judge;

use std::path::Path;
use std::time::Duration;

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::{Backend, LedgerCheck, SCHEMA_VERSION, Store};

pub use judge::{Check, Grade, judge};

/// What is known about a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// It cannot be used at all.
    Unreachable {
        /// Why.
        why: String,
    },
    /// It answers.
    Reached(Reached),
}

/// What is known about a database that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// Which kind it is.
    pub kind: DatabaseKind,
    /// How large it is.
    pub bytes: u64,
    /// The version of its schema; 0 means none.
    pub schema: i64,
    /// Whether the database itself keeps tenants apart.
    pub guard: Guard,
    /// What goes on in it; nothing if this program does not know its schema.
    pub work: Option<Work>,
}

/// A kind of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseKind {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
}

/// Whether row-level security holds for the role that is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The database has no such thing.
    None,
    /// It holds.
    Holds,
    /// The role is a superuser's, or may pass it by.
    PassedBy,
}

/// What goes on in a database. Nothing is counted beyond [`Work::MOST`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    /// Conversations whose worker has been silent for long after its lease.
    pub stuck: u64,
    /// Conversations that nobody has claimed though they have long been due.
    pub unclaimed: u64,
    /// For how long the message that should go out first has been due.
    pub outbox_overdue: Duration,
    /// Messages that may or may not have been sent.
    pub unknown_sends: u64,
    /// Calls outside whose outcome nobody knows.
    pub unknown_calls: u64,
    /// Messages that are not tried any more, in and out.
    pub dead_letters: u64,
    /// Events in the log, at most.
    pub events: u64,
    /// Whether every credit is accounted for.
    pub ledger: LedgerCheck,
}

impl Work {
    /// Where counting ends.
    pub const MOST: u64 = 10_000;
    /// What is due for longer than this is late.
    pub const LATE: Duration = Duration::from_secs(5 * 60);
}

const SIZE: Sql = Sql {
    sqlite: "SELECT c.page_count * s.page_size FROM pragma_page_count() c, pragma_page_size() s",
    postgres: "SELECT pg_database_size(current_database())",
};
const PASSED_BY: Sql = Sql {
    sqlite: "SELECT 2",
    postgres: "SELECT CASE WHEN rolsuper OR rolbypassrls THEN 1 ELSE 0 END
       FROM pg_roles WHERE rolname = current_user",
};
/// Org by org, as the index is.
const LATE: Sql = sql!(
    "SELECT count(*) FROM (
       SELECT 1 FROM orgs o CROSS JOIN conversations c
       WHERE c.org = o.id AND c.pending_at < (SELECT now_ms()) - ?1
         AND CASE WHEN c.lease_until > 0 THEN 1 ELSE 0 END = ?2 LIMIT ?3) AS late"
);
const OVERDUE: Sql = sql!(
    "SELECT coalesce((SELECT now_ms()) - (
       SELECT o.due_at FROM outbox o WHERE o.state = 'pending' ORDER BY o.due_at LIMIT 1), 0)"
);
const UNKNOWN_SENDS: Sql = sql!(
    "SELECT count(*) FROM (SELECT 1 FROM outbox
       WHERE state IN ('dead', 'unknown') AND state = 'unknown' LIMIT ?1) AS unknown"
);
const UNKNOWN_CALLS: Sql = sql!(
    "SELECT count(*) FROM (SELECT 1 FROM journal WHERE state = 'unknown' LIMIT ?1) AS unknown"
);
const DEAD: Sql = sql!(
    "SELECT (SELECT count(*) FROM (SELECT 1 FROM inbox WHERE state = 'dead' LIMIT ?1) AS came_in)
       + (SELECT count(*) FROM (SELECT 1 FROM outbox
            WHERE state IN ('dead', 'unknown') AND state = 'dead' LIMIT ?1) AS went_out)"
);
/// By both ends of the log, which is at least what is between them.
const EVENTS: Sql = sql!(
    "SELECT coalesce((SELECT e.id FROM events e ORDER BY e.id DESC LIMIT 1)
       - (SELECT e.id FROM events e ORDER BY e.id LIMIT 1) + 1, 0)"
);

impl Health {
    /// Looks at a database, whatever state it is in. A file that is not there
    /// is not made.
    pub async fn of(url: &str) -> Self {
        match reach(url).await {
            Ok(reached) => Self::Reached(reached),
            Err(error) => Self::Unreachable { why: error.to_string() },
        }
    }
}

async fn reach(url: &str) -> Result<Reached> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        if !path.is_empty() && path != ":memory:" && !Path::new(path).exists() {
            let why = format!("there is no file {path}; `ostler migrate` makes it");
            return Err(StoreError::Unavailable(why));
        }
    }
    Store::connect(url)?.reached().await
}

impl Store {
    /// What is known about this database.
    pub(crate) async fn reached(&self) -> Result<Reached> {
        let schema = self.schema_version().await?;
        let kind = match self.backend {
            Backend::Sqlite(_) => DatabaseKind::Sqlite,
            Backend::Postgres(_) => DatabaseKind::Postgres,
        };
        let (bytes, guard) = self.read(Basics).await?;
        let work = match schema {
            SCHEMA_VERSION => {
                Some(Work { ledger: self.check_ledger().await?, ..self.read(Look).await? })
            }
            _ => None,
        };
        Ok(Reached { kind, bytes, schema, guard, work })
    }
}

struct Basics;

impl Operation for Basics {
    type Output = (u64, Guard);

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<(u64, Guard)> {
        let guard = match number(tx, &PASSED_BY, &[]).await? {
            0 => Guard::Holds,
            1 => Guard::PassedBy,
            _ => Guard::None,
        };
        Ok((number(tx, &SIZE, &[]).await?, guard))
    }
}

struct Look;

impl Operation for Look {
    type Output = Work;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Work> {
        let most = Value::Int(i64::try_from(Work::MOST).unwrap_or(i64::MAX));
        let late = |held: u32| [Work::LATE.into(), held.into(), most.clone()];
        let most = std::slice::from_ref(&most);
        Ok(Work {
            stuck: number(tx, &LATE, &late(1)).await?,
            unclaimed: number(tx, &LATE, &late(0)).await?,
            outbox_overdue: Duration::from_millis(number(tx, &OVERDUE, &[]).await?),
            unknown_sends: number(tx, &UNKNOWN_SENDS, most).await?,
            unknown_calls: number(tx, &UNKNOWN_CALLS, most).await?,
            dead_letters: number(tx, &DEAD, most).await?,
            events: number(tx, &EVENTS, &[]).await?,
            ledger: LedgerCheck::default(),
        })
    }
}

/// A number that is not negative; what lies ahead counts as nothing.
async fn number<T: Tx>(tx: &T, sql: &'static Sql, params: &[Value]) -> Result<u64> {
    let found = tx.first(sql, params).await?.map_or(Ok(0), |row| row.int(0))?;
    Ok(u64::try_from(found).unwrap_or(0))
}
