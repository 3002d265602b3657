//! A person steps into a conversation: without waiting for the worker that has
//! it, and so that what agents wrote before is not sent any more.

use ostler_domain::id::OrgId;

use crate::aside::Due;
use crate::audit::{self, NewAudit};
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::inbox::{self, GoesOn};
use crate::outbox::{Silence, Silenced};
use crate::sessions::StoredSession;
use crate::turn::{NewEvent, NewMessage, NewOutbound, NewRun, SessionState, Talk, run_row};
use crate::{OrgStore, events};

/// What a person changes in a conversation, all at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intervention {
    /// The session as it was read, with the conversation's epoch of then.
    pub read: StoredSession,
    /// The session, as it is from now on.
    pub session: SessionState,
    /// When it is to be looked at again.
    pub due: Due,
    /// The record of it.
    pub run: NewRun,
    /// New messages of its thread, in order.
    pub messages: Vec<NewMessage>,
    /// What is to be sent, in order.
    pub outbox: Vec<NewOutbound>,
    /// What happened, in order.
    pub events: Vec<NewEvent>,
    /// What the conversation goes on with, in order.
    pub inbox: Vec<GoesOn>,
    /// Who did it.
    pub audit: NewAudit,
}

/// Makes room for what is sent; the epoch was raised just before.
const ROOM: Sql =
    sql!("UPDATE conversations SET out_seq = out_seq + ?3 WHERE org = ?1 AND id = ?2");
const EPOCH: Sql = Sql {
    sqlite: "SELECT epoch FROM conversations WHERE org = ?1 AND id = ?2",
    postgres: "SELECT epoch FROM conversations WHERE org = $1 AND id = $2 FOR UPDATE",
};
const NOW: Sql = sql!("SELECT data FROM sessions WHERE org = ?1 AND id = ?2");
const SESSION: Sql =
    sql!("UPDATE sessions SET status = ?3, data = ?4, due_at = ?5 WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Steps in: raises the conversation's epoch, withdraws what agents wrote and
    /// nobody has sent, and changes the session. Refused as
    /// [`StoreError::Moved`] if somebody else has stepped in, or a turn has
    /// changed the session, since it was read.
    pub async fn intervene(&self, what: Intervention) -> Result<Silenced> {
        self.store.write(Intervene(self.org, what)).await
    }
}

struct Intervene(OrgId, Intervention);

impl Operation for Intervene {
    type Output = Silenced;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Silenced> {
        let Self(org, what) = self;
        let StoredSession { conversation, epoch, .. } = what.read;
        let place = [Value::from(*org), conversation.into()];
        let found = tx.first(&EPOCH, &place).await?.ok_or(StoreError::NotFound("conversation"))?;
        // The conversation's row is held now, and every turn writes it first.
        let session = tx.first(&NOW, &[(*org).into(), what.read.id.into()]).await?;
        let session = session.ok_or(StoreError::NotFound("session"))?;
        if found.int(0)? != epoch || session.text(0)? != what.read.data {
            return Err(StoreError::Moved);
        }
        let silenced = Silence(*org, conversation).run(tx).await?;
        let due = match what.due {
            Due::At(at) => at.as_millis().into(),
            Due::Never => Value::Null,
        };
        let SessionState { id, thread, status, data } = &what.session;
        let changed =
            [(*org).into(), (*id).into(), status.as_str().into(), data.as_str().into(), due];
        tx.execute(&SESSION, &changed).await?;
        let room = i64::try_from(what.outbox.len()).unwrap_or(i64::MAX);
        tx.execute(&ROOM, &[place[0].clone(), place[1].clone(), room.into()]).await?;
        let talk = Talk { org: *org, conversation, epoch: epoch + 1, thread: *thread };
        let mut all = vec![run_row(*org, *id, what.run.clone())];
        all.extend(talk.write(what.messages.clone(), what.outbox.clone()));
        all.extend(events::append(*org, what.run.id, &what.events)?);
        all.push(audit::append(*org, &what.audit)?);
        tx.batch(&all).await?;
        for what in &what.inbox {
            inbox::go_on(tx, *org, conversation, what).await?;
        }
        Ok(silenced)
    }
}
