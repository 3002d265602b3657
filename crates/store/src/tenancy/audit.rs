//! The audit log: who did what to what. Entries are only appended; erasing a
//! contact removes the details of entries about it.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, OrgId};
use ostler_domain::time::Timestamp;

use crate::OrgStore;
use crate::backend::Statement;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};

/// An audit entry to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEntry {
    pub id: AuditId,
    pub actor: AuditActor,
    /// For example `soul_edited`.
    pub action: String,
    /// The id of the affected object, as text.
    pub subject: String,
    /// Details, as JSON.
    pub data: String,
}

/// A stored audit entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub entry: NewAuditEntry,
    pub at: Timestamp,
}

const APPEND: Sql = sql!(
    "INSERT INTO audit (org, id, at, actor, action, subject, data)
     VALUES (?1, ?2, now_ms(), ?3, ?4, ?5, ?6)"
);
const ALL: Sql = sql!(
    "SELECT id, at, actor, action, subject, data FROM audit
     WHERE org = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);
const ABOUT: Sql = Sql {
    sqlite: "SELECT id, at, actor, action, subject, data FROM audit INDEXED BY audit_by_subject
       WHERE org = ?1 AND id < ?2 AND subject = ?4 ORDER BY id DESC LIMIT ?3",
    postgres: "SELECT id, at, actor, action, subject, data FROM audit
       WHERE org = $1 AND id < $2 AND subject = $4 ORDER BY id DESC LIMIT $3",
};

impl OrgStore<'_> {
    /// Appends an entry. Fails with [`StoreError::Conflict`] if its id is taken.
    pub fn append_audit(&self, entry: NewAuditEntry) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| match tx.batch(&[append(org, &entry)?]) {
            Err(StoreError::Conflict(_)) => {
                Err(StoreError::Conflict(format!("audit entry {}", entry.id)))
            }
            other => other.map(|_| ()),
        })
    }

    /// Returns the entries before `before`, newest first, optionally only those about
    /// one subject.
    pub fn audit_entries(
        &self,
        subject: Option<&str>,
        before: Option<AuditId>,
        limit: u32,
    ) -> StoreFuture<Vec<AuditEntry>> {
        let before = before.unwrap_or(AuditId::from_u128(u128::MAX)).into();
        match subject {
            None => self.rows(&ALL, [before, limit.into()], read_entry),
            Some(subject) => self.rows(&ABOUT, [before, limit.into(), subject.into()], read_entry),
        }
    }
}

/// The statement that appends an entry, for the transaction of the audited change.
pub(crate) fn append(org: OrgId, entry: &NewAuditEntry) -> Result<Statement> {
    let params = vec![
        org.into(),
        entry.id.into(),
        Value::json(&entry.actor)?,
        entry.action.as_str().into(),
        entry.subject.as_str().into(),
        entry.data.as_str().into(),
    ];
    Ok(Statement { sql: &APPEND, params, on_no_rows: None })
}

/// Reads an entry from the columns id, at, actor, action, subject and data.
pub(crate) fn read_entry(row: &Row) -> Result<AuditEntry> {
    Ok(AuditEntry {
        entry: NewAuditEntry {
            id: row.id(0)?,
            actor: row.json(2, "audit entry")?,
            action: row.text(3)?.to_owned(),
            subject: row.text(4)?.to_owned(),
            data: row.text(5)?.to_owned(),
        },
        at: Timestamp::from_millis(row.int(1)?),
    })
}
