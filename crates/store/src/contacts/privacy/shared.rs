//! Erasure of what another org has a copy of: the record is replaced in all of them, and the
//! notices and audit details about it go.

use std::collections::BTreeSet;

use ostler_domain::id::{OrgId, RecordId};

use super::erase::delete_notices_about;
use crate::OrgStore;
use crate::contacts::records;
use crate::error::{Result, StoreError};

impl OrgStore<'_> {
    /// Replaces a shared record, without the words of the person, in all orgs that have a copy
    /// of it, and deletes the notices about it. Fails with [`StoreError::Conflict`] if it has
    /// changed since `version`.
    pub async fn erase_shared_record(
        &self,
        kind: &'static str,
        id: RecordId,
        version: i64,
        orgs: BTreeSet<OrgId>,
        data: String,
    ) -> Result<()> {
        if !orgs.contains(&self.org) {
            return Err(StoreError::NotFound("record"));
        }
        let others = orgs.clone();
        let erase = move |tx: &crate::backend::Tx| {
            for org in &orgs {
                records::update(tx, *org, kind, id, version, &data)?;
                delete_notices_about(tx, *org, [id.to_string()])?;
            }
            Ok(())
        };
        self.store.write_with_others(self.org, others, erase).await
    }
}
