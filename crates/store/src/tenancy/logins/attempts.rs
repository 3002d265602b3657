//! How often a log-in was tried in the current hour. The counters are shared by all
//! processes.

use std::time::Duration;

use ostler_domain::login::attempts::AttemptCounter;

use crate::Store;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::error::Result;

const HOUR: Duration = Duration::from_secs(3600);

/// Counts nothing at the limit, and returns no row then.
const COUNT: Sql = sql!(
    "INSERT INTO login_attempts (name, ends_at, used)
     VALUES (?1, (now_ms() / ?2 + 1) * ?2, 1)
     ON CONFLICT (name, ends_at) DO UPDATE SET used = login_attempts.used + 1
       WHERE login_attempts.used < ?3
     RETURNING used"
);
const SWEEP: Sql = sql!(
    "DELETE FROM login_attempts WHERE (name, ends_at) IN
       (SELECT name, ends_at FROM login_attempts WHERE ends_at <= now_ms() LIMIT ?1)"
);

impl Store {
    /// Counts an attempt, and returns whether all its counters were below their limits. The
    /// attempt is counted before it is decided, so that many at the same time do not pass.
    pub fn count_login_attempt(&self, counters: Vec<AttemptCounter>) -> StoreFuture<bool> {
        self.write_all_orgs(move |tx| {
            for AttemptCounter { name, limit } in &counters {
                let params = [name.as_str().into(), HOUR.into(), (*limit).into()];
                if tx.first(&COUNT, &params)?.is_none() {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}

/// Deletes counters of hours that have ended, inside a transaction of all orgs.
pub(super) fn sweep(tx: &Tx, limit: u32) -> Result<u64> {
    tx.execute(&SWEEP, &[limit.into()])
}
