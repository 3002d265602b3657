//! Threads of interactive harnesses.
//!
//! A thread belongs to a resource of an org: a user, a project, whatever the embedder
//! names. One process at a time works on a thread ([`lease`]); what it commits
//! ([`commit`]) is refused once another has taken the thread over.

pub(crate) mod commit;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod lease;
pub(crate) mod owner;
pub(crate) mod settings;
pub(crate) mod subagent_runs;

use ostler_domain::id::{RunId, ThreadId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};
use crate::memory;

/// A new thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewThread {
    pub id: ThreadId,
    pub resource: String,
    pub title: Option<String>,
    /// JSON.
    pub metadata: String,
    /// Messages to begin with.
    pub copy: Option<ThreadCopy>,
}

/// The messages that a new thread takes from another one. If it takes all of them, it has
/// the memory of the other one as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadCopy {
    pub from: ThreadId,
    /// The last message; `None` means all.
    pub up_to: Option<i64>,
}

/// A stored thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredThread {
    pub id: ThreadId,
    pub resource: String,
    pub title: Option<String>,
    /// The thread whose messages it began with.
    pub parent: Option<ThreadId>,
    /// JSON.
    pub metadata: String,
    pub message_count: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A place in the list of threads, which begins with the most recently used one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPlace {
    pub updated_at: Timestamp,
    pub id: ThreadId,
}

impl ThreadPlace {
    fn key(place: Option<Self>) -> [Value; 2] {
        let first = Self {
            updated_at: Timestamp::from_millis(i64::MAX),
            id: ThreadId::from_u128(u128::MAX),
        };
        let Self { updated_at, id } = place.unwrap_or(first);
        [updated_at.as_millis().into(), id.into()]
    }
}

/// A message of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredThreadMessage {
    pub seq: i64,
    pub turn: RunId,
    /// JSON.
    pub message: String,
}

const INSERT: Sql = sql!(
    "INSERT INTO harness_threads
       (org, id, resource, title, parent, metadata, message_count, created_at, updated_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_ms(), now_ms())"
);
const COPY: Sql = sql!(
    "INSERT INTO harness_messages (org, thread, seq, turn, message)
     SELECT org, ?2, seq, turn, message FROM harness_messages
     WHERE org = ?1 AND thread = ?3 AND seq <= ?4"
);
const COPIED: Sql =
    sql!("UPDATE harness_threads SET message_count = ?3 WHERE org = ?1 AND id = ?2");
const GET: Sql = sql!(
    "SELECT id, resource, title, parent, metadata, message_count, created_at, updated_at
     FROM harness_threads WHERE org = ?1 AND id = ?2"
);
const LIST: Sql = sql!(
    "SELECT id, resource, title, parent, metadata, message_count, created_at, updated_at
     FROM harness_threads WHERE org = ?1 AND resource = ?2 AND (updated_at, id) < (?3, ?4)
     ORDER BY updated_at DESC, id DESC LIMIT ?5"
);
/// The pattern is compared in lower case.
const SEARCH: Sql = sql!(
    "SELECT id, resource, title, parent, metadata, message_count, created_at, updated_at
     FROM harness_threads t WHERE org = ?1 AND resource = ?2 AND (updated_at, id) < (?3, ?4)
       AND (lower(coalesce(title, '')) LIKE ?5 ESCAPE '!'
         OR EXISTS (SELECT 1 FROM harness_messages m
                    WHERE m.org = t.org AND m.thread = t.id AND lower(m.message) LIKE ?5 ESCAPE '!'))
     ORDER BY updated_at DESC, id DESC LIMIT ?6"
);
const MESSAGES: Sql = sql!(
    "SELECT seq, turn, message FROM harness_messages
     WHERE org = ?1 AND thread = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4"
);

impl OrgStore<'_> {
    /// Stores a new thread. Fails with [`StoreError::NotFound`] if the thread to copy from
    /// does not exist.
    pub fn create_thread(&self, new: NewThread) -> StoreFuture<()> {
        let self_org = self.org;
        let org = Value::from(self_org);
        self.write(move |tx| {
            let source = new.copy.map(|copy| copy.from);
            if let Some(source) = source {
                let found = tx.first(&GET, &[org.clone(), source.into()])?;
                found.ok_or(StoreError::NotFound("thread"))?;
            }
            let params = [
                org.clone(),
                new.id.into(),
                new.resource.as_str().into(),
                new.title.clone().into(),
                source.into(),
                new.metadata.as_str().into(),
                0_i64.into(),
            ];
            tx.execute(&INSERT, &params)?;
            if let Some(ThreadCopy { from, up_to }) = new.copy {
                let up_to = up_to.unwrap_or(i64::MAX);
                let key = [org.clone(), Value::from(new.id)];
                let [of, id] = key.clone();
                let copied = tx.execute(&COPY, &[of, id, from.into(), up_to.into()])?;
                let count = i64::try_from(copied).unwrap_or(i64::MAX);
                let [of, id] = key;
                tx.execute(&COPIED, &[of.clone(), id.clone(), count.into()])?;
                tx.execute(&files::COPY, &[of, id, from.into()])?;
                if up_to == i64::MAX {
                    tx.batch(&memory::messages::copies(self_org, from, new.id))?;
                }
            }
            Ok(())
        })
    }

    /// Returns a thread.
    pub fn thread(&self, id: ThreadId) -> StoreFuture<Option<StoredThread>> {
        self.optional(&GET, [id.into()], thread)
    }

    /// Returns the threads of a resource after a place in the list, the most recently used
    /// first.
    pub fn threads(
        &self,
        resource: &str,
        after: Option<ThreadPlace>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredThread>> {
        let [at, id] = ThreadPlace::key(after);
        self.rows(&LIST, [resource.into(), at, id, limit.into()], thread)
    }

    /// Returns the threads of a resource after a place in the list that have a text in
    /// their title or messages, in any case of letters, the most recently used first.
    pub fn search_threads(
        &self,
        resource: &str,
        text: &str,
        after: Option<ThreadPlace>,
        limit: u32,
    ) -> StoreFuture<Vec<StoredThread>> {
        let mut pattern = String::from("%");
        for c in text.to_lowercase().chars() {
            if matches!(c, '%' | '_' | '!') {
                pattern.push('!');
            }
            pattern.push(c);
        }
        pattern.push('%');
        let [at, id] = ThreadPlace::key(after);
        self.rows(&SEARCH, [resource.into(), at, id, pattern.into(), limit.into()], thread)
    }

    /// Returns messages after a number, in order.
    pub fn thread_messages(
        &self,
        id: ThreadId,
        after: i64,
        limit: u32,
    ) -> StoreFuture<Vec<StoredThreadMessage>> {
        self.rows(&MESSAGES, [id.into(), after.into(), limit.into()], |row| {
            Ok(StoredThreadMessage {
                seq: row.int(0)?,
                turn: row.id(1)?,
                message: row.text(2)?.to_owned(),
            })
        })
    }
}

fn thread(row: &Row) -> Result<StoredThread> {
    Ok(StoredThread {
        id: row.id(0)?,
        resource: row.text(1)?.to_owned(),
        title: row.opt_parsed(2, "title")?,
        parent: match row.value(3)? {
            Value::Null => None,
            _ => Some(row.id(3)?),
        },
        metadata: row.text(4)?.to_owned(),
        message_count: row.int(5)?,
        created_at: row.time(6)?,
        updated_at: row.time(7)?,
    })
}
