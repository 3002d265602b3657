//! The tables that have something of a person: how each is read and emptied.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use ostler_domain::id::{
    ApprovalId, BlobId, CallId, InboxId, MessageId, NoticeId, OutboxId, RunId, SessionId, ThreadId,
};
use serde_json::{Value as Json, json};

use super::Personal;
use crate::backend::sql::Sql;
use crate::backend::value::{Row, StoredId, Value};
use crate::blob_uses::blobs_in;
use crate::error::Result;

/// Rows of one owner: a conversation, a session or a thread. The first column is
/// what they are ordered by.
pub(super) struct Table {
    pub(super) kind: Personal,
    /// Parameters: the org, the owner, the key before the first row, how many.
    pub(super) page: Sql,
    /// Parameters: the org, the owner, the key of the last row.
    pub(super) delete: Sql,
    /// What comes before every key.
    pub(super) start: fn() -> Value,
    /// The row for a reader.
    pub(super) show: fn(&Row) -> Result<Json>,
    /// The written id, if notices and audit lines may be about it.
    pub(super) name: Option<fn(&Row) -> Result<String>>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)
    }
}

macro_rules! statements {
    ($table:literal $(by $index:literal)?, $owner:literal, $key:literal, $columns:literal) => {(
        Sql {
            sqlite: concat!(
                "SELECT ", $key, ", ", $columns, " FROM ", $table, $(" INDEXED BY ", $index,)?
                " WHERE org = ?1 AND ", $owner, " = ?2 AND ", $key, " > ?3 ORDER BY ", $key,
                " LIMIT ?4"
            ),
            postgres: concat!(
                "SELECT ", $key, ", ", $columns, " FROM ", $table,
                " WHERE org = $1 AND ", $owner, " = $2 AND ", $key, " > $3 ORDER BY ", $key,
                " LIMIT $4"
            ),
        },
        Sql {
            sqlite: concat!(
                "DELETE FROM ", $table, $(" INDEXED BY ", $index,)?
                " WHERE org = ?1 AND ", $owner, " = ?2 AND ", $key, " <= ?3"
            ),
            postgres: concat!(
                "DELETE FROM ", $table,
                " WHERE org = $1 AND ", $owner, " = $2 AND ", $key, " <= $3"
            ),
        },
    )};
}

impl Table {
    /// A table whose rows have ids.
    const fn new(
        kind: Personal,
        (page, delete): (Sql, Sql),
        show: fn(&Row) -> Result<Json>,
        name: fn(&Row) -> Result<String>,
    ) -> Self {
        Self { kind, page, delete, start: || Value::Bytes(Vec::new()), show, name: Some(name) }
    }

    /// A table whose rows have numbers.
    const fn numbered(
        kind: Personal,
        (page, delete): (Sql, Sql),
        show: fn(&Row) -> Result<Json>,
    ) -> Self {
        Self { kind, page, delete, start: || Value::Int(0), show, name: None }
    }
}

/// Whose rows are in the order in which they are read and deleted. A checkpoint
/// goes before the calls, because its end changes them.
pub(super) static OF_CONVERSATION: [Table; 4] = [
    Table::new(
        Personal::Checkpoint,
        statements!("checkpoints", "conversation", "run", "version, state, saved_at"),
        |row| {
            Ok(json!({
                "run": id::<RunId>(row)?,
                "version": row.int(1)?,
                "state": text(row, 2),
                "saved_at": row.time(3)?,
            }))
        },
        id::<RunId>,
    ),
    Table::new(
        Personal::Call,
        statements!(
            "journal" by "journal_in",
            "conversation",
            "id",
            "run, tool, arguments, state, outcome, reason, intended_at"
        ),
        |row| {
            Ok(json!({
                "id": id::<CallId>(row)?,
                "run": row.id::<RunId>(1)?,
                "tool": row.text(2)?,
                "arguments": text(row, 3),
                "state": row.text(4)?,
                "outcome": text(row, 5),
                "reason": text(row, 6),
                "intended_at": row.time(7)?,
            }))
        },
        id::<CallId>,
    ),
    Table::new(
        Personal::Inbound,
        statements!(
            "inbox" by "inbox_of",
            "conversation",
            "id",
            "provider_id, payload, state, reason, received_at"
        ),
        |row| {
            Ok(json!({
                "id": id::<InboxId>(row)?,
                "provider_id": row.text(1)?,
                "payload": text(row, 2),
                "state": row.text(3)?,
                "reason": text(row, 4),
                "received_at": row.time(5)?,
            }))
        },
        id::<InboxId>,
    ),
    Table::new(
        Personal::Outbound,
        statements!("outbox" by "outbox_of", "conversation", "id", "author, payload, state, reason"),
        |row| {
            Ok(json!({
                "id": id::<OutboxId>(row)?,
                "author": row.text(1)?,
                "payload": text(row, 2),
                "state": row.text(3)?,
                "reason": text(row, 4),
            }))
        },
        id::<OutboxId>,
    ),
];

