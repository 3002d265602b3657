//! The state of sending: progress of a message, automatic retries of dead letters, and
//! messages in team chats that people can reply to.

use std::time::Duration;

use ostler_domain::id::{BindingId, ConversationId, OrgId, OutboxId, SessionId};

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
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
    pub fn retry_due_dead_letter(&self) -> StoreFuture<bool> {
        self.write_all_orgs(|tx| {
            let Some(row) = tx.first(&DUE_DEAD_LETTER, &[])? else { return Ok(false) };
            let (org, id): (OrgId, OutboxId) = (row.id(0)?, row.id(1)?);
            let conversation: ConversationId = row.id(2)?;
            // The lock prevents a takeover until the commit.
            tx.execute(&LOCK_CONVERSATION, &[org.into(), conversation.into()])?;
            tx.execute(&RETRY, &[org.into(), id.into()])?;
            Ok(true)
        })
    }
}

impl OrgStore<'_> {
    /// Stores the progress of a message and extends its claim to `claim_time`.
    pub async fn record_progress(
        &self,
        claimed: &OutboxEntry,
        claim_time: Duration,
    ) -> Result<SendPermit> {
        let OutboxEntry { org, id, attempts, progress, .. } = claimed;
        if *org != self.org {
            return Err(StoreError::NotFound("message that is being sent"));
        }
        let progress = progress_value(progress)?;
        let params = [(*id).into(), (*attempts).into(), progress, claim_time.into()];
        Ok(match self.execute(&UPDATE_PROGRESS, params).await? {
            0 => SendPermit::Revoked,
            _ => SendPermit::Granted,
        })
    }

    /// Returns the session that a team message is about.
    pub fn session_replied_to(
        &self,
        binding: BindingId,
        chat: &str,
        provider_id: &str,
    ) -> StoreFuture<Option<SessionId>> {
        let params = [binding.into(), chat.into(), provider_id.into()];
        self.optional(&SESSION_REPLIED_TO, params, |row| row.id(0))
    }

    /// Returns the handed-off session that the last team message of a chat is about.
    pub fn last_handed_off_session(
        &self,
        binding: BindingId,
        chat: &str,
    ) -> StoreFuture<Option<SessionId>> {
        self.optional(&LAST_HANDED_OFF_SESSION, [binding.into(), chat.into()], |row| row.id(0))
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
