//! The tables that contain personal data, and how each is read and erased.

use std::collections::BTreeSet;
use std::fmt::{self, Display};

use ostler_domain::id::{
    ApprovalId, BlobId, CallId, InboxId, MessageId, NoteId, NoticeId, OutboxId, RunId, SessionId,
    ThreadId, UserId,
};
use serde_json::{Value as Json, json};

use super::PersonalDataKind;
use crate::backend::sql::Sql;
use crate::backend::value::{Row, StoredId, Value};
use crate::contacts::blob_uses::blobs_in;
use crate::error::Result;
use crate::events::unpack;

/// A table with rows of one owner: a conversation, a session or a thread. The first
/// column is the sort key.
pub(super) struct Table {
    pub(super) kind: PersonalDataKind,
    /// Parameters: org, owner, the key before the first row, limit.
    pub(super) page: Sql,
    /// Parameters: org, owner, the key of the last row.
    pub(super) delete: Sql,
    /// A value that sorts before every key.
    pub(super) start: fn() -> Value,
    /// The exported items of a row.
    items: RowItems,
    /// The id as text, if notices and audit entries may be about it.
    pub(super) id_text: Option<fn(&Row) -> Result<String>>,
}

/// How many items a row exports.
#[derive(Clone, Copy)]
enum RowItems {
    One(fn(&Row) -> Result<Json>),
    Many(fn(&Row) -> Result<Vec<Json>>),
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
    /// Returns the exported items of a row.
    pub(super) fn items(&self, row: &Row) -> Result<Vec<Json>> {
        match self.items {
            RowItems::One(item) => Ok(vec![item(row)?]),
            RowItems::Many(items) => items(row),
        }
    }

    /// Returns how many items a row has.
    pub(super) fn item_count(&self, row: &Row) -> Result<u64> {
        match self.items {
            RowItems::One(_) => Ok(1),
            RowItems::Many(items) => Ok(items(row)?.len() as u64),
        }
    }

    /// A table keyed by ids.
    const fn new(
        kind: PersonalDataKind,
        (page, delete): (Sql, Sql),
        item: fn(&Row) -> Result<Json>,
        id_text: fn(&Row) -> Result<String>,
    ) -> Self {
        let start = || Value::Bytes(Vec::new());
        Self { kind, page, delete, start, items: RowItems::One(item), id_text: Some(id_text) }
    }

    /// A table keyed by numbers.
    const fn numbered(kind: PersonalDataKind, (page, delete): (Sql, Sql), items: RowItems) -> Self {
        Self { kind, page, delete, start: || Value::Int(0), items, id_text: None }
    }
}

