//! Records that two orgs share: an issue, a delegation, an insight. Each of the orgs has a copy
//! under the same id, and one transaction changes both.

use std::collections::BTreeSet;

use ostler_domain::id::{OrgId, RecordId, SessionId};

use crate::OrgStore;
use crate::backend::Tx;
use crate::contacts::records;
use crate::conversation::inbox::{self, FollowUpEntry};
use crate::delivery::notices::{self, NewNotice};
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};

/// A change of a record that orgs share, with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedRecordChange {
    pub kind: &'static str,
    pub id: RecordId,
    /// The orgs that have a copy.
    pub orgs: BTreeSet<OrgId>,
    /// The version that was read; `None` creates the record.
    pub version: Option<i64>,
    /// JSON.
    pub data: String,
    pub notices: Vec<(OrgId, NewNotice)>,
    pub audit: Vec<(OrgId, NewAuditEntry)>,
    /// The conversation that goes on with the change.
    pub follow_up: Option<SharedFollowUp>,
}

/// An inbox entry for the conversation of a session. It is left out if the session is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFollowUp {
    pub org: OrgId,
    pub session: SessionId,
    pub entry: FollowUpEntry,
}

impl SharedRecordChange {
    /// Makes the change, inside a transaction that may write all its orgs.
    pub(crate) fn apply(&self, tx: &Tx) -> Result<()> {
        for org in &self.orgs {
            match self.version {
                Some(version) => {
                    records::update(tx, *org, self.kind, self.id, version, &self.data)?;
                }
                None => records::create(tx, *org, self.kind, self.id, &self.data)?,
            }
        }
        for (org, notice) in &self.notices {
            notices::notify(tx, *org, notice)?;
        }
        for (org, entry) in &self.audit {
            tx.batch(&[audit::append(*org, entry)?])?;
        }
        let Some(SharedFollowUp { org, session, entry }) = &self.follow_up else { return Ok(()) };
        match inbox::conversation_of(tx, *org, *session) {
            Ok(conversation) => inbox::add_follow_up(tx, *org, conversation, entry).map(drop),
            Err(StoreError::NotFound(_)) => Ok(()),
            Err(other) => Err(other),
        }
    }
}

impl OrgStore<'_> {
    /// Makes a change of a record that the org shares with others. Fails with
    /// [`StoreError::Conflict`] if one of the copies has changed since it was read, and with
    /// [`StoreError::NotFound`] if the org has no copy.
    pub async fn change_shared_record(&self, change: SharedRecordChange) -> Result<()> {
        if !change.orgs.contains(&self.org) {
            return Err(StoreError::NotFound("record"));
        }
        let others = change.orgs.clone();
        self.store.write_with_others(self.org, others, move |tx| change.apply(tx)).await
    }
}
