//! The messages of a thread.

use ostler_domain::id::{MessageId, OrgId, ThreadId};

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::error::Result;

/// A stored message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    /// The position in the thread, from 1.
    pub seq: i64,
    pub id: MessageId,
    /// JSON.
    pub data: String,
}

const LAST: Sql = sql!(
    "SELECT seq, id, data FROM messages WHERE org = ?1 AND thread = ?2
     ORDER BY seq DESC LIMIT ?3"
);

const BEFORE: Sql = sql!(
    "SELECT seq, id, data FROM messages WHERE org = ?1 AND thread = ?2 AND seq < ?3
     ORDER BY seq DESC LIMIT ?4"
);

impl OrgStore<'_> {
    /// Returns a page of the messages of a thread, newest first. `before` is the position of
    /// the last one of the page before.
    pub fn messages_before(
        &self,
        thread: ThreadId,
        before: Option<i64>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredMessage>> {
        let org = self.org;
        self.read(move |tx| {
            let before = before.unwrap_or(i64::MAX);
            let values = [org.into(), thread.into(), before.into(), limit.into()];
            tx.query(&BEFORE, &values)?.iter().map(message).collect()
        })
    }

    /// Returns the last messages of a thread, oldest first.
    pub fn last_messages(&self, thread: ThreadId, limit: u32) -> StoreFuture<Vec<StoredMessage>> {
        let org = self.org;
        self.read(move |tx| last(tx, org, thread, limit))
    }

    /// Returns the same for a worker that continues the conversation.
    pub fn thread_for_turn(&self, thread: ThreadId, limit: u32) -> StoreFuture<Vec<StoredMessage>> {
        let org = self.org;
        self.read_hot(move |tx| last(tx, org, thread, limit))
    }
}

fn last(tx: &Tx, org: OrgId, thread: ThreadId, limit: u32) -> Result<Vec<StoredMessage>> {
    let rows = tx.query(&LAST, &[org.into(), thread.into(), limit.into()])?;
    rows.iter().rev().map(message).collect()
}

pub(crate) fn message(row: &Row) -> Result<StoredMessage> {
    Ok(StoredMessage { seq: row.int(0)?, id: row.id(1)?, data: row.text(2)?.to_owned() })
}
