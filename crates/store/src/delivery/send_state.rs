//! The state of sending: progress of a message, pauses of bindings, automatic retries
//! of dead letters, and messages in team chats that people can reply to.

use std::time::Duration;

use ostler_domain::id::{BindingId, ConversationId, OrgId, OutboxId, SessionId};

use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
use crate::delivery::bindings::{OrgBinding, binding};
use crate::delivery::dead_letters::LOCK_CONVERSATION;
use crate::delivery::outbox::{OutboxEntry, progress_value};
use crate::error::{Result, StoreError};
use crate::{OrgStore, Store};

/// How long people can reply to a team message.
const REPLY_TIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// A message about a conversation in a chat of the org's own people. A reply to it
/// belongs to the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamMessage {
    pub binding: BindingId,
    /// The chat id of the channel.
    pub chat: String,
    /// The message id of the provider.
    pub provider_id: String,
}

/// Whether the next piece of a message may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendPermit {
    Granted,
    /// A person has taken over, or the claim has expired.
    Revoked,
}

const UPDATE_PROGRESS: Sql = sql!(
    "UPDATE outbox SET progress = ?4, claimed_until = now_ms() + ?5
     WHERE org = ?1 AND id = ?2 AND attempts = ?3 AND state = 'sending'
       AND (author <> 'agent' OR epoch = (
         SELECT c.epoch FROM conversations c
         WHERE c.org = outbox.org AND c.id = outbox.conversation))"
);
const BINDING_FOR_SEND: Sql = sql!(
    "SELECT data, agent, settings, secret,
       coalesce((SELECT h.paused_until - now_ms() FROM send_pauses h
                 WHERE h.org = bindings.org AND h.binding = bindings.id), 0)
     FROM bindings WHERE org = ?1 AND id = ?2"
);
const PAUSE_BINDING: Sql = sql!(
    "INSERT INTO send_pauses (org, binding, paused_until) VALUES (?1, ?2, now_ms() + ?3)
     ON CONFLICT (org, binding) DO UPDATE SET paused_until = excluded.paused_until
     WHERE send_pauses.paused_until < excluded.paused_until"
);
const DUE_DEAD_LETTER: Sql = Sql {
    sqlite: "SELECT org, id, conversation FROM outbox INDEXED BY outbox_retry
       WHERE state = 'dead' AND retry_at IS NOT NULL AND retry_at <= (SELECT now_ms())
       ORDER BY retry_at LIMIT 1",
    postgres: "SELECT org, id, conversation FROM outbox
       WHERE state = 'dead' AND retry_at IS NOT NULL AND retry_at <= (SELECT now_ms())
       ORDER BY retry_at LIMIT 1",
};
const RETRY: Sql = sql!(
    "UPDATE outbox SET due_at = now_ms(), retry_at = NULL, state = CASE
       WHEN author = 'agent' AND epoch <> (
         SELECT c.epoch FROM conversations c
         WHERE c.org = outbox.org AND c.id = outbox.conversation) THEN 'withdrawn'
       ELSE 'pending' END
     WHERE org = ?1 AND id = ?2 AND state = 'dead' AND retry_at <= (SELECT now_ms())"
);
const INSERT_TEAM_MESSAGE: Sql = sql!(
    "INSERT INTO team_messages (org, binding, chat, provider_id, conversation, sent_at)
     VALUES (?1, ?2, ?3, ?4, ?5, now_ms())
     ON CONFLICT (org, binding, chat, provider_id) DO UPDATE
       SET conversation = excluded.conversation, sent_at = excluded.sent_at"
);
const DELETE_OLD_TEAM_MESSAGES: Sql = sql!(
    "DELETE FROM team_messages
     WHERE org = ?1 AND binding = ?2 AND chat = ?3 AND sent_at < now_ms() - ?4"
);
const SESSION_REPLIED_TO: Sql = sql!(
    "SELECT s.id FROM team_messages a
     JOIN sessions s ON s.org = a.org AND s.conversation = a.conversation
     WHERE a.org = ?1 AND a.binding = ?2 AND a.chat = ?3 AND a.provider_id = ?4
     ORDER BY s.id DESC LIMIT 1"
);
const LAST_HANDED_OFF_SESSION: Sql = sql!(
    "SELECT s.id FROM team_messages a
     JOIN sessions s ON s.org = a.org AND s.conversation = a.conversation
     WHERE a.org = ?1 AND a.binding = ?2 AND a.chat = ?3 AND s.status = 'handed_off'
     ORDER BY a.sent_at DESC, s.id DESC LIMIT 1"
);

impl Store {
    /// Retries a dead letter that is due; returns false if there is none. A message of an
    /// agent from before a takeover is withdrawn instead.
    pub async fn retry_due_dead_letter(&self) -> Result<bool> {
        self.write(RetryDeadLetter).await
    }
}

