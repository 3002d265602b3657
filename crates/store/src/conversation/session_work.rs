//! Who looks after a session, and how far each person has read it. Neither changes what is
//! answered: assigning a session does not take it over.

use ostler_domain::id::{OrgId, SessionId, ThreadId, UserId};
use ostler_domain::time::Timestamp;

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::conversation::turn::NewEvent;
use crate::delivery::notices::{self, NewNotice};
use crate::error::{Result, StoreError};
use crate::tenancy::audited_write::AuditedWrite;
use crate::{OrgStore, events};

/// The person who looks after a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    pub user: UserId,
    pub by: UserId,
    pub at: Timestamp,
}

/// What people do with a session besides answering.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionWork {
    pub assignment: Option<Assignment>,
    pub notes: u32,
    /// The number of the last message of the thread.
    pub last_seq: i64,
    /// The last message of the thread, as it is stored.
    pub last_message: Option<String>,
    /// The number of the last message that the reader has read; 0 if none.
    pub read_seq: i64,
}

/// One row, whatever of it there is.
const WORK: Sql = sql!(
    "SELECT (SELECT count(*) FROM session_notes n WHERE n.org = ?1 AND n.session = ?2),
       m.seq, m.data, r.seq, a.user_id, a.assigned_by, a.assigned_at
     FROM (SELECT 1) one
     LEFT JOIN messages m ON m.org = ?1 AND m.thread = ?3
       AND m.seq = (SELECT max(l.seq) FROM messages l WHERE l.org = ?1 AND l.thread = ?3)
     LEFT JOIN session_read_marks r ON r.org = ?1 AND r.session = ?2 AND r.user_id = ?4
     LEFT JOIN session_assignments a ON a.org = ?1 AND a.session = ?2"
);
const ASSIGN: Sql = sql!(
    "INSERT INTO session_assignments (org, session, user_id, assigned_by, assigned_at)
     SELECT ?1, ?2, ?3, ?4, now_ms() FROM sessions WHERE org = ?1 AND id = ?2
     ON CONFLICT (org, session) DO UPDATE SET user_id = excluded.user_id,
       assigned_by = excluded.assigned_by, assigned_at = excluded.assigned_at"
);
const UNASSIGN: Sql = sql!("DELETE FROM session_assignments WHERE org = ?1 AND session = ?2");
/// Reading older messages again leaves the mark where it is.
const MARK_READ: Sql = sql!(
    "INSERT INTO session_read_marks (org, session, user_id, seq, read_at)
     SELECT ?1, ?2, ?3, coalesce((SELECT max(m.seq) FROM messages m
       WHERE m.org = ?1 AND m.thread = s.thread AND m.seq <= ?4), 0), now_ms()
     FROM sessions s WHERE s.org = ?1 AND s.id = ?2
     ON CONFLICT (org, session, user_id) DO UPDATE SET seq = excluded.seq,
       read_at = excluded.read_at
     WHERE session_read_marks.seq < excluded.seq"
);

impl OrgStore<'_> {
    /// Returns what people do with these sessions, in their order, as a reader sees it.
    pub fn session_work(
        &self,
        sessions: Vec<(SessionId, ThreadId)>,
        reader: UserId,
    ) -> StoreFuture<Vec<SessionWork>> {
        let org = self.org;
        self.read(move |tx| work(tx, org, &sessions, reader))
    }

    /// Remembers that a person has read a session up to a message, or up to the last one.
    pub fn mark_session_read(
        &self,
        session: SessionId,
        reader: UserId,
        up_to: Option<i64>,
    ) -> StoreFuture<()> {
        let params =
            [self.org.into(), session.into(), reader.into(), Value::Int(up_to.unwrap_or(i64::MAX))];
        self.write_later(move |tx| tx.execute(&MARK_READ, &params).map(drop))
    }
}

impl AuditedWrite<'_> {
    /// Assigns a session to a person, or to nobody, with an event and, if the person has to
    /// learn of it, a notice. Fails with [`StoreError::NotFound`] if there is no such session.
    pub fn assign_session(
        self,
        session: SessionId,
        to: Option<(UserId, Option<NewNotice>)>,
        by: UserId,
        event: NewEvent,
    ) -> StoreFuture<()> {
        self.run(move |tx, org| {
            match &to {
                Some((user, _)) => {
                    let params = [org.into(), session.into(), (*user).into(), by.into()];
                    if tx.execute(&ASSIGN, &params)? == 0 {
                        return Err(StoreError::NotFound("session"));
                    }
                }
                None => drop(tx.execute(&UNASSIGN, &[org.into(), session.into()])?),
            }
            tx.batch(&[events::append_alone(org, &event)?])?;
            match &to {
                Some((_, Some(notice))) => notices::notify(tx, org, notice).map(drop),
                _ => Ok(()),
            }
        })
    }
}

fn work(
    tx: &Tx,
    org: OrgId,
    sessions: &[(SessionId, ThreadId)],
    reader: UserId,
) -> Result<Vec<SessionWork>> {
    let key = |(session, thread): &(SessionId, ThreadId)| {
        vec![org.into(), (*session).into(), (*thread).into(), reader.into()]
    };
    let keys: Vec<Vec<Value>> = sessions.iter().map(key).collect();
    let found = tx.query_each(&WORK, &keys)?;
    found.iter().map(|rows| rows.first().map_or_else(|| Ok(SessionWork::default()), read)).collect()
}

fn read(row: &Row) -> Result<SessionWork> {
    let assignment = match row.value(4)? {
        Value::Null => None,
        _ => Some(Assignment { user: row.id(4)?, by: row.id(5)?, at: row.time(6)? }),
    };
    Ok(SessionWork {
        assignment,
        notes: u32::try_from(row.int(0)?).unwrap_or(u32::MAX),
        last_seq: row.opt_int(1)?.unwrap_or_default(),
        last_message: row.opt_parsed(2, "message")?,
        read_seq: row.opt_int(3)?.unwrap_or_default(),
    })
}
