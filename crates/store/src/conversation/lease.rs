//! Leases: one worker at a time handles a conversation.
//!
//! A lease expires by the database's clock. Its token only grows, so that the commit
//! of a worker whose lease went to another one fails (fencing).

use std::time::Duration;

use ostler_domain::id::{ConversationId, OrgId};

use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Refusal, Statement, Tx};
use crate::conversation::claim::ClaimPolicy;
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// The right to handle a conversation. Only claiming creates one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub(crate) org: OrgId,
    pub(crate) conversation: ConversationId,
    pub(crate) token: i64,
    /// The epoch of the conversation when it was claimed; a takeover raises it.
    pub(crate) epoch: i64,
    /// Whether an unfinished turn was stored when the conversation was claimed.
    pub(crate) has_checkpoint: bool,
}

impl Lease {
    /// Returns the org.
    pub const fn org(&self) -> OrgId {
        self.org
    }

    /// Returns the conversation.
    pub const fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// Returns the epoch of the conversation when it was claimed.
    pub const fn epoch(&self) -> i64 {
        self.epoch
    }
}

/// Ends the lease; the conversation is pending if a message is.
pub(crate) const RELEASE: Sql = Sql {
    sqlite: "UPDATE conversations SET lease_until = 0, pending_at = (
         SELECT i.due_at FROM inbox i INDEXED BY inbox_pending
         WHERE i.org = ?1 AND i.conversation = ?2 AND i.state = 'pending'
         ORDER BY i.seq LIMIT 1)
       WHERE org = ?1 AND id = ?2",
    postgres: "UPDATE conversations SET lease_until = 0, pending_at = (
         SELECT i.due_at FROM inbox i
         WHERE i.org = $1 AND i.conversation = $2 AND i.state = 'pending'
         ORDER BY i.seq LIMIT 1)
       WHERE org = $1 AND id = $2",
};
const RENEW: Sql = sql!(
    "UPDATE conversations SET lease_until = now_ms() + ?4, pending_at = now_ms() + ?4
     WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > now_ms()"
);
/// Checks the lease and, unless it is null, the epoch, locks the row of the conversation
/// until the transaction ends, and reserves numbers for outgoing messages.
const FENCE: Sql = Sql {
    sqlite: "UPDATE conversations SET out_seq = out_seq + ?4
       WHERE org = ?1 AND id = ?2 AND CASE
         WHEN lease_token <> ?3 OR lease_until <= 0 THEN 0
         WHEN epoch <> ?5 THEN refuse('conversation_changed')
         ELSE 1 END",
    postgres: "WITH held AS (
         UPDATE conversations SET out_seq = out_seq + $4
         WHERE org = $1 AND id = $2 AND CASE
           WHEN lease_token <> $3 OR lease_until <= 0 THEN FALSE
           WHEN epoch <> $5 THEN refuse('conversation_changed') = 1
           ELSE TRUE END
         RETURNING 1)
       SELECT refuse('stale_lease') WHERE NOT EXISTS (SELECT 1 FROM held)",
};
/// Applies to claimed messages only, which are due; one that waits for its next
/// attempt is not.
const UNCOUNT_ATTEMPT: Sql = Sql {
    sqlite: "UPDATE inbox INDEXED BY inbox_pending SET attempts = attempts - 1
       WHERE org = ?1 AND conversation = ?2 AND state = 'pending' AND attempts > 0
         AND due_at <= (SELECT now_ms())",
    postgres: "UPDATE inbox SET attempts = attempts - 1
       WHERE org = $1 AND conversation = $2 AND state = 'pending' AND attempts > 0
         AND due_at <= (SELECT now_ms())",
};
const DELAY: Sql = Sql {
    sqlite: "UPDATE inbox INDEXED BY inbox_pending SET due_at = now_ms() + ?3
       WHERE org = ?1 AND conversation = ?2 AND state = 'pending' AND attempts > 0
         AND due_at <= (SELECT now_ms())",
    postgres: "UPDATE inbox SET due_at = now_ms() + $3
       WHERE org = $1 AND conversation = $2 AND state = 'pending' AND attempts > 0
         AND due_at <= (SELECT now_ms())",
};

/// Why a lease is released without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseReason {
    /// No attempt was made, so none is counted.
    Untried,
    Failed {
        retry_after: Duration,
    },
}

const IS_LEASED: Sql =
    sql!("SELECT 1 FROM conversations WHERE org = ?1 AND id = ?2 AND lease_until > now_ms()");

impl OrgStore<'_> {
    /// Returns whether a worker handles the conversation at the moment.
    pub fn is_leased(&self, conversation: ConversationId) -> StoreFuture<bool> {
        let params = [self.org.into(), conversation.into()];
        self.read(move |tx| Ok(tx.first(&IS_LEASED, &params)?.is_some()))
    }
}

impl Store {
    /// Extends a lease. Fails with [`StoreError::StaleLease`] if it has expired.
    pub fn renew_lease(&self, lease: Lease, policy: ClaimPolicy) -> StoreFuture<()> {
        let Lease { org, conversation, token, .. } = lease;
        let params = [org.into(), conversation.into(), token.into(), policy.lease.into()];
        self.org(org).write(move |tx| match tx.execute(&RENEW, &params)? {
            0 => Err(StoreError::StaleLease),
            _ => Ok(()),
        })
    }

    /// Releases a lease without an answer.
    pub fn release_lease(&self, lease: Lease, reason: ReleaseReason) -> StoreFuture<()> {
        self.org(lease.org).write(move |tx| release(tx, lease, reason))
    }
}

fn release(tx: &Tx, lease: Lease, reason: ReleaseReason) -> Result<()> {
    let [org, conversation] = [Value::from(lease.org), lease.conversation.into()];
    check_fence(tx, lease)?;
    match reason {
        ReleaseReason::Untried => {
            tx.execute(&UNCOUNT_ATTEMPT, &[org.clone(), conversation.clone()])?
        }
        ReleaseReason::Failed { retry_after } => {
            tx.execute(&DELAY, &[org.clone(), conversation.clone(), retry_after.into()])?
        }
    };
    tx.execute(&RELEASE, &[org, conversation])?;
    Ok(())
}

/// Checks the lease, locks the row of the conversation, and reserves numbers for
/// `sends` outgoing messages. With an epoch, it also checks that no takeover has
/// happened since.
pub(crate) fn fence(lease: Lease, epoch: Option<i64>, sends: usize) -> Statement {
    let Lease { org, conversation, token, .. } = lease;
    let sends = i64::try_from(sends).unwrap_or(i64::MAX);
    let params = vec![org.into(), conversation.into(), token.into(), sends.into(), epoch.into()];
    Statement { sql: &FENCE, params, on_no_rows: Some(Refusal::StaleLease) }
}

pub(crate) fn check_fence(tx: &Tx, lease: Lease) -> Result<()> {
    tx.batch(&[fence(lease, None, 0)]).map(|_| ())
}