impl OrgStore<'_> {
    /// Stores the progress of a message and extends its claim to `claim_time`.
    pub async fn record_progress(
        &self,
        claimed: &OutboxEntry,
        claim_time: Duration,
    ) -> Result<SendPermit> {
        if claimed.org != self.org {
            return Err(StoreError::NotFound("message that is being sent"));
        }
        self.store.write(RecordProgress(claimed.clone(), claim_time)).await
    }

    /// Returns a binding to send through, and the rest of its pause.
    pub async fn binding_for_send(&self, id: BindingId) -> Result<(OrgBinding, Duration)> {
        self.store.read(BindingForSend(self.org, id)).await
    }

    /// Pauses sending through a binding, because its provider asked for it.
    pub async fn pause_binding(&self, id: BindingId, pause: Duration) -> Result<()> {
        self.store.write(PauseBinding(self.org, id, pause)).await
    }

    /// Returns the session that a team message is about.
    pub async fn session_replied_to(
        &self,
        binding: BindingId,
        chat: &str,
        provider_id: &str,
    ) -> Result<Option<SessionId>> {
        let provider_id = Some(provider_id.to_owned());
        self.store
            .read(FindSession { org: self.org, binding, chat: chat.to_owned(), provider_id })
            .await
    }

    /// Returns the handed-off session that the last team message of a chat is about.
    pub async fn last_handed_off_session(
        &self,
        binding: BindingId,
        chat: &str,
    ) -> Result<Option<SessionId>> {
        let (chat, provider_id) = (chat.to_owned(), None);
        self.store.read(FindSession { org: self.org, binding, chat, provider_id }).await
    }
}

/// Stores a team message and deletes old ones of the same chat.
pub(crate) fn record_team_message(
    tx: &Tx,
    org: OrgId,
    conversation: ConversationId,
    team_message: &TeamMessage,
) -> Result<()> {
    let TeamMessage { binding, chat, provider_id } = team_message;
    let chat_key = || [Value::from(org), (*binding).into(), chat.as_str().into()];
    let [a, b, c] = chat_key();
    tx.execute(&INSERT_TEAM_MESSAGE, &[a, b, c, provider_id.as_str().into(), conversation.into()])?;
    let [a, b, c] = chat_key();
    tx.execute(&DELETE_OLD_TEAM_MESSAGES, &[a, b, c, REPLY_TIME.into()])?;
    Ok(())
}

struct RetryDeadLetter;

impl Operation for RetryDeadLetter {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<bool> {
        let Some(row) = tx.first(&DUE_DEAD_LETTER, &[])? else { return Ok(false) };
        let (org, id): (OrgId, OutboxId) = (row.id(0)?, row.id(1)?);
        let conversation: ConversationId = row.id(2)?;
        // The lock prevents a takeover until the commit.
        tx.execute(&LOCK_CONVERSATION, &[org.into(), conversation.into()])?;
        tx.execute(&RETRY, &[org.into(), id.into()])?;
        Ok(true)
    }
}

struct RecordProgress(OutboxEntry, Duration);

impl Operation for RecordProgress {
    type Output = SendPermit;

    fn scope(&self) -> Scope {
        Scope::Org(self.0.org)
    }

    fn run(&self, tx: &Tx) -> Result<SendPermit> {
        let Self(OutboxEntry { org, id, attempts, progress, .. }, claim_time) = self;
        let params = [
            (*org).into(),
            (*id).into(),
            (*attempts).into(),
            progress_value(progress)?,
            (*claim_time).into(),
        ];
        Ok(if tx.execute(&UPDATE_PROGRESS, &params)? == 0 {
            SendPermit::Revoked
        } else {
            SendPermit::Granted
        })
    }
}

struct BindingForSend(OrgId, BindingId);

impl Operation for BindingForSend {
    type Output = (OrgBinding, Duration);

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<(OrgBinding, Duration)> {
        let row = tx.first(&BINDING_FOR_SEND, &[self.0.into(), self.1.into()])?;
        let row = row.ok_or(StoreError::NotFound("binding"))?;
        let pause = Duration::from_millis(u64::try_from(row.int(4)?).unwrap_or(0));
        Ok((binding(&row)?, pause))
    }
}

struct PauseBinding(OrgId, BindingId, Duration);

impl Operation for PauseBinding {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        tx.execute(&PAUSE_BINDING, &[self.0.into(), self.1.into(), self.2.into()]).map(drop)
    }
}

struct FindSession {
    org: OrgId,
    binding: BindingId,
    chat: String,
    /// None finds the last handed-off session.
    provider_id: Option<String>,
}

impl Operation for FindSession {
    type Output = Option<SessionId>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<Option<SessionId>> {
        let mut params = vec![self.org.into(), self.binding.into(), self.chat.as_str().into()];
        let sql = match &self.provider_id {
            Some(id) => {
                params.push(id.as_str().into());
                &SESSION_REPLIED_TO
            }
            None => &LAST_HANDED_OFF_SESSION,
        };
        tx.first(sql, &params)?.map(|row| row.id(0)).transpose()
    }
}
