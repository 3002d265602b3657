//! Blobs: the bytes of files that messages refer to. They are immutable.

use ostler_domain::id::{BlobId, OrgId};
use ostler_domain::message::{Attachment, MAX_BLOB_BYTES, MediaType};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::backend::{Operation, Scope, Tx};
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
const GET: Sql = sql!("SELECT data, created_at, bytes FROM blobs WHERE org = ?1 AND id = ?2");
const GET_ATTACHMENT: Sql = sql!("SELECT data FROM blobs WHERE org = ?1 AND id = ?2");
const DELETE: Sql = sql!("DELETE FROM blobs WHERE org = ?1 AND id = ?2");

impl OrgStore<'_> {
    /// Stores a blob and returns the attachment by which a message refers to it.
    /// Fails with [`StoreError::TooLarge`] above [`MAX_BLOB_BYTES`].
    pub async fn put_blob(&self, blob: NewBlob) -> Result<Attachment> {
        let NewBlob { id, media_type, name, bytes } = blob;
        if bytes.len() > MAX_BLOB_BYTES {
            return Err(StoreError::TooLarge { what: "file", limit: MAX_BLOB_BYTES });
        }
        let attachment = Attachment { blob: id, media_type, name, size: bytes.len() as u64 };
        self.store.write(Put(self.org, attachment.clone(), Value::Bytes(bytes))).await?;
        Ok(attachment)
    }

    /// Returns a blob.
    pub async fn blob(&self, id: BlobId) -> Result<StoredBlob> {
        self.store.read(Get(self.org, id)).await
    }

    /// Returns the attachment of a blob, without its bytes.
    pub async fn attachment(&self, id: BlobId) -> Result<Attachment> {
        self.store.read(GetAttachment(self.org, id)).await
    }

    /// Deletes a blob.
    pub async fn delete_blob(&self, id: BlobId) -> Result<()> {
        self.store.write(Delete(self.org, id)).await
    }
}

struct Put(OrgId, Attachment, Value);

impl Operation for Put {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(org, attachment, bytes) = self;
        let id = attachment.blob;
        let params = [(*org).into(), id.into(), Value::json(attachment)?, bytes.clone()];
        match tx.execute(&PUT, &params) {
            Err(StoreError::Conflict(_)) => Err(StoreError::Conflict(format!("blob {id}"))),
            other => other.map(|_| ()),
        }
    }
}

struct Get(OrgId, BlobId);

impl Operation for Get {
    type Output = StoredBlob;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<StoredBlob> {
        let row = tx.first(&GET, &[self.0.into(), self.1.into()])?;
        let row = row.ok_or(StoreError::NotFound("blob"))?;
        Ok(StoredBlob {
            attachment: row.json(0, "blob")?,
            created_at: Timestamp::from_millis(row.int(1)?),
            bytes: row.into_bytes(2)?,
        })
    }
}

struct GetAttachment(OrgId, BlobId);

impl Operation for GetAttachment {
    type Output = Attachment;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Attachment> {
        let row = tx.first(&GET_ATTACHMENT, &[self.0.into(), self.1.into()])?;
        row.ok_or(StoreError::NotFound("blob"))?.json(0, "blob")
    }
}

struct Delete(OrgId, BlobId);

impl Operation for Delete {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        match tx.execute(&DELETE, &[self.0.into(), self.1.into()])? {
            0 => Err(StoreError::NotFound("blob")),
            _ => Ok(()),
        }
    }
}
