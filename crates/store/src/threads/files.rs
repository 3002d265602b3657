//! Images of threads. They are stored beside the messages, which refer to them, and are
//! deleted with the thread.

use ostler_domain::id::{BlobId, ThreadId};

use super::lease::{ThreadLease, fenced};
use crate::OrgStore;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};

/// An image of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadFile {
    pub id: BlobId,
    /// Type, name and size, as JSON.
    pub media: String,
    pub bytes: Vec<u8>,
}

const HOLDS: Sql = sql!(
    "UPDATE harness_threads SET lease_token = lease_token
     WHERE org = ?1 AND id = ?2 AND lease_token = ?3 AND lease_until > 0"
);
const ADD: Sql =
    sql!("INSERT INTO harness_files (org, thread, file, media, bytes) VALUES (?1, ?2, ?3, ?4, ?5)");
const GET: Sql = sql!(
    "SELECT file, media, bytes FROM harness_files WHERE org = ?1 AND thread = ?2 AND file = ?3"
);
const COUNT: Sql = sql!("SELECT count(*) FROM harness_files WHERE org = ?1 AND thread = ?2");
/// A thread that begins with messages of another one has the files that these refer to.
pub(super) const COPY: Sql = sql!(
    "INSERT INTO harness_files (org, thread, file, media, bytes)
     SELECT f.org, ?2, f.file, f.media, f.bytes FROM harness_files f
     WHERE f.org = ?1 AND f.thread = ?3 AND EXISTS (
       SELECT 1 FROM harness_messages m
       WHERE m.org = f.org AND m.thread = ?2 AND m.message LIKE '%' || f.file || '%')"
);
pub(super) const DELETE: Sql = sql!("DELETE FROM harness_files WHERE org = ?1 AND thread = ?2");

impl OrgStore<'_> {
    /// Stores files of a thread. Fails with [`StoreError::StaleLease`] if
    /// another process has the thread; then nothing is stored.
    pub fn add_thread_files(&self, lease: ThreadLease, files: Vec<ThreadFile>) -> StoreFuture<()> {
        let key = lease.key();
        self.write(move |tx| {
            fenced(tx.execute(&HOLDS, &key)?)?;
            for ThreadFile { id, media, bytes } in &files {
                let [org, thread, _] = key.clone();
                let (id, media) = (id.to_string().into(), media.as_str().into());
                tx.execute(&ADD, &[org, thread, id, media, Value::Bytes(bytes.clone())])?;
            }
            Ok(())
        })
    }

    /// Returns a file of a thread.
    pub fn thread_file(&self, thread: ThreadId, id: BlobId) -> StoreFuture<Option<ThreadFile>> {
        self.optional(&GET, [thread.into(), id.to_string().into()], file)
    }

    /// Returns how many files a thread has.
    pub async fn thread_file_count(&self, thread: ThreadId) -> Result<u64> {
        let count = self.optional(&COUNT, [thread.into()], |row| row.int(0)).await?;
        Ok(count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
    }
}

fn file(row: &Row) -> Result<ThreadFile> {
    let id = row.text(0)?;
    let corrupt = |_| StoreError::CorruptValue { what: "file id", why: id.to_owned() };
    let id = id.parse().map_err(corrupt)?;
    let Value::Bytes(bytes) = row.value(2)? else {
        return Err(StoreError::CorruptValue { what: "file", why: "it has no bytes".to_owned() });
    };
    Ok(ThreadFile { id, media: row.text(1)?.to_owned(), bytes })
}
