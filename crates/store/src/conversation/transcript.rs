//! The transcript that the person in a web chat reads of their conversation; nothing
//! is sent to them.
//!
//! It consists of the threads of its sessions, one after the other. A message of an
//! agent may be shown once it was sent: until then a takeover can withdraw it.

use ostler_domain::id::{BlobId, ConversationId, OrgId, SessionId};
use ostler_domain::session::key::ConversationKey;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::conversation::history::{self, StoredMessage};
use crate::error::{Result, StoreError};

/// A position in a transcript: after a message of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TranscriptCursor {
    pub session: SessionId,
    /// The number of the message in the thread; 0 is before the first.
    pub seq: i64,
}

/// Where to start reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptStart {
    /// At the last messages of the newest session.
    Newest,
    /// After a position.
    After(TranscriptCursor),
}

/// A page of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    pub conversation: ConversationId,
    /// The newest session.
    pub session: Option<(SessionId, SessionPhase)>,
    /// Oldest first, each with its position.
    pub messages: Vec<(TranscriptCursor, StoredMessage)>,
    /// Payloads that are not sent yet, as JSON.
    pub unsent: Vec<String>,
    /// Payloads that were withdrawn before they were sent, as JSON.
    pub withdrawn: Vec<String>,
}

/// Whether a session is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionPhase {
    Open,
    Closed,
}

/// How much earlier than a message its outbox entry may have been created, in the bits
/// of an id: one minute. Both ids are created at nearly the same time.
const ID_TOLERANCE: u128 = 60_000 << 80;

const CONVERSATION: Sql = sql!("SELECT id FROM conversations WHERE org = ?1 AND key = ?2");
const NEWEST: Sql = Sql {
    sqlite: "SELECT s.id, s.status FROM sessions s INDEXED BY sessions_by_conversation
       WHERE s.org = ?1 AND s.conversation = ?2 ORDER BY s.id DESC LIMIT 1",
    postgres: "SELECT s.id, s.status FROM (
         SELECT id, status FROM sessions WHERE org = $1 AND conversation = $2 OFFSET 0) s
       ORDER BY s.id DESC LIMIT 1",
};
const LAST: Sql = sql!(
    "SELECT m.seq, m.id, m.data, s.id FROM sessions s
     JOIN messages m ON m.org = s.org AND m.thread = s.thread
     WHERE s.org = ?1 AND s.id = ?2 ORDER BY m.seq DESC LIMIT ?3"
);
const AFTER: Sql = sql!(
    "SELECT m.seq, m.id, m.data, s.id FROM sessions s
     JOIN messages m ON m.org = s.org AND m.thread = s.thread
     WHERE s.org = ?1 AND s.conversation = ?2 AND s.id >= ?3 AND (s.id > ?3 OR m.seq > ?4)
     ORDER BY s.id, m.seq LIMIT ?5"
);
const UNSENT: Sql = Sql {
    sqlite: "SELECT payload FROM outbox INDEXED BY outbox_open
       WHERE org = ?1 AND conversation = ?2 AND state IN ('pending', 'sending')",
    postgres: "SELECT payload FROM outbox
       WHERE org = $1 AND conversation = $2 AND state IN ('pending', 'sending')",
};
const WITHDRAWN: Sql = Sql {
    sqlite: "SELECT payload FROM outbox INDEXED BY outbox_by_conversation
       WHERE org = ?1 AND conversation = ?2 AND id >= ?3
         AND state NOT IN ('pending', 'sending') AND state = 'withdrawn'",
    postgres: "SELECT payload FROM outbox
       WHERE org = $1 AND conversation = $2 AND id >= $3
         AND state NOT IN ('pending', 'sending') AND state = 'withdrawn'",
};
const BLOB_USE: Sql =
    sql!("SELECT 1 FROM blob_uses WHERE org = ?1 AND conversation = ?2 AND blob = ?3");

impl OrgStore<'_> {
    /// Returns a page of the transcript of a conversation; None if the conversation does
    /// not exist.
    pub fn transcript(
        &self,
        key: &ConversationKey,
        start: TranscriptStart,
        limit: u32,
    ) -> StoreFuture<Option<Transcript>> {
        let (org, key) = (self.org, key.to_text());
        self.read(move |tx| match find(tx, org, &key)? {
            Some(conversation) => read_page(tx, org, conversation, start, limit).map(Some),
            None => Ok(None),
        })
    }

    /// Returns whether a conversation refers to a blob.
    pub fn conversation_uses_blob(&self, key: &ConversationKey, blob: BlobId) -> StoreFuture<bool> {
        let (org, key) = (self.org, key.to_text());
        self.read(move |tx| {
            let found = find(tx, org, &key)?;
            let conversation = found.ok_or(StoreError::NotFound("conversation"))?;
            let params = [org.into(), conversation.into(), blob.into()];
            Ok(tx.first(&BLOB_USE, &params)?.is_some())
        })
    }
}

/// Reads messages before the outbox: an entry that changes in between was sent or
/// withdrawn, and is returned as such.
fn read_page(
    tx: &Tx,
    org: OrgId,
    conversation: ConversationId,
    start: TranscriptStart,
    limit: u32,
) -> Result<Transcript> {
    let key = [Value::from(org), conversation.into()];
    let session = tx.first(&NEWEST, &key)?.as_ref().map(newest).transpose()?;
    let messages = match session {
        Some((newest, _)) => read_messages(tx, org, conversation, newest, start, limit)?,
        None => Vec::new(),
    };
    let unsent = payloads(&tx.query(&UNSENT, &key)?)?;
    let withdrawn = match messages.first() {
        Some((_, first)) => {
            let since = first.id.as_u128().saturating_sub(ID_TOLERANCE);
            let since = ostler_domain::id::OutboxId::from_u128(since);
            let params = [org.into(), conversation.into(), since.into()];
            payloads(&tx.query(&WITHDRAWN, &params)?)?
        }
        None => Vec::new(),
    };
    Ok(Transcript { conversation, session, messages, unsent, withdrawn })
}

fn read_messages(
    tx: &Tx,
    org: OrgId,
    conversation: ConversationId,
    newest: SessionId,
    start: TranscriptStart,
    limit: u32,
) -> Result<Vec<(TranscriptCursor, StoredMessage)>> {
    let rows = match start {
        TranscriptStart::Newest => {
            let mut rows = tx.query(&LAST, &[org.into(), newest.into(), limit.into()])?;
            rows.reverse();
            rows
        }
        TranscriptStart::After(TranscriptCursor { session, seq }) => {
            let params =
                [org.into(), conversation.into(), session.into(), seq.into(), limit.into()];
            tx.query(&AFTER, &params)?
        }
    };
    let with_cursor = |row: &Row| {
        let message = history::message(row)?;
        Ok((TranscriptCursor { session: row.id(3)?, seq: message.seq }, message))
    };
    rows.iter().map(with_cursor).collect()
}

fn find(tx: &Tx, org: OrgId, key: &str) -> Result<Option<ConversationId>> {
    let row = tx.first(&CONVERSATION, &[org.into(), key.into()])?;
    row.map(|row| row.id(0)).transpose()
}

fn newest(row: &Row) -> Result<(SessionId, SessionPhase)> {
    let end = if row.text(1)? == "closed" { SessionPhase::Closed } else { SessionPhase::Open };
    Ok((row.id(0)?, end))
}

fn payloads(rows: &[Row]) -> Result<Vec<String>> {
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}
