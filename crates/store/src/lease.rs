//! The lease: one worker at a time has a conversation, and proves it.
//!
//! A lease ends by the database's clock. Its token only grows, so that a worker
//! whose lease went to another is found out when it commits.

use std::time::Duration;

use ostler_domain::id::{ConversationId, OrgId};

use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Refusal, Scope, Statement, Tx};
use crate::claim::ClaimPolicy;
use crate::error::{Result, StoreError};

/// The right to a conversation. Only [`Store::claim_conversation`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub(crate) org: OrgId,
    pub(crate) conversation: ConversationId,
    pub(crate) token: i64,
    /// The conversation's epoch when it was claimed; a takeover raises it.
    pub(crate) epoch: i64,
}

impl Lease {
    /// The org.
    pub const fn org(&self) -> OrgId {
        self.org
    }

    /// The conversation.
    pub const fn conversation(&self) -> ConversationId {
        self.conversation
    }

    /// The conversation's epoch when it was claimed.
    pub const fn epoch(&self) -> i64 {
        self.epoch
    }
}

pub(crate) const SETTLE: Sql = Sql {
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
/// Holds the conversation's row until the transaction ends, and makes room for
/// messages that are to be sent.
const FENCE: Sql = Sql {
    sqlite: "UPDATE conversations SET out_seq = out_seq + ?4
       WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0",
    postgres: "WITH held AS (
         UPDATE conversations SET out_seq = out_seq + $4
         WHERE org = $1 AND id = $2 AND lease_token = $3 AND lease_until > 0 RETURNING 1)
       SELECT refuse('stale_lease') WHERE NOT EXISTS (SELECT 1 FROM held)",
};
/// Of what was handed out, which was due: what waits for its next try is not.
const UNDO_TRY: Sql = Sql {
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

/// Why a conversation is given back unanswered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveBack {
    /// Nothing was tried; the attempt does not count.
    Untried,
    /// It failed and is tried again after this time.
    Failed {
        /// The wait.
        retry_after: Duration,
    },
}

impl Store {
    /// Keeps a conversation for longer.
    pub async fn renew_lease(&self, lease: Lease, policy: ClaimPolicy) -> Result<()> {
        self.write(Renew(lease, policy)).await
    }

    /// Gives a conversation back without having answered.
    pub async fn release_lease(&self, lease: Lease, why: GiveBack) -> Result<()> {
        self.write(Release(lease, why)).await
    }
}

struct Renew(Lease, ClaimPolicy);

impl Operation for Renew {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Lease { org, conversation, token, .. } = self.0;
        let params = [org.into(), conversation.into(), token.into(), self.1.lease.into()];
        fenced(tx.execute(&RENEW, &params).await?)
    }
}

struct Release(Lease, GiveBack);

impl Operation for Release {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(lease, why) = *self;
        let [org, conversation] = [Value::from(lease.org), lease.conversation.into()];
        check_fence(tx, lease).await?;
        match why {
            GiveBack::Untried => {
                tx.execute(&UNDO_TRY, &[org.clone(), conversation.clone()]).await?
            }
            GiveBack::Failed { retry_after } => {
                let params = [org.clone(), conversation.clone(), retry_after.into()];
                tx.execute(&DELAY, &params).await?
            }
        };
        tx.execute(&SETTLE, &[org, conversation]).await?;
        Ok(())
    }
}

/// Proves the lease, holds the conversation's row, and makes room for `sends`
/// messages in its order.
pub(crate) fn fence(lease: Lease, sends: usize) -> Statement {
    let Lease { org, conversation, token, .. } = lease;
    let sends = i64::try_from(sends).unwrap_or(i64::MAX);
    let params = vec![org.into(), conversation.into(), token.into(), sends.into()];
    Statement { sql: &FENCE, params, must: Some(Refusal::StaleLease) }
}

pub(crate) async fn check_fence<T: Tx>(tx: &T, lease: Lease) -> Result<()> {
    tx.batch(&[fence(lease, 0)]).await.map(|_| ())
}

/// A fence that touched no row is a lease that went to another.
const fn fenced(touched: u64) -> Result<()> {
    if touched == 0 { Err(StoreError::StaleLease) } else { Ok(()) }
}
