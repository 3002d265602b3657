//! Finding messages in the sessions of an org, newest session first.
//!
//! There is no index of words: nothing personal is stored a second time, and a turn writes
//! nothing for searches. A search reads a limited number of messages and says where the next
//! one continues.

use std::sync::Arc;

use ostler_domain::id::{OrgId, SessionId, ThreadId};

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::Sql;
use crate::backend::value::Value;
use crate::conversation::history::{StoredMessage, message};
use crate::error::Result;

/// Decides by the JSON of a message whether it is one of those that are searched.
pub type MessageMatcher = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A found message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageHit {
    pub session: SessionId,
    /// The session as JSON.
    pub session_data: String,
    pub message: StoredMessage,
}

/// What a search found, and where the next one continues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageSearchPage {
    /// Newest session first; the messages of a session newest first.
    pub hits: Vec<MessageHit>,
    /// The last session that was searched; `None` if there are no older ones.
    pub next: Option<SessionId>,
}

/// Sessions read per query.
const SESSIONS_PER_QUERY: u32 = 50;
/// The most messages of a session that are searched, the newest ones.
const MESSAGES_PER_SESSION: u32 = 500;
/// The search ends with the session that reaches this number of messages.
const MAX_MESSAGES: usize = 5000;

/// The newest session of each thread.
const SESSIONS: Sql = Sql {
    sqlite: "SELECT s.id, s.thread, s.data FROM sessions s
       WHERE s.org = ?1 AND s.id < ?2 AND NOT EXISTS (
         SELECT 1 FROM sessions o INDEXED BY sessions_by_conversation
         WHERE o.org = s.org AND o.conversation = s.conversation AND o.thread = s.thread
           AND o.id > s.id)
       ORDER BY s.id DESC LIMIT ?3",
    postgres: "SELECT s.id, s.thread, s.data FROM sessions s
       WHERE s.org = $1 AND s.id < $2 AND NOT EXISTS (
         SELECT 1 FROM sessions o
         WHERE o.org = s.org AND o.conversation = s.conversation AND o.thread = s.thread
           AND o.id > s.id)
       ORDER BY s.id DESC LIMIT $3",
};
const MESSAGES: Sql = Sql {
    sqlite: "SELECT seq, id, data FROM messages WHERE org = ?1 AND thread = ?2
       ORDER BY seq DESC LIMIT ?3",
    postgres: "SELECT seq, id, data FROM messages WHERE org = $1 AND thread = $2
       ORDER BY seq DESC LIMIT $3",
};

impl OrgStore<'_> {
    /// Searches the messages of the sessions before `before`, until `limit` are found or
    /// enough was read.
    pub fn search_messages(
        &self,
        matches: MessageMatcher,
        before: Option<SessionId>,
        limit: u32,
    ) -> StoreFuture<MessageSearchPage> {
        let org = self.org;
        let before = before.unwrap_or(SessionId::from_u128(u128::MAX));
        self.read(move |tx| search(tx, org, &*matches, before, limit as usize))
    }
}

fn search(
    tx: &Tx,
    org: OrgId,
    matches: &(dyn Fn(&str) -> bool + Send + Sync),
    mut before: SessionId,
    limit: usize,
) -> Result<MessageSearchPage> {
    let (mut page, mut read) = (MessageSearchPage::default(), 0);
    loop {
        let sessions =
            tx.query(&SESSIONS, &[org.into(), before.into(), SESSIONS_PER_QUERY.into()])?;
        for row in &sessions {
            let (session, thread): (SessionId, ThreadId) = (row.id(0)?, row.id(1)?);
            let params: [Value; 3] = [org.into(), thread.into(), MESSAGES_PER_SESSION.into()];
            let messages = tx.query(&MESSAGES, &params)?;
            read += messages.len();
            for found in &messages {
                let message = message(found)?;
                if matches(&message.data) {
                    let session_data = row.text(2)?.to_owned();
                    page.hits.push(MessageHit { session, session_data, message });
                }
            }
            before = session;
            if page.hits.len() >= limit || read >= MAX_MESSAGES {
                page.next = Some(session);
                return Ok(page);
            }
        }
        if sessions.len() < SESSIONS_PER_QUERY as usize {
            return Ok(page);
        }
    }
}
