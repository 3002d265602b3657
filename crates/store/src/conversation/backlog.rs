//! The backlog: the limit of unanswered messages of an org.
//!
//! Counting visits every pending message, which would make each message of a flood
//! expensive. So a count is made with a margin, and as many messages as the margin
//! allows are accepted before the next count. Messages answered meanwhile only
//! lower the number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::id::OrgId;

use crate::backend::Tx;
use crate::backend::sql::Sql;
use crate::error::{Result, StoreError};

/// The margin is this fraction of the limit. With several processes the limit may be
/// exceeded by one margin for each of the others.
const MARGIN_DIVISOR: u32 = 32;

/// Finds a row if more than so many messages are pending.
const PENDING_BEYOND: Sql = Sql {
    sqlite: "SELECT 1 FROM inbox INDEXED BY inbox_pending
       WHERE org = ?1 AND state = 'pending' LIMIT 1 OFFSET ?2",
    postgres: "SELECT 1 FROM inbox WHERE org = $1 AND state = 'pending' LIMIT 1 OFFSET $2",
};

/// How many messages of each org are accepted before the next count.
#[derive(Debug, Default)]
pub(crate) struct BacklogAllowance(Mutex<HashMap<OrgId, u32>>);

impl BacklogAllowance {
    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the allowance after a count, unless some of it is left: messages that
    /// used it may not be in the database yet.
    fn set(&self, org: OrgId, allowance: u32) {
        let mut all = self.lock();
        let left = all.entry(org).or_default();
        if *left == 0 {
            *left = allowance;
        }
    }

    /// Uses the allowance for one message; returns false if there is none.
    fn take(&self, org: OrgId) -> bool {
        match self.lock().get_mut(&org) {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

/// The check of a message against the backlog limit of its org.
#[derive(Debug)]
pub(crate) enum BacklogCheck {
    /// Accepts the message without counting.
    Unlimited,
    Limited {
        limit: u32,
        allowance: Arc<BacklogAllowance>,
    },
}

impl BacklogCheck {
    /// Makes the check for one message. [`u32::MAX`] means no limit and does not use
    /// the allowance.
    pub(crate) fn new(org: OrgId, limit: u32, allowance: &Arc<BacklogAllowance>) -> Self {
        if limit == u32::MAX || allowance.take(org) {
            return Self::Unlimited;
        }
        Self::Limited { limit, allowance: allowance.clone() }
    }

    /// Fails if the backlog of the org is full.
    pub(crate) fn check(&self, tx: &Tx, org: OrgId) -> Result<()> {
        let Self::Limited { limit, allowance } = self else { return Ok(()) };
        let (limit, margin) = (*limit, limit / MARGIN_DIVISOR);
        let full = StoreError::BacklogFull { limit };
        let Some(max_before) = limit.checked_sub(1) else { return Err(full) };
        if !more_than(tx, org, max_before - margin)? {
            allowance.set(org, margin);
        } else if margin == 0 || more_than(tx, org, max_before)? {
            return Err(full);
        }
        Ok(())
    }
}

/// Returns whether more than `count` messages of an org are pending.
fn more_than(tx: &Tx, org: OrgId, count: u32) -> Result<bool> {
    Ok(tx.first(&PENDING_BEYOND, &[org.into(), count.into()])?.is_some())
}
