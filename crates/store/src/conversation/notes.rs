//! Notes of people about a session. Neither the customer nor a model reads them.

use ostler_domain::id::{NoteId, SessionId, UserId};
use ostler_domain::time::Timestamp;

use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::conversation::turn::NewEvent;
use crate::error::{Result, StoreError};
use crate::tenancy::audited_write::AuditedWrite;
use crate::{OrgStore, events};

/// A note about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionNote {
    pub id: NoteId,
    pub author: UserId,
    pub text: String,
    pub created_at: Timestamp,
}

const ADD: Sql = sql!(
    "INSERT INTO session_notes (org, session, id, author, text, created_at)
     SELECT ?1, ?2, ?3, ?4, ?5, now_ms() FROM sessions WHERE org = ?1 AND id = ?2"
);
const LIST: Sql = sql!(
    "SELECT id, author, text, created_at FROM session_notes
     WHERE org = ?1 AND session = ?2 ORDER BY id DESC LIMIT ?3"
);
const DELETE: Sql =
    sql!("DELETE FROM session_notes WHERE org = ?1 AND session = ?2 AND id = ?3 AND author = ?4");

impl OrgStore<'_> {
    /// Lists the newest notes about a session, newest first.
    pub fn session_notes(&self, session: SessionId, limit: u32) -> StoreFuture<Vec<SessionNote>> {
        self.rows(&LIST, [session.into(), limit.into()], note)
    }
}

impl AuditedWrite<'_> {
    /// Adds a note to a session, with an event. Fails with [`StoreError::NotFound`] if there
    /// is no such session.
    pub fn add_session_note(
        self,
        session: SessionId,
        id: NoteId,
        author: UserId,
        text: String,
        event: NewEvent,
    ) -> StoreFuture<()> {
        self.run(move |tx, org| {
            let params: [Value; 5] =
                [org.into(), session.into(), id.into(), author.into(), text.as_str().into()];
            if tx.execute(&ADD, &params)? == 0 {
                return Err(StoreError::NotFound("session"));
            }
            tx.batch(&[events::append_alone(org, &event)?]).map(drop)
        })
    }

    /// Deletes a note of this author. Fails with [`StoreError::NotFound`] if there is none.
    pub fn delete_session_note(
        self,
        session: SessionId,
        id: NoteId,
        author: UserId,
        event: NewEvent,
    ) -> StoreFuture<()> {
        self.run(move |tx, org| {
            let params: [Value; 4] = [org.into(), session.into(), id.into(), author.into()];
            if tx.execute(&DELETE, &params)? == 0 {
                return Err(StoreError::NotFound("note"));
            }
            tx.batch(&[events::append_alone(org, &event)?]).map(drop)
        })
    }
}

fn note(row: &Row) -> Result<SessionNote> {
    Ok(SessionNote {
        id: row.id(0)?,
        author: row.id(1)?,
        text: row.text(2)?.to_owned(),
        created_at: row.time(3)?,
    })
}
