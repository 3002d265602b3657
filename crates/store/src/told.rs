//! What a person outside reads of their conversation where nothing is sent to
//! them and they look for themselves: a page with a chat on it.
//!
//! They read the threads of its sessions, one after the other. What an agent
//! wrote is theirs once it was sent: until then somebody may take over, and it
//! is withdrawn.

use ostler_domain::id::{BlobId, ConversationId, OrgId, SessionId};
use ostler_domain::session::key::ConversationKey;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::history::{self, StoredMessage};

/// A place in a conversation: behind a message of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TalkPlace {
    /// The session.
    pub session: SessionId,
    /// The number of the message in its thread; 0 is before the first.
    pub seq: i64,
}

/// Where somebody begins to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFrom {
    /// With the last messages of the newest session.
    Newest,
    /// Behind a place.
    Behind(TalkPlace),
}

/// What there is to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The conversation.
    pub conversation: ConversationId,
    /// The newest session, if there is one.
    pub session: Option<(SessionId, SessionEnd)>,
    /// Messages, oldest first, each with its place.
    pub messages: Vec<(TalkPlace, StoredMessage)>,
    /// What is still to be sent, as JSON.
    pub unsent: Vec<String>,
    /// What was withdrawn before it was sent, as JSON.
    pub withdrawn: Vec<String>,
}

/// Whether a session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// It does.
    Open,
    /// It is over.
    Closed,
}

/// How much older than its message a row of the outbox may look, in the bits of
/// an id: a minute. Both are made in the same moment.
const SLACK: u128 = 60_000 << 80;

const CONVERSATION: Sql = sql!("SELECT id FROM conversations WHERE org = ?1 AND key = ?2");
const NEWEST: Sql = Sql {
    sqlite: "SELECT s.id, s.status FROM sessions s INDEXED BY sessions_of
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
const BEHIND: Sql = sql!(
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
    sqlite: "SELECT payload FROM outbox INDEXED BY outbox_of
       WHERE org = ?1 AND conversation = ?2 AND id >= ?3
         AND state NOT IN ('pending', 'sending') AND state = 'withdrawn'",
    postgres: "SELECT payload FROM outbox
       WHERE org = $1 AND conversation = $2 AND id >= $3
         AND state NOT IN ('pending', 'sending') AND state = 'withdrawn'",
};
const USES: Sql =
    sql!("SELECT 1 FROM blob_uses WHERE org = ?1 AND conversation = ?2 AND blob = ?3");

impl OrgStore<'_> {
    /// What there is to read in a conversation; nothing if it has not begun.
    pub async fn told(
        &self,
        key: &ConversationKey,
        from: ReadFrom,
        most: u32,
    ) -> Result<Option<Told>> {
        let key = key.text();
        self.store.read(Tell { org: self.org, key, from, most }).await
    }

    /// Whether a blob belongs to a conversation.
    pub async fn is_blob_of(&self, key: &ConversationKey, blob: BlobId) -> Result<bool> {
        self.store.read(Uses(self.org, key.text(), blob)).await
    }
}

struct Tell {
    org: OrgId,
    key: String,
    from: ReadFrom,
    most: u32,
}

impl Operation for Tell {
    type Output = Option<Told>;

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    /// Messages are read before the outbox: a row that is gone from it by then
    /// was sent or withdrawn, and is seen as what it became.
    async fn run<T: Tx>(&self, tx: &T) -> Result<Option<Told>> {
        let Some(conversation) = find(tx, self.org, &self.key).await? else { return Ok(None) };
        let place = [Value::from(self.org), conversation.into()];
        let session = tx.first(&NEWEST, &place).await?.as_ref().map(newest).transpose()?;
        let messages = self.messages(tx, conversation, session.map(|(id, _)| id)).await?;
        let unsent = payloads(&tx.query(&UNSENT, &place).await?)?;
        let withdrawn = match messages.first() {
            Some((_, first)) => {
                let since = first.id.as_u128().saturating_sub(SLACK);
                let since = ostler_domain::id::OutboxId::from_u128(since);
                let params = [self.org.into(), conversation.into(), since.into()];
                payloads(&tx.query(&WITHDRAWN, &params).await?)?
            }
            None => Vec::new(),
        };
        Ok(Some(Told { conversation, session, messages, unsent, withdrawn }))
    }
}

impl Tell {
    async fn messages<T: Tx>(
        &self,
        tx: &T,
        conversation: ConversationId,
        newest: Option<SessionId>,
    ) -> Result<Vec<(TalkPlace, StoredMessage)>> {
        let mut rows = match (self.from, newest) {
            (_, None) => return Ok(Vec::new()),
            (ReadFrom::Newest, Some(session)) => {
                let params = [self.org.into(), session.into(), self.most.into()];
                tx.query(&LAST, &params).await?
            }
            (ReadFrom::Behind(TalkPlace { session, seq }), Some(_)) => {
                let params = [
                    self.org.into(),
                    conversation.into(),
                    session.into(),
                    seq.into(),
                    self.most.into(),
                ];
                tx.query(&BEHIND, &params).await?
            }
        };
        if self.from == ReadFrom::Newest {
            rows.reverse();
        }
        let placed = |row: &Row| {
            let message = history::message(row)?;
            Ok((TalkPlace { session: row.id(3)?, seq: message.seq }, message))
        };
        rows.iter().map(placed).collect()
    }
}

async fn find<T: Tx>(tx: &T, org: OrgId, key: &str) -> Result<Option<ConversationId>> {
    let row = tx.first(&CONVERSATION, &[org.into(), key.into()]).await?;
    row.map(|row| row.id(0)).transpose()
}

fn newest(row: &Row) -> Result<(SessionId, SessionEnd)> {
    let end = if row.text(1)? == "closed" { SessionEnd::Closed } else { SessionEnd::Open };
    Ok((row.id(0)?, end))
}

fn payloads(rows: &[Row]) -> Result<Vec<String>> {
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

struct Uses(OrgId, String, BlobId);

impl Operation for Uses {
    type Output = bool;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<bool> {
        let found = find(tx, self.0, &self.1).await?;
        let conversation = found.ok_or(StoreError::NotFound("conversation"))?;
        let params = [self.0.into(), conversation.into(), self.2.into()];
        Ok(tx.first(&USES, &params).await?.is_some())
    }
}
