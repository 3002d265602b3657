//! Blobs: the bytes of files that messages refer to. They are immutable.

use ostler_domain::id::{BlobId, OrgId};
use ostler_domain::message::{Attachment, MAX_BLOB_BYTES, MediaType};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};

/// A blob to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBlob {
    pub id: BlobId,
    pub media_type: MediaType,
    /// The file name, if any.
    pub name: Option<String>,
    pub bytes: Vec<u8>,
}

/// A stored blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    /// How messages refer to it.
    pub attachment: Attachment,
    pub bytes: Vec<u8>,
    pub created_at: Timestamp,
}

const PUT: Sql =
    sql!("INSERT INTO blobs (org, id, created_at, data, bytes) VALUES (?1, ?2, now_ms(), ?3, ?4)");
const PUT_ONCE: Sql = sql!(
    "INSERT INTO blobs (org, id, created_at, data, bytes) VALUES (?1, ?2, now_ms(), ?3, ?4)
     ON CONFLICT (org, id) DO NOTHING"
);
const GET: Sql = sql!("SELECT data, created_at, bytes FROM blobs WHERE org = ?1 AND id = ?2");
const GET_ATTACHMENT: Sql = sql!("SELECT data FROM blobs WHERE org = ?1 AND id = ?2");
const DELETE: Sql = sql!("DELETE FROM blobs WHERE org = ?1 AND id = ?2");
const STORED_BYTES: Sql = sql!("SELECT coalesce(sum(length(bytes)), 0) FROM blobs WHERE org = ?1");

impl NewBlob {
    fn attachment(&self) -> Result<Attachment> {
        if self.bytes.len() > MAX_BLOB_BYTES {
            return Err(StoreError::TooLarge { what: "file", limit: MAX_BLOB_BYTES });
        }
        let (media_type, name) = (self.media_type.clone(), self.name.clone());
        Ok(Attachment { blob: self.id, media_type, name, size: self.bytes.len() as u64 })
    }
}

/// Stores a blob inside a transaction, unless it is stored already.
pub(crate) fn put_once(tx: &Tx, org: OrgId, blob: &NewBlob) -> Result<()> {
    let attachment = Value::json(&blob.attachment()?)?;
    let params = [org.into(), blob.id.into(), attachment, Value::Bytes(blob.bytes.clone())];
    tx.execute(&PUT_ONCE, &params).map(drop)
}

/// Stores blobs inside a transaction, unless the org's blobs would exceed `limit` bytes.
pub(crate) fn put_all(tx: &Tx, org: OrgId, blobs: &[NewBlob], limit: u64) -> Result<()> {
    if blobs.is_empty() {
        return Ok(());
    }
    let new: u64 = blobs.iter().map(|blob| blob.bytes.len() as u64).sum();
    check_room(tx, org, new, limit)?;
    blobs.iter().try_for_each(|blob| put_once(tx, org, blob))
}

/// Fails if the org's blobs would exceed `limit` bytes with `new` more.
fn check_room(tx: &Tx, org: OrgId, new: u64, limit: u64) -> Result<()> {
    let stored = tx.first(&STORED_BYTES, &[org.into()])?.map_or(Ok(0), |row| row.int(0))?;
    let stored = u64::try_from(stored).unwrap_or_default();
    if stored.saturating_add(new) > limit {
        return Err(StoreError::StorageFull { limit });
    }
    Ok(())
}

impl OrgStore<'_> {
    /// Stores a blob and returns the attachment by which a message refers to it.
    /// Fails with [`StoreError::TooLarge`] above [`MAX_BLOB_BYTES`], and with
    /// [`StoreError::StorageFull`] beyond the storage of the org.
    pub async fn put_blob(&self, blob: NewBlob) -> Result<Attachment> {
        let attachment = blob.attachment()?;
        let NewBlob { id, bytes, .. } = blob;
        let (org, limit, new) = (self.org, self.store.storage_limit, bytes.len() as u64);
        let params = [org.into(), id.into(), Value::json(&attachment)?, Value::Bytes(bytes)];
        let put = self.write(move |tx| {
            check_room(tx, org, new, limit)?;
            tx.execute(&PUT, &params)
        });
        match put.await {
            Err(StoreError::Conflict(_)) => Err(StoreError::Conflict(format!("blob {id}"))),
            other => other.map(|_| attachment),
        }
    }

    /// Returns a blob.
    pub fn blob(&self, id: BlobId) -> StoreFuture<StoredBlob> {
        let key = [self.org.into(), id.into()];
        self.read(move |tx| {
            let row = tx.first(&GET, &key)?.ok_or(StoreError::NotFound("blob"))?;
            Ok(StoredBlob {
                attachment: row.json(0, "blob")?,
                created_at: row.time(1)?,
                bytes: row.into_bytes(2)?,
            })
        })
    }

    /// Returns the attachment of a blob, without its bytes.
    pub fn attachment(&self, id: BlobId) -> StoreFuture<Attachment> {
        self.one("blob", &GET_ATTACHMENT, [id.into()], |row| row.json(0, "blob"))
    }

    /// Deletes a blob.
    pub fn delete_blob(&self, id: BlobId) -> StoreFuture<()> {
        self.change("blob", &DELETE, [id.into()])
    }
}