/// The tables of a conversation, in the order in which they are read and deleted.
/// Checkpoints go before calls, because ending a checkpoint changes its calls.
pub(super) static OF_CONVERSATION: [Table; 4] = [
    Table::new(
        PersonalDataKind::Checkpoint,
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
        PersonalDataKind::Call,
        statements!(
            "journal" by "journal_by_conversation",
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
    Table::new(PersonalDataKind::Inbound, (INBOX, DELETE_INBOX), inbox_json, id::<InboxId>),
    Table::new(
        PersonalDataKind::Outbound,
        (OUTBOX, DELETE_OUTBOX),
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
    PersonalDataKind::Session,
    statements!("sessions" by "sessions_by_conversation", "conversation", "id", "thread, status, data"),
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

/// The tables of a session other than its messages. Events and answered messages go
/// before the runs by which they are found.
pub(super) static OF_SESSION: [Table; 5] = [
    Table::new(PersonalDataKind::Inbound, (ANSWERED, DELETE_ANSWERED), inbox_json, id::<InboxId>),
    Table::numbered(PersonalDataKind::Event, (EVENTS, DELETE_EVENTS), RowItems::Many(events_json)),
    Table::new(
        PersonalDataKind::Run,
        statements!("runs" by "runs_by_session", "session", "id", "data"),
        |row| Ok(json!({"id": id::<RunId>(row)?, "data": text(row, 1)})),
        id::<RunId>,
    ),
    Table::new(
        PersonalDataKind::Approval,
        statements!(
            "decisions" by "decisions_by_subject",
            "kind = 'approval' AND subject",
            "id",
            "state, data, requested_at"
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
    Table::new(
        PersonalDataKind::Note,
        statements!("session_notes", "session", "id", "author, text, created_at"),
        |row| {
            Ok(json!({
                "id": id::<NoteId>(row)?,
                "author": row.id::<UserId>(1)?,
                "text": row.text(2)?,
                "created_at": row.time(3)?,
            }))
        },
        id::<NoteId>,
    ),
];

/// The messages of a thread.
pub(super) static MESSAGES: Table = Table::numbered(
    PersonalDataKind::Message,
    statements!("messages", "thread", "seq", "id, data"),
    RowItems::One(|row| {
        let id = row.id::<MessageId>(1)?;
        Ok(json!({"id": id, "number": row.int(0)?, "data": text(row, 2)}))
    }),
);

/// Pending and unanswered rows have an index each.
const INBOX: Sql = Sql {
    sqlite: "SELECT id, provider_id, payload, state, reason, received_at FROM (
         SELECT id, provider_id, payload, state, reason, received_at
         FROM inbox INDEXED BY inbox_pending
         WHERE org = ?1 AND conversation = ?2 AND state = 'pending' AND id > ?3
         UNION ALL
         SELECT id, provider_id, payload, state, reason, received_at
         FROM inbox INDEXED BY inbox_by_conversation
         WHERE org = ?1 AND conversation = ?2 AND state <> 'pending' AND run IS NULL
           AND id > ?3)
       ORDER BY id LIMIT ?4",
    postgres: "SELECT id, provider_id, payload, state, reason, received_at FROM (
         SELECT id, provider_id, payload, state, reason, received_at FROM inbox
         WHERE org = $1 AND conversation = $2 AND state = 'pending' AND id > $3
         UNION ALL
         SELECT id, provider_id, payload, state, reason, received_at FROM inbox
         WHERE org = $1 AND conversation = $2 AND state <> 'pending' AND run IS NULL
           AND id > $3) AS unanswered
       ORDER BY id LIMIT $4",
};
const DELETE_INBOX: Sql = Sql {
    sqlite: "DELETE FROM inbox WHERE org = ?1 AND id IN (
         SELECT id FROM inbox INDEXED BY inbox_pending
         WHERE org = ?1 AND conversation = ?2 AND state = 'pending' AND id <= ?3
         UNION ALL
         SELECT id FROM inbox INDEXED BY inbox_by_conversation
         WHERE org = ?1 AND conversation = ?2 AND state <> 'pending' AND run IS NULL
           AND id <= ?3)",
    postgres: "DELETE FROM inbox WHERE org = $1 AND id IN (
         SELECT id FROM inbox
         WHERE org = $1 AND conversation = $2 AND state = 'pending' AND id <= $3
         UNION ALL
         SELECT id FROM inbox
         WHERE org = $1 AND conversation = $2 AND state <> 'pending' AND run IS NULL
           AND id <= $3)",
};
const ANSWERED: Sql = Sql {
    sqlite: "SELECT i.id, i.provider_id, i.payload, i.state, i.reason, i.received_at
       FROM runs r INDEXED BY runs_by_session CROSS JOIN inbox i INDEXED BY inbox_by_run
       WHERE r.org = ?1 AND r.session = ?2 AND i.org = ?1 AND i.run = r.id AND i.id > ?3
       ORDER BY i.id LIMIT ?4",
    postgres: "SELECT i.id, i.provider_id, i.payload, i.state, i.reason, i.received_at
       FROM runs r JOIN inbox i ON i.run = r.id
       WHERE r.org = $1 AND r.session = $2 AND i.org = $1 AND i.id > $3
       ORDER BY i.id LIMIT $4",
};
const DELETE_ANSWERED: Sql = Sql {
    sqlite: "DELETE FROM inbox INDEXED BY inbox_by_run WHERE org = ?1 AND id <= ?3 AND run IN (
         SELECT r.id FROM runs r INDEXED BY runs_by_session WHERE r.org = ?1 AND r.session = ?2)",
    postgres: "DELETE FROM inbox WHERE org = $1 AND id <= $3 AND run IN (
         SELECT r.id FROM runs r WHERE r.org = $1 AND r.session = $2)",
};

/// Rows to send and rows already sent have an index each.
const OUTBOX: Sql = Sql {
    sqlite: "SELECT id, author, payload, state, reason FROM (
         SELECT id, author, payload, state, reason FROM outbox INDEXED BY outbox_open
         WHERE org = ?1 AND conversation = ?2 AND state IN ('pending', 'sending') AND id > ?3
         UNION ALL
         SELECT id, author, payload, state, reason FROM outbox INDEXED BY outbox_by_conversation
         WHERE org = ?1 AND conversation = ?2 AND state NOT IN ('pending', 'sending')
           AND id > ?3)
       ORDER BY id LIMIT ?4",
    postgres: "SELECT id, author, payload, state, reason FROM (
         SELECT id, author, payload, state, reason FROM outbox
         WHERE org = $1 AND conversation = $2 AND state IN ('pending', 'sending') AND id > $3
         UNION ALL
         SELECT id, author, payload, state, reason FROM outbox
         WHERE org = $1 AND conversation = $2 AND state NOT IN ('pending', 'sending')
           AND id > $3) AS sent
       ORDER BY id LIMIT $4",
};
const DELETE_OUTBOX: Sql = Sql {
    sqlite: "DELETE FROM outbox WHERE org = ?1 AND id IN (
         SELECT id FROM outbox INDEXED BY outbox_open
         WHERE org = ?1 AND conversation = ?2 AND state IN ('pending', 'sending') AND id <= ?3
         UNION ALL
         SELECT id FROM outbox INDEXED BY outbox_by_conversation
         WHERE org = ?1 AND conversation = ?2 AND state NOT IN ('pending', 'sending')
           AND id <= ?3)",
    postgres: "DELETE FROM outbox WHERE org = $1 AND id IN (
         SELECT id FROM outbox
         WHERE org = $1 AND conversation = $2 AND state IN ('pending', 'sending') AND id <= $3
         UNION ALL
         SELECT id FROM outbox
         WHERE org = $1 AND conversation = $2 AND state NOT IN ('pending', 'sending')
           AND id <= $3)",
};

