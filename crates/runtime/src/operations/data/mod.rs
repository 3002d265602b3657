//! Business data: importing, listing, showing and removing it.

mod import;
mod stored;

use std::collections::BTreeMap;

use ostler_domain::business_data::DataKind;
use ostler_domain::id::{BlobId, ContactId};
use ostler_domain::message::MediaType;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{NewBlob, RecordChange, StoreError};
use serde_json::{Map, Value, json};

use super::{OperationError, OrgOperations, Result};
use crate::ids::derived;

use import::Planner;
pub use stored::StoredItem;
pub(in crate::operations) use stored::contact_keys;

/// A row of a file, valid by itself. A field that is null is removed from what is stored; a
/// field that is absent stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportRow {
    /// The row in the file, counted from 1.
    pub number: u64,
    /// The own key, by which the record is recognized.
    pub key: String,
    /// A part of the stored record. An order may have the e-mail address or number of a
    /// contact instead of its id.
    pub fields: Map<String, Value>,
    /// The file of a media item.
    pub file: Option<ImportFile>,
}

/// A file to import with its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFile {
    pub media_type: MediaType,
    pub name: String,
    pub bytes: Vec<u8>,
}

/// What an import does with a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowOutcome {
    Create,
    /// The names of the fields that change.
    Change(Vec<String>),
    Unchanged,
    Refused {
        /// Empty if the reason concerns the whole row.
        column: String,
        reason: String,
    },
}

/// The plan for one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPlan {
    pub number: u64,
    pub key: String,
    pub outcome: RowOutcome,
}

/// The plan for a file. It holds only while the stored records stay as they are.
#[derive(Debug, Clone, Default)]
pub struct ImportPlan {
    /// In the order of the file.
    pub rows: Vec<RowPlan>,
    changes: Vec<RecordChange>,
    blobs: Vec<NewBlob>,
}

impl ImportPlan {
    /// Adds a row that was refused before it could be compared with what is stored.
    pub fn refuse(&mut self, number: u64, column: String, reason: String) {
        let outcome = RowOutcome::Refused { column, reason };
        self.rows.push(RowPlan { number, key: String::new(), outcome });
        self.rows.sort_by_key(|row| row.number);
    }

    /// Returns the changes of records, in the order of the file.
    pub(super) fn changes(&self) -> &[RecordChange] {
        &self.changes
    }

    /// Returns the files to store before the changes.
    pub(super) fn blobs(&self) -> &[NewBlob] {
        &self.blobs
    }

    /// Returns what the audit log keeps of the import of a file.
    pub(super) fn audit_data(&self, file: &str) -> Value {
        json!({
            "file": file,
            "created": self.count(|outcome| matches!(outcome, RowOutcome::Create)),
            "changed": self.count(|outcome| matches!(outcome, RowOutcome::Change(_))),
            "unchanged": self.count(|outcome| matches!(outcome, RowOutcome::Unchanged)),
            "refused": self.count(|outcome| matches!(outcome, RowOutcome::Refused { .. })),
        })
    }

    /// Returns how many rows have an outcome.
    pub fn count(&self, is_wanted: fn(&RowOutcome) -> bool) -> usize {
        self.rows.iter().filter(|row| is_wanted(&row.outcome)).count()
    }
}

impl OrgOperations<'_> {
    /// Compares rows with what is stored and plans what an import would do; nothing is
    /// stored. `key_field` names the field that was used as the own key, by which records
    /// that were not imported are recognized too.
    pub async fn plan_import(
        &self,
        kind: DataKind,
        rows: Vec<ImportRow>,
        key_field: Option<&str>,
    ) -> Result<ImportPlan> {
        self.plan_import_with(kind, rows, key_field, &BTreeMap::new()).await
    }

    /// Plans an import that may also name contacts that are not stored yet, by their own
    /// keys.
    pub(super) async fn plan_import_with(
        &self,
        kind: DataKind,
        rows: Vec<ImportRow>,
        key_field: Option<&str>,
        new_contacts: &BTreeMap<String, ContactId>,
    ) -> Result<ImportPlan> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let mut planner = Planner::load(store, kind, key_field).await?;
        planner.add_contacts(new_contacts);
        for row in rows {
            planner.add(row)?;
        }
        Ok(planner.finish())
    }

    /// Makes the changes of a plan in one transaction with one audit entry; refused rows are
    /// left out, and a plan without changes leaves no entry. Fails if a record has changed since the plan was made.
    pub async fn apply_import(
        &self,
        kind: DataKind,
        plan: &mut ImportPlan,
        file: &str,
    ) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        if plan.changes.is_empty() {
            return Ok(());
        }
        let data = plan.audit_data(file);
        for blob in std::mem::take(&mut plan.blobs) {
            // Its id follows from its content.
            match store.put_blob(blob).await {
                Ok(_) | Err(StoreError::Conflict(_)) => {}
                Err(other) => return Err(other.into()),
            }
        }
        let audit = self.audit_entry("import_data", &kind, &data);
        Ok(store.audited(audit).apply_changes(std::mem::take(&mut plan.changes)).await?)
    }

    /// Returns items of a kind after `after`.
    pub async fn data_items(
        &self,
        kind: DataKind,
        after: Option<u128>,
        limit: u32,
    ) -> Result<Vec<StoredItem>> {
        let store = self.authorize(OrgPermission::View).await?;
        Ok(stored::page(store, kind, after.unwrap_or(0), limit).await?)
    }

    /// Returns the item with an own key, id or name.
    pub async fn data_item(&self, kind: DataKind, key: &str) -> Result<StoredItem> {
        let store = self.authorize(OrgPermission::View).await?;
        let found = stored::find(store, kind, key).await?;
        let (kind, key) = (kind.singular().to_owned(), key.to_owned());
        found.ok_or(OperationError::NoRecord { kind, key })
    }

    /// Returns the file of the item with an own key, id or name. Fails if it has none.
    pub async fn data_file(&self, kind: DataKind, key: &str) -> Result<ImportFile> {
        let item = self.data_item(kind, key).await?;
        let id: Option<BlobId> = item.data["blob"].as_str().and_then(|text| text.parse().ok());
        let Some(id) = id else {
            let key = key.to_owned();
            return Err(OperationError::NoRecord { kind: "file".to_owned(), key });
        };
        let blob = self.authorize(OrgPermission::View).await?.blob(id).await?;
        let name = blob.attachment.name.unwrap_or_default();
        Ok(ImportFile { media_type: blob.attachment.media_type, name, bytes: blob.bytes })
    }

    /// Removes the record with an own key, id or name. Contacts are deleted with
    /// [`delete_contact`](Self::delete_contact).
    pub async fn remove_data(&self, kind: DataKind, key: &str) -> Result<StoredItem> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let item = self.data_item(kind, key).await?;
        let Some(id) = item.record else {
            let (kind, key) = (kind.singular().to_owned(), key.to_owned());
            return Err(OperationError::NoRecord { kind, key });
        };
        let audit = self.audit_change("remove_data", &id, &item.data, &Value::Null);
        store.audited(audit).delete_record(kind.singular(), id, item.version).await?;
        Ok(item)
    }
}

/// Returns the id of a file with this content in an org.
fn blob_id(org: u128, file: &ImportFile) -> BlobId {
    use sha2::{Digest as _, Sha256};
    let hash = Sha256::digest(&file.bytes);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    derived(BlobId::from_u128, org, &format!("media:{hash}"))
}
