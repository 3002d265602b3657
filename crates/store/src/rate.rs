//! Rate counters: how much was done in a window of time, and no more than the
//! limit, however many count at once.

use ostler_domain::id::OrgId;
use ostler_domain::time::{Timestamp, Window};

use crate::backend::sql::Sql;
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// What was counted in the window that is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    /// So much.
    pub used: u64,
    /// When the window ends and the count begins anew.
    pub resets_at: Timestamp,
}

/// Whether something was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// It was, and this is the count with it.
    Within(Used),
    /// It would have passed the limit; this is the count without it.
    Exceeded(Used),
}

/// Adds only what stays within the limit; a new row is no exception. On PostgreSQL
/// what turns are about to add is not waited for.
const COUNT: Sql = Sql {
    sqlite: "INSERT INTO rate_counters (org, what, span, ends_at, used)
       SELECT ?1, ?2, ?3, (now_ms() / ?3 + 1) * ?3, ?4 WHERE ?4 <= ?5
       ON CONFLICT (org, what, span, ends_at)
       DO UPDATE SET used = rate_counters.used + excluded.used
       WHERE rate_counters.used <= ?5 - excluded.used
       RETURNING used, ends_at",
    postgres: "WITH w AS (SELECT (now_ms() / $3::bigint + 1) * $3::bigint AS ends_at),
       beside AS (
         SELECT coalesce(sum(c.used), 0)::bigint AS used FROM rate_counters c JOIN w
           ON c.org = $1 AND c.what = $2 AND c.span = $3::bigint AND c.ends_at = w.ends_at
              AND c.part > 0)
       INSERT INTO rate_counters (org, what, span, ends_at, part, used)
       SELECT $1, $2, $3::bigint, w.ends_at, 0, $4::bigint
       FROM w, beside WHERE $4::bigint <= $5::bigint - beside.used
       ON CONFLICT (org, what, span, ends_at, part)
       DO UPDATE SET used = rate_counters.used + excluded.used
       WHERE rate_counters.used <= $5::bigint - (SELECT used FROM beside) - excluded.used
       RETURNING used + (SELECT used FROM beside), ends_at",
};
/// Adds, whatever the count is. On PostgreSQL whoever adds holds the row until
/// its transaction is on the disk, so that each connection has one of its own.
pub(crate) const ADD: Sql = Sql {
    sqlite: "INSERT INTO rate_counters (org, what, span, ends_at, used)
       VALUES (?1, ?2, ?3, (now_ms() / ?3 + 1) * ?3, ?4)
       ON CONFLICT (org, what, span, ends_at)
       DO UPDATE SET used = rate_counters.used + excluded.used",
    postgres: "INSERT INTO rate_counters (org, what, span, ends_at, part, used)
       VALUES ($1, $2, $3::bigint, (now_ms() / $3::bigint + 1) * $3::bigint,
         1 + pg_backend_pid() % 64, $4::bigint)
       ON CONFLICT (org, what, span, ends_at, part)
       DO UPDATE SET used = rate_counters.used + excluded.used",
};
pub(crate) const CURRENT: Sql = Sql {
    sqlite: "SELECT coalesce(c.used, 0), w.ends_at
       FROM (SELECT (now_ms() / ?3 + 1) * ?3 AS ends_at) w
       LEFT JOIN rate_counters c
         ON c.org = ?1 AND c.what = ?2 AND c.span = ?3 AND c.ends_at = w.ends_at",
    postgres: "SELECT coalesce(sum(c.used), 0)::bigint, w.ends_at
       FROM (SELECT (now_ms() / $3::bigint + 1) * $3::bigint AS ends_at) w
       LEFT JOIN rate_counters c
         ON c.org = $1 AND c.what = $2 AND c.span = $3::bigint AND c.ends_at = w.ends_at
       GROUP BY w.ends_at",
};
const SWEEP: Sql = Sql {
    sqlite: "DELETE FROM rate_counters WHERE (org, what, span, ends_at) IN (
       SELECT org, what, span, ends_at FROM rate_counters
       WHERE ends_at <= (SELECT now_ms()) ORDER BY ends_at LIMIT ?1)",
    postgres: "WITH over AS MATERIALIZED (
         SELECT org, what, span, ends_at, part FROM rate_counters
         WHERE ends_at <= (SELECT now_ms()) ORDER BY ends_at LIMIT $1 FOR UPDATE SKIP LOCKED)
       DELETE FROM rate_counters c USING over o
       WHERE c.org = o.org AND c.what = o.what AND c.span = o.span AND c.ends_at = o.ends_at
         AND c.part = o.part",
};

impl OrgStore<'_> {
    /// Counts `amount` of something, if the count stays within the limit. What
    /// has happened anyway is counted with [`u64::MAX`] as the limit.
    pub async fn count(
        &self,
        what: &str,
        window: Window,
        amount: u64,
        limit: u64,
    ) -> Result<Counted> {
        let what = what.to_owned();
        self.store.write(Count { org: self.org, what, window, amount, limit }).await
    }

    /// What was counted so far.
    pub async fn counted(&self, what: &str, window: Window) -> Result<Used> {
        self.store.read(Current(self.org, what.to_owned(), window)).await
    }
}

impl Store {
    /// Deletes counters of all orgs whose window is over, and says how many.
    pub async fn sweep_counters(&self, most: u32) -> Result<u64> {
        self.write(Sweep(most)).await
    }
}

/// The parameters of [`ADD`].
pub(crate) fn add(org: OrgId, what: &str, window: Window, amount: u64) -> Vec<Value> {
    let mut params = key(org, what, window);
    params.push(Value::Int(i64::try_from(amount).unwrap_or(i64::MAX)));
    params
}

struct Count {
    org: OrgId,
    what: String,
    window: Window,
    amount: u64,
    limit: u64,
}

impl Operation for Count {
    type Output = Counted;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Counted> {
        let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let mut params = key(self.org, &self.what, self.window);
        params.extend([number(self.amount), number(self.limit)]);
        if let Some(row) = tx.first(&COUNT, &params).await? {
            return Ok(Counted::Within(used(&row)?));
        }
        Ok(Counted::Exceeded(current(tx, self.org, &self.what, self.window).await?))
    }
}

struct Current(OrgId, String, Window);

impl Operation for Current {
    type Output = Used;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Used> {
        current(tx, self.0, &self.1, self.2).await
    }
}

struct Sweep(u32);

impl Operation for Sweep {
    type Output = u64;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<u64> {
        tx.execute(&SWEEP, &[self.0.into()]).await
    }
}

async fn current<T: Tx>(tx: &T, org: OrgId, what: &str, window: Window) -> Result<Used> {
    let row = tx.first(&CURRENT, &key(org, what, window)).await?;
    used(&row.ok_or_else(|| StoreError::Backend("the database has no clock".into()))?)
}

pub(crate) fn key(org: OrgId, what: &str, window: Window) -> Vec<Value> {
    vec![org.into(), what.into(), window.span().into()]
}

pub(crate) fn used(row: &Row) -> Result<Used> {
    Ok(Used {
        used: u64::try_from(row.int(0)?).unwrap_or_default(),
        resets_at: Timestamp::from_millis(row.int(1)?),
    })
}
