//! Changes by a person (takeover, message, resume, dismissal, close). They do not wait
//! for the worker that holds the lease, and unsent messages of agents are withdrawn.

use ostler_domain::id::OrgId;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::conversation::approvals;
use crate::conversation::inbox::{self, FollowUpEntry};
use crate::conversation::runs::{NewRun, harness_row, run_row};
use crate::conversation::sessions::StoredSession;
use crate::conversation::side_effects::SessionDue;
use crate::conversation::turn::{
    MessageWriter, NewEvent, NewMessage, NewOutboxEntry, SessionState,
};
use crate::delivery::outbox::{self, WithdrawnMessages};
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::{OrgStore, events};

/// The changes of a person in a conversation, in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorChange {
    /// The session that was read, with the epoch of the conversation at that time.
    pub read: StoredSession,
    /// The new state of the session.
    pub session: SessionState,
    pub due: SessionDue,
    pub run: NewRun,
    /// New messages of the thread, in order.
    pub messages: Vec<NewMessage>,
    /// Messages to send, in order.
    pub outbox: Vec<NewOutboxEntry>,
    pub events: Vec<NewEvent>,
    /// Entries for the next turn, in order.
    pub inbox: Vec<FollowUpEntry>,
    pub audit: NewAuditEntry,
}

/// Reserves numbers for outgoing messages.
const RESERVE_OUT_SEQ: Sql =
    sql!("UPDATE conversations SET out_seq = out_seq + ?3 WHERE org = ?1 AND id = ?2");
const LOCK_CONVERSATION: Sql = Sql {
    sqlite: "SELECT epoch FROM conversations WHERE org = ?1 AND id = ?2",
    postgres: "SELECT epoch FROM conversations WHERE org = $1 AND id = $2 FOR UPDATE",
};
const READ_SESSION: Sql = sql!("SELECT data FROM sessions WHERE org = ?1 AND id = ?2");
const UPDATE_SESSION: Sql =
    sql!("UPDATE sessions SET status = ?3, data = ?4, due_at = ?5 WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Raises the epoch of the conversation, withdraws unsent messages of agents, and
    /// changes the session. Closing it withdraws its open approvals. Fails with [`StoreError::ConversationChanged`] if another
    /// takeover or a turn has changed the session since it was read.
    pub fn apply_operator_change(&self, change: OperatorChange) -> StoreFuture<WithdrawnMessages> {
        let org = self.org;
        self.write(move |tx| apply(tx, org, &change))
    }
}

fn apply(tx: &Tx, org: OrgId, change: &OperatorChange) -> Result<WithdrawnMessages> {
    let StoredSession { conversation, epoch, .. } = change.read;
    let key = [Value::from(org), conversation.into()];
    let found = tx.first(&LOCK_CONVERSATION, &key)?.ok_or(StoreError::NotFound("conversation"))?;
    // The row of the conversation is locked now, and every turn writes it first.
    let session = tx.first(&READ_SESSION, &[org.into(), change.read.id.into()])?;
    let session = session.ok_or(StoreError::NotFound("session"))?;
    if found.int(0)? != epoch || session.text(0)? != change.read.data {
        return Err(StoreError::ConversationChanged);
    }
    let withdrawn = outbox::withdraw_agent_messages(tx, org, conversation)?;
    let due = match change.due {
        SessionDue::At(at) => at.as_millis().into(),
        SessionDue::Never => Value::Null,
    };
    let SessionState { id, thread, status, data } = &change.session;
    let params = [org.into(), (*id).into(), status.as_str().into(), data.as_str().into(), due];
    tx.execute(&UPDATE_SESSION, &params)?;
    if change.session.is_closed() {
        approvals::withdraw_for_session(tx, org, *id)?;
    }
    let count = i64::try_from(change.outbox.len()).unwrap_or(i64::MAX);
    tx.execute(&RESERVE_OUT_SEQ, &[key[0].clone(), key[1].clone(), count.into()])?;
    let writer = MessageWriter { org, conversation, epoch: epoch + 1, thread: *thread };
    let mut all = vec![run_row(org, *id, &change.run)];
    all.extend(harness_row(org, &change.run));
    all.extend(writer.write(&change.messages, &change.outbox));
    all.extend(events::append(org, Some(change.run.id), &change.events)?);
    all.push(audit::append(org, &change.audit)?);
    tx.batch(&all)?;
    for entry in &change.inbox {
        inbox::add_follow_up(tx, org, conversation, entry)?;
    }
    Ok(withdrawn)
}
