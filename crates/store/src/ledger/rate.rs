//! Rate counters: usage per window of time, never above the limit under concurrency.

use ostler_domain::id::OrgId;
use ostler_domain::time::{Timestamp, Window};

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::Sql;
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// The value of a counter in its current window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterUsage {
    pub used: u64,
    /// When the window ends.
    pub resets_at: Timestamp,
}

/// Whether an amount was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountOutcome {
    /// Counted; the usage includes it.
    Within(CounterUsage),
    /// Not counted, because it would exceed the limit; the usage is without it.
    Exceeded(CounterUsage),
}

/// Adds only what stays within the limit, also for a new row. On PostgreSQL it does not
/// wait for uncommitted turns.
const COUNT: Sql = Sql {
    sqlite: "INSERT INTO rate_counters (org, name, window_ms, ends_at, used)
       SELECT ?1, ?2, ?3, (now_ms() / ?3 + 1) * ?3, ?4 WHERE ?4 <= ?5
       ON CONFLICT (org, name, window_ms, ends_at)
       DO UPDATE SET used = rate_counters.used + excluded.used
       WHERE rate_counters.used <= ?5 - excluded.used
       RETURNING used, ends_at",
    postgres: "WITH w AS (SELECT (now_ms() / $3::bigint + 1) * $3::bigint AS ends_at),
       beside AS (
         SELECT coalesce(sum(c.used), 0)::bigint AS used FROM rate_counters c JOIN w
           ON c.org = $1 AND c.name = $2 AND c.window_ms = $3::bigint AND c.ends_at = w.ends_at
              AND c.shard > 0)
       INSERT INTO rate_counters (org, name, window_ms, ends_at, shard, used)
       SELECT $1, $2, $3::bigint, w.ends_at, 0, $4::bigint
       FROM w, beside WHERE $4::bigint <= $5::bigint - beside.used
       ON CONFLICT (org, name, window_ms, ends_at, shard)
       DO UPDATE SET used = rate_counters.used + excluded.used
       WHERE rate_counters.used <= $5::bigint - (SELECT used FROM beside) - excluded.used
       RETURNING used + (SELECT used FROM beside), ends_at",
};
/// Adds without a limit. On PostgreSQL an adder locks the row until its transaction is on
/// the disk, so each connection has a row of its own.
pub(crate) const ADD: Sql = Sql {
    sqlite: "INSERT INTO rate_counters (org, name, window_ms, ends_at, used)
       VALUES (?1, ?2, ?3, (now_ms() / ?3 + 1) * ?3, ?4)
       ON CONFLICT (org, name, window_ms, ends_at)
       DO UPDATE SET used = rate_counters.used + excluded.used",
    postgres: "INSERT INTO rate_counters (org, name, window_ms, ends_at, shard, used)
       VALUES ($1, $2, $3::bigint, (now_ms() / $3::bigint + 1) * $3::bigint,
         1 + pg_backend_pid() % 64, $4::bigint)
       ON CONFLICT (org, name, window_ms, ends_at, shard)
       DO UPDATE SET used = rate_counters.used + excluded.used",
};
pub(crate) const CURRENT: Sql = Sql {
    sqlite: "SELECT coalesce(c.used, 0), w.ends_at
       FROM (SELECT (now_ms() / ?3 + 1) * ?3 AS ends_at) w
       LEFT JOIN rate_counters c
         ON c.org = ?1 AND c.name = ?2 AND c.window_ms = ?3 AND c.ends_at = w.ends_at",
    postgres: "SELECT coalesce(sum(c.used), 0)::bigint, w.ends_at
       FROM (SELECT (now_ms() / $3::bigint + 1) * $3::bigint AS ends_at) w
       LEFT JOIN rate_counters c
         ON c.org = $1 AND c.name = $2 AND c.window_ms = $3::bigint AND c.ends_at = w.ends_at
       GROUP BY w.ends_at",
};
const SWEEP: Sql = Sql {
    sqlite: "DELETE FROM rate_counters WHERE (org, name, window_ms, ends_at) IN (
       SELECT org, name, window_ms, ends_at FROM rate_counters
       WHERE ends_at <= (SELECT now_ms()) ORDER BY ends_at LIMIT ?1)",
    postgres: "WITH over AS MATERIALIZED (
         SELECT org, name, window_ms, ends_at, shard FROM rate_counters
         WHERE ends_at <= (SELECT now_ms()) ORDER BY ends_at LIMIT $1 FOR UPDATE SKIP LOCKED)
       DELETE FROM rate_counters c USING over o
       WHERE c.org = o.org AND c.name = o.name AND c.window_ms = o.window_ms
         AND c.ends_at = o.ends_at
         AND c.shard = o.shard",
};

impl OrgStore<'_> {
    /// Adds `amount` to a counter if it stays within `limit`. Pass [`u64::MAX`] to count
    /// unconditionally.
    pub fn count_within_limit(
        &self,
        what: &str,
        window: Window,
        amount: u64,
        limit: u64,
    ) -> StoreFuture<CountOutcome> {
        let (org, what) = (self.org, what.to_owned());
        self.write(move |tx| count(tx, org, &what, window, amount, limit))
    }

    /// Returns the usage of a counter in its current window.
    pub fn counter_usage(&self, what: &str, window: Window) -> StoreFuture<CounterUsage> {
        let (org, what) = (self.org, what.to_owned());
        self.read(move |tx| current(tx, org, &what, window))
    }
}

impl Store {
    /// Deletes counters of all orgs whose window has ended, and returns how many.
    pub fn sweep_counters(&self, limit: u32) -> StoreFuture<u64> {
        self.write_all_orgs(move |tx| tx.execute(&SWEEP, &[limit.into()]))
    }
}

/// Adds to a counter in the transaction of the caller; see [`OrgStore::count_within_limit`].
pub(crate) fn count(
    tx: &Tx,
    org: OrgId,
    what: &str,
    window: Window,
    amount: u64,
    limit: u64,
) -> Result<CountOutcome> {
    let mut params = add(org, what, window, amount);
    params.push(number(limit));
    match tx.first(&COUNT, &params)? {
        Some(row) => read_usage(&row).map(CountOutcome::Within),
        None => current(tx, org, what, window).map(CountOutcome::Exceeded),
    }
}

/// The parameters of [`ADD`].
pub(crate) fn add(org: OrgId, what: &str, window: Window, amount: u64) -> Vec<Value> {
    let mut params = key(org, what, window);
    params.push(number(amount));
    params
}

fn number(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns the usage of a counter, which nobody has to wait for; see
/// [`OrgStore::counter_usage`].
pub(crate) fn current(tx: &Tx, org: OrgId, what: &str, window: Window) -> Result<CounterUsage> {
    let row = tx.first(&CURRENT, &key(org, what, window))?;
    read_usage(&row.ok_or_else(|| StoreError::Backend("the database has no clock".into()))?)
}

pub(crate) fn key(org: OrgId, what: &str, window: Window) -> Vec<Value> {
    vec![org.into(), what.into(), window.duration().into()]
}

pub(crate) fn read_usage(row: &Row) -> Result<CounterUsage> {
    Ok(CounterUsage {
        used: u64::try_from(row.int(0)?).unwrap_or_default(),
        resets_at: Timestamp::from_millis(row.int(1)?),
    })
}
