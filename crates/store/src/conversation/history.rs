//! The messages of a thread.

use ostler_domain::id::{MessageId, OrgId, ThreadId};

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Row;
use crate::backend::{Operation, Scope, Tx};
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

impl OrgStore<'_> {
    /// Returns the last messages of a thread, oldest first.
    pub async fn last_messages(&self, thread: ThreadId, limit: u32) -> Result<Vec<StoredMessage>> {
        self.store.read(Last(self.org, thread, limit)).await
    }

    /// Returns the same for a worker that continues the conversation.
    pub async fn thread_for_turn(
        &self,
        thread: ThreadId,
        limit: u32,
    ) -> Result<Vec<StoredMessage>> {
        self.store.read(LastForTurn(Last(self.org, thread, limit))).await
    }
}

struct LastForTurn(Last);

impl Operation for LastForTurn {
    type Output = Vec<StoredMessage>;
    const ON_WRITER: bool = true;

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn run(&self, tx: &Tx) -> Result<Vec<StoredMessage>> {
        self.0.run(tx)
    }
}

#[derive(Clone, Copy)]
struct Last(OrgId, ThreadId, u32);

impl Operation for Last {
    type Output = Vec<StoredMessage>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<StoredMessage>> {
        let rows = tx.query(&LAST, &[self.0.into(), self.1.into(), self.2.into()])?;
        rows.iter().rev().map(message).collect()
    }
}

pub(crate) fn message(row: &Row) -> Result<StoredMessage> {
    Ok(StoredMessage { seq: row.int(0)?, id: row.id(1)?, data: row.text(2)?.to_owned() })
}
