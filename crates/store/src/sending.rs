//! Sending, beside the outbox itself: how far a message is, which bindings have
//! to wait, which dead letters are tried again, and where people can reply.

use std::time::Duration;

use ostler_domain::id::{BindingId, ConversationId, OrgId, OutboxId, SessionId};

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::bindings::{OrgBinding, binding};
use crate::deadletters::HOLD;
use crate::error::{Result, StoreError};
use crate::outbox::{Outbound, written};
use crate::{OrgStore, Store};

/// How long a message to the org's people can be replied to.
const ANNOUNCED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// Where a message about a conversation can be replied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announced {
    /// The binding.
    pub binding: BindingId,
    /// What its channel calls the chat.
    pub chat: String,
    /// What the provider calls the message.
    pub provider_id: String,
}

/// Whether the next piece of a message may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoOn {
    /// It may.
    Yes,
    /// A person took over, or the claim is over.
    No,
}

const PROGRESS: Sql = sql!(
    "UPDATE outbox SET progress = ?4, claimed_until = now_ms() + ?5
     WHERE org = ?1 AND id = ?2 AND attempts = ?3 AND state = 'sending'
       AND (author <> 'agent' OR epoch = (
         SELECT c.epoch FROM conversations c
         WHERE c.org = outbox.org AND c.id = outbox.conversation))"
);
const WAY_OUT: Sql = sql!(
    "SELECT data, agent, settings, secret,
       coalesce((SELECT h.held_until - now_ms() FROM send_holds h
                 WHERE h.org = bindings.org AND h.binding = bindings.id), 0)
     FROM bindings WHERE org = ?1 AND id = ?2"
);
const KEEP_OFF: Sql = sql!(
    "INSERT INTO send_holds (org, binding, held_until) VALUES (?1, ?2, now_ms() + ?3)
     ON CONFLICT (org, binding) DO UPDATE SET held_until = excluded.held_until
     WHERE send_holds.held_until < excluded.held_until"
);
const DUE: Sql = Sql {
    sqlite: "SELECT org, id, conversation FROM outbox INDEXED BY outbox_retry
       WHERE state = 'dead' AND retry_at IS NOT NULL AND retry_at <= (SELECT now_ms())
       ORDER BY retry_at LIMIT 1",
    postgres: "SELECT org, id, conversation FROM outbox
       WHERE state = 'dead' AND retry_at IS NOT NULL AND retry_at <= (SELECT now_ms())
       ORDER BY retry_at LIMIT 1",
};
const REVIVE: Sql = sql!(
    "UPDATE outbox SET due_at = now_ms(), retry_at = NULL, state = CASE
       WHEN author = 'agent' AND epoch <> (
         SELECT c.epoch FROM conversations c
         WHERE c.org = outbox.org AND c.id = outbox.conversation) THEN 'withdrawn'
       ELSE 'pending' END
     WHERE org = ?1 AND id = ?2 AND state = 'dead' AND retry_at <= (SELECT now_ms())"
);
const ANNOUNCE: Sql = sql!(
    "INSERT INTO announcements (org, binding, chat, provider_id, conversation, at)
     VALUES (?1, ?2, ?3, ?4, ?5, now_ms())
     ON CONFLICT (org, binding, chat, provider_id) DO UPDATE
       SET conversation = excluded.conversation, at = excluded.at"
);
const FORGET: Sql = sql!(
    "DELETE FROM announcements
     WHERE org = ?1 AND binding = ?2 AND chat = ?3 AND at < now_ms() - ?4"
);
const REPLIED_TO: Sql = sql!(
    "SELECT s.id FROM announcements a
     JOIN sessions s ON s.org = a.org AND s.conversation = a.conversation
     WHERE a.org = ?1 AND a.binding = ?2 AND a.chat = ?3 AND a.provider_id = ?4
     ORDER BY s.id DESC LIMIT 1"
);
const LAST_HANDED_OFF: Sql = sql!(
    "SELECT s.id FROM announcements a
     JOIN sessions s ON s.org = a.org AND s.conversation = a.conversation
     WHERE a.org = ?1 AND a.binding = ?2 AND a.chat = ?3 AND s.status = 'handed_off'
     ORDER BY a.at DESC, s.id DESC LIMIT 1"
);

impl Store {
    /// Has a dead letter that is due tried again; says whether there was one.
    /// What agents wrote before a person took over is withdrawn instead.
    pub async fn revive_dead_letter(&self) -> Result<bool> {
        self.write(Revive).await
    }
}