/// The sessions of a conversation.
pub(super) static SESSIONS: Table = Table::new(
    Personal::Session,
    statements!("sessions" by "sessions_of", "conversation", "id", "thread, status, data"),
    |row| {
        Ok(json!({
            "id": id::<SessionId>(row)?,
            "thread": row.id::<ThreadId>(1)?,
            "status": row.text(2)?,
            "data": text(row, 3),
        }))
    },
    id::<SessionId>,
);

/// What a session has, its messages aside.
pub(super) static OF_SESSION: [Table; 3] = [
    Table::new(
        Personal::Run,
        statements!("runs" by "runs_of", "session", "id", "data"),
        |row| Ok(json!({"id": id::<RunId>(row)?, "data": text(row, 1)})),
        id::<RunId>,
    ),
    Table::new(
        Personal::Approval,
        statements!(
            "decisions" by "decisions_about",
            "kind = 'approval' AND subject",
            "id",
            "state, data, asked_at"
        ),
        |row| {
            Ok(json!({
                "id": id::<ApprovalId>(row)?,
                "state": row.text(1)?,
                "data": text(row, 2),
                "asked_at": row.time(3)?,
            }))
        },
        id::<ApprovalId>,
    ),
    Table::numbered(
        Personal::Event,
        statements!("events" by "events_in", "session", "id", "kind, data, at"),
        |row| {
            let (name, at) = (row.text(1)?, row.time(3)?);
            Ok(json!({"id": row.int(0)?, "name": name, "data": text(row, 2), "at": at}))
        },
    ),
];

/// The messages of a thread.
pub(super) static MESSAGES: Table = Table::numbered(
    Personal::Message,
    statements!("messages", "thread", "seq", "id, data"),
    |row| {
        let id = row.id::<MessageId>(1)?;
        Ok(json!({"id": id, "number": row.int(0)?, "data": text(row, 2)}))
    },
);

/// Notices about something: its id is how their subject begins. There are few,
/// because the same is not said again for a while.
pub(super) const NOTICES: Sql = Sql {
    sqlite: "SELECT id, kind, recipient, subject, data, created_at
       FROM notices INDEXED BY notices_about
       WHERE org = ?1 AND subject >= ?2 AND subject < ?2 || '~'",
    postgres: r#"SELECT id, kind, recipient, subject, data, created_at FROM notices
       WHERE org = $1 AND subject COLLATE "C" >= $2 AND subject COLLATE "C" < $2 || '~'"#,
};
pub(super) const DELETE_NOTICES: Sql = Sql {
    sqlite: "DELETE FROM notices INDEXED BY notices_about
       WHERE org = ?1 AND subject >= ?2 AND subject < ?2 || '~'",
    postgres: r#"DELETE FROM notices
       WHERE org = $1 AND subject COLLATE "C" >= $2 AND subject COLLATE "C" < $2 || '~'"#,
};

/// A notice for a reader.
pub(super) fn notice(row: &Row) -> Result<Json> {
    Ok(json!({
        "id": id::<NoticeId>(row)?,
        "about": text(row, 1),
        "recipient": text(row, 2),
        "subject": row.text(3)?,
        "data": text(row, 4),
        "created_at": row.time(5)?,
    }))
}

/// The blobs that a row refers to.
pub(super) fn blobs(row: &Row) -> BTreeSet<BlobId> {
    let texts = row.0.iter().filter_map(|value| match value {
        Value::Text(text) => Some(blobs_in(text)),
        _ => None,
    });
    texts.flatten().collect()
}

/// The id in the first column, written.
fn id<I: StoredId + Display>(row: &Row) -> Result<String> {
    row.id::<I>(0).map(|id| id.to_string())
}

/// A text of a row: as the JSON that it is, or as the words that it is.
fn text(row: &Row, column: usize) -> Json {
    match row.0.get(column) {
        Some(Value::Text(text)) => {
            serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.clone()))
        }
        _ => Json::Null,
    }
}