const EVENTS: Sql = Sql {
    sqlite: "SELECT e.id, e.data, e.at
       FROM runs r INDEXED BY runs_by_session CROSS JOIN events e INDEXED BY events_by_run
       WHERE r.org = ?1 AND r.session = ?2 AND e.org = ?1 AND e.run = r.id AND e.id > ?3
       ORDER BY e.id LIMIT ?4",
    postgres: "SELECT e.id, e.data, e.at FROM runs r JOIN events e ON e.run = r.id
       WHERE r.org = $1 AND r.session = $2 AND e.org = $1 AND e.id > $3
       ORDER BY e.id LIMIT $4",
};
const DELETE_EVENTS: Sql = Sql {
    sqlite: "DELETE FROM events INDEXED BY events_by_run WHERE org = ?1 AND id <= ?3 AND run IN (
         SELECT r.id FROM runs r INDEXED BY runs_by_session WHERE r.org = ?1 AND r.session = ?2)",
    postgres: "DELETE FROM events WHERE org = $1 AND id <= $3 AND run IN (
         SELECT r.id FROM runs r WHERE r.org = $1 AND r.session = $2)",
};

/// An inbox row as JSON.
fn inbox_json(row: &Row) -> Result<Json> {
    Ok(json!({
        "id": id::<InboxId>(row)?,
        "provider_id": row.text(1)?,
        "payload": text(row, 2),
        "state": row.text(3)?,
        "reason": text(row, 4),
        "received_at": row.time(5)?,
    }))
}

/// The events of a row as JSON, each with its number.
fn events_json(row: &Row) -> Result<Vec<Json>> {
    let (last, at) = (row.int(0)?, row.time(2)?);
    let events = unpack(row.text(1)?)?;
    let numbers = (1..=last).rev().take(events.len()).collect::<Vec<_>>();
    let items = events.into_iter().zip(numbers.into_iter().rev()).map(|(event, id)| {
        json!({"id": id, "name": event.kind, "data": json_or_string(&event.data), "at": at})
    });
    Ok(items.collect())
}

/// Notices about an object: their subject starts with its id. There are few, because
/// repeated notices are suppressed for a while.
pub(super) const NOTICES: Sql = Sql {
    sqlite: "SELECT id, kind, recipient, subject, data, created_at
       FROM notices INDEXED BY notices_by_subject
       WHERE org = ?1 AND subject >= ?2 AND subject < ?2 || '~'",
    postgres: r#"SELECT id, kind, recipient, subject, data, created_at FROM notices
       WHERE org = $1 AND subject COLLATE "C" >= $2 AND subject COLLATE "C" < $2 || '~'"#,
};
pub(super) const DELETE_NOTICES: Sql = Sql {
    sqlite: "DELETE FROM notices INDEXED BY notices_by_subject
       WHERE org = ?1 AND subject >= ?2 AND subject < ?2 || '~'",
    postgres: r#"DELETE FROM notices
       WHERE org = $1 AND subject COLLATE "C" >= $2 AND subject COLLATE "C" < $2 || '~'"#,
};

/// A notice as JSON.
pub(super) fn notice_json(row: &Row) -> Result<Json> {
    Ok(json!({
        "id": id::<NoticeId>(row)?,
        "about": text(row, 1),
        "recipient": text(row, 2),
        "subject": row.text(3)?,
        "data": text(row, 4),
        "created_at": row.time(5)?,
    }))
}

/// Returns the blobs that a row refers to.
pub(super) fn blobs_in_row(row: &Row) -> BTreeSet<BlobId> {
    let texts = row.0.iter().filter_map(|value| match value {
        Value::Text(text) => Some(blobs_in(text)),
        _ => None,
    });
    texts.flatten().collect()
}

/// The id in the first column, as text.
fn id<I: StoredId + Display>(row: &Row) -> Result<String> {
    row.id::<I>(0).map(|id| id.to_string())
}

/// A text column as the JSON it contains, or as a JSON string.
fn text(row: &Row, column: usize) -> Json {
    match row.0.get(column) {
        Some(Value::Text(text)) => json_or_string(text),
        _ => Json::Null,
    }
}

fn json_or_string(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.to_owned()))
}