impl OrgStore<'_> {
    /// Writes down how far a message is, and keeps it claimed for this long.
    pub async fn record_progress(&self, claimed: &Outbound, sending: Duration) -> Result<GoOn> {
        if claimed.org != self.org {
            return Err(StoreError::NotFound("message that is being sent"));
        }
        self.store.write(WriteProgress(claimed.clone(), sending)).await
    }

    /// A binding to send through, and for how long its provider asked to be left
    /// alone.
    pub async fn way_out(&self, id: BindingId) -> Result<(OrgBinding, Duration)> {
        self.store.read(WayOut(self.org, id)).await
    }

    /// Leaves a binding alone for this long, because its provider asked for it.
    pub async fn keep_off_binding(&self, id: BindingId, wait: Duration) -> Result<()> {
        self.store.write(KeepOff(self.org, id, wait)).await
    }

    /// The session that a chat was told of by this message.
    pub async fn announced_by(
        &self,
        binding: BindingId,
        chat: &str,
        provider_id: &str,
    ) -> Result<Option<SessionId>> {
        let provider_id = Some(provider_id.to_owned());
        self.store.read(Find { org: self.org, binding, chat: chat.to_owned(), provider_id }).await
    }

    /// The session that a chat was told of last, of those in which a person
    /// answers or is asked to.
    pub async fn last_announced(
        &self,
        binding: BindingId,
        chat: &str,
    ) -> Result<Option<SessionId>> {
        let (chat, provider_id) = (chat.to_owned(), None);
        self.store.read(Find { org: self.org, binding, chat, provider_id }).await
    }
}

/// Writes down where a message about a conversation can be replied to.
pub(crate) async fn announce<T: Tx>(
    tx: &T,
    org: OrgId,
    conversation: ConversationId,
    announced: &Announced,
) -> Result<()> {
    let Announced { binding, chat, provider_id } = announced;
    let place = || [Value::from(org), (*binding).into(), chat.as_str().into()];
    let [a, b, c] = place();
    tx.execute(&ANNOUNCE, &[a, b, c, provider_id.as_str().into(), conversation.into()]).await?;
    let [a, b, c] = place();
    tx.execute(&FORGET, &[a, b, c, ANNOUNCED_FOR.into()]).await?;
    Ok(())
}

struct Revive;

impl Operation for Revive {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<bool> {
        let Some(row) = tx.first(&DUE, &[]).await? else { return Ok(false) };
        let (org, id): (OrgId, OutboxId) = (row.id(0)?, row.id(1)?);
        let conversation: ConversationId = row.id(2)?;
        // Nobody takes over meanwhile.
        tx.execute(&HOLD, &[org.into(), conversation.into()]).await?;
        tx.execute(&REVIVE, &[org.into(), id.into()]).await?;
        Ok(true)
    }
}

struct WriteProgress(Outbound, Duration);

impl Operation for WriteProgress {
    type Output = GoOn;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<GoOn> {
        let Self(Outbound { org, id, attempts, progress, .. }, sending) = self;
        let params = [
            (*org).into(),
            (*id).into(),
            (*attempts).into(),
            written(progress)?,
            (*sending).into(),
        ];
        Ok(if tx.execute(&PROGRESS, &params).await? == 0 { GoOn::No } else { GoOn::Yes })
    }
}

struct WayOut(OrgId, BindingId);

impl Operation for WayOut {
    type Output = (OrgBinding, Duration);

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<(OrgBinding, Duration)> {
        let row = tx.first(&WAY_OUT, &[self.0.into(), self.1.into()]).await?;
        let row = row.ok_or(StoreError::NotFound("binding"))?;
        let wait = Duration::from_millis(u64::try_from(row.int(4)?).unwrap_or(0));
        Ok((binding(&row)?, wait))
    }
}

struct KeepOff(OrgId, BindingId, Duration);

impl Operation for KeepOff {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        tx.execute(&KEEP_OFF, &[self.0.into(), self.1.into(), self.2.into()]).await.map(drop)
    }
}

struct Find {
    org: OrgId,
    binding: BindingId,
    chat: String,
    /// None looks for the last.
    provider_id: Option<String>,
}

impl Operation for Find {
    type Output = Option<SessionId>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<SessionId>> {
        let mut params = vec![self.org.into(), self.binding.into(), self.chat.as_str().into()];
        let sql = match &self.provider_id {
            Some(id) => {
                params.push(id.as_str().into());
                &REPLIED_TO
            }
            None => &LAST_HANDED_OFF,
        };
        tx.first(sql, &params).await?.map(|row| row.id(0)).transpose()
    }
}
