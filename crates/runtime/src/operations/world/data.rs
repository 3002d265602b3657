//! Business data of world files: planned like an import, and stored in the transaction of
//! its org.
//!
//! What the file said is remembered row by row. A row that the file has not changed since
//! is left as it lives, so applying a file again does not undo what agents did.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::business_data::DataKind;
use ostler_domain::id::{ContactId, OrgId};
use ostler_store::{ConfigWrite, NewAuditEntry, RecordChange};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::data::contact_keys;
use super::super::{Actor, ImportPlan, ImportRow, Operations, OrgOperations, Result, RowOutcome};
use super::CheckedPlan;
use crate::ids::fresh;

/// The rows of a file for an org.
#[derive(Debug)]
pub struct DataRows {
    /// The slug of the org.
    pub org: String,
    pub kind: DataKind,
    /// The name of the file, or `rows`.
    pub source: String,
    /// The field that was used as the own key.
    pub key_field: Option<String>,
    pub rows: Vec<ImportRow>,
    /// Rows that are not valid: their number, column and reason.
    pub refused: Vec<(u64, String, String)>,
}

/// What a plan does with the rows of a file.
#[derive(Debug)]
pub struct DataPlan {
    /// The slug of the org.
    pub org: String,
    pub kind: DataKind,
    pub source: String,
    pub import: ImportPlan,
    /// How many rows the file has not changed since they were applied.
    pub kept: usize,
    digests: Digests,
}

/// Digests of the rows that were applied.
pub(super) type Digests = BTreeSet<String>;

/// Which side stays where a row was applied before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppliedRows {
    /// A row that the file has not changed since stays as it lives.
    Skip,
    /// Every row is set to what the file says.
    Repeat,
}

impl DataPlan {
    /// Returns how many rows are refused.
    pub fn refused(&self) -> usize {
        self.import.count(|outcome| matches!(outcome, RowOutcome::Refused { .. }))
    }

    /// Returns whether records are created or changed.
    pub fn changes_something(&self) -> bool {
        !self.import.changes().is_empty()
    }

    /// Returns the name under which its digests are remembered.
    fn name(&self) -> String {
        applied_name(&self.org, self.kind, &self.source)
    }

    fn audit_entry(&self, actor: Actor) -> NewAuditEntry {
        NewAuditEntry {
            id: fresh(ostler_domain::id::AuditId::from_u128),
            actor: actor.audit_actor(),
            action: "import_data".to_owned(),
            subject: self.kind.to_string(),
            data: self.import.audit_data(&self.source).to_string(),
        }
    }
}

/// The beginning of the names under which digests are remembered.
const APPLIED_PREFIX: &str = "data ";

fn applied_name(org: &str, kind: DataKind, source: &str) -> String {
    format!("{APPLIED_PREFIX}{org}/{kind}/{source}")
}

/// Reads the digests that were remembered for an org.
pub(super) fn read_digests(stored: &BTreeMap<String, Value>) -> BTreeMap<String, Digests> {
    let data = stored.iter().filter(|(name, _)| name.starts_with(APPLIED_PREFIX));
    data.map(|(name, value)| {
        let digests = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        (name.clone(), digests.map(str::to_owned).collect())
    })
    .collect()
}

impl Operations {
    /// Adds business data to a plan. Rows are compared with what is stored; contacts come
    /// first, so that orders can name them.
    pub async fn plan_data(
        &self,
        actor: Actor,
        plan: &mut CheckedPlan,
        mut data: Vec<DataRows>,
        applied: AppliedRows,
    ) -> Result<()> {
        data.sort_by_key(|one| (one.org.clone(), one.kind != DataKind::Contacts));
        let mut new_contacts: BTreeMap<String, BTreeMap<String, ContactId>> = BTreeMap::new();
        for one in data {
            let org = plan.live.names.id(&one.org).unwrap_or_else(|| {
                let new = plan.new_orgs.entry(one.org.clone());
                *new.or_insert_with(|| fresh(OrgId::from_u128))
            });
            let contacts = new_contacts.entry(one.org.clone()).or_default();
            let planned = self.as_actor(actor, org).plan_rows(one, plan, contacts, applied).await?;
            for change in planned.import.changes() {
                if let RecordChange::CreateContact(contact) = change {
                    let keys = contact_keys(&json!(contact)).into_iter();
                    contacts.extend(keys.map(|key| (key, contact.id)));
                }
            }
            plan.data.push(planned);
        }
        Ok(())
    }
}

impl OrgOperations<'_> {
    async fn plan_rows(
        &self,
        data: DataRows,
        plan: &CheckedPlan,
        contacts: &BTreeMap<String, ContactId>,
        applied: AppliedRows,
    ) -> Result<DataPlan> {
        let DataRows { org, kind, source, key_field, rows, refused } = data;
        let known = plan.live.applied_data.get(&applied_name(&org, kind, &source));
        let known = known.filter(|_| applied == AppliedRows::Skip);
        let total = rows.len();
        let (mut digests, mut changed) = (Digests::new(), Vec::new());
        for row in rows {
            let digest = digest(&row);
            if !known.is_some_and(|known| known.contains(&digest)) {
                changed.push(row);
            }
            digests.insert(digest);
        }
        let kept = total - changed.len();
        let mut import =
            self.plan_import_with(kind, changed, key_field.as_deref(), contacts).await?;
        for (number, column, reason) in refused {
            import.refuse(number, column, reason);
        }
        Ok(DataPlan { org, kind, source, import, kept, digests })
    }
}

impl CheckedPlan {
    /// Returns the writes and audit entries of an org's business data.
    pub(super) fn data_writes(
        &self,
        actor: Actor,
        org: &str,
    ) -> (Vec<ConfigWrite>, Vec<NewAuditEntry>) {
        let plans = self.data.iter().filter(|plan| plan.org == org && plan.changes_something());
        let (mut writes, mut audit) = (Vec::new(), Vec::new());
        for plan in plans {
            writes.extend(plan.import.blobs().iter().cloned().map(ConfigWrite::Blob));
            writes.push(ConfigWrite::Records(plan.import.changes().to_vec()));
            audit.push(plan.audit_entry(actor));
        }
        (writes, audit)
    }

    /// Returns whether the files have rows for an org that are not remembered as applied.
    pub(super) fn has_new_data(&self, org: &str) -> bool {
        let mut data = self.data.iter().filter(|data| data.org == org);
        data.any(|data| {
            data.changes_something()
                || self.live.applied_data.get(&data.name()) != Some(&data.digests)
        })
    }
}

/// Returns the digests to remember for an org: those of the plan, and those of data that the
/// plan does not have.
pub(super) fn digests_of(plan: &CheckedPlan, org: &str) -> BTreeMap<String, Digests> {
    let prefix = format!("{APPLIED_PREFIX}{org}/");
    let before = plan.live.applied_data.iter().filter(|(name, _)| name.starts_with(&prefix));
    let mut all: BTreeMap<String, Digests> =
        before.map(|(name, digests)| (name.clone(), digests.clone())).collect();
    let planned = plan.data.iter().filter(|data| data.org == org);
    all.extend(planned.map(|data| (data.name(), data.digests.clone())));
    all
}

/// Returns a short digest of a row.
fn digest(row: &ImportRow) -> String {
    let mut hash = Sha256::new().chain_update(&row.key).chain_update([0]);
    hash.update(Value::Object(row.fields.clone()).to_string());
    if let Some(file) = &row.file {
        hash.update(&file.bytes);
    }
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
