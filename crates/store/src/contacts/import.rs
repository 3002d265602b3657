//! Many changes of records and contacts in one transaction with one audit entry.

use ostler_domain::id::{OrgId, RecordId};

use crate::backend::job::StoreFuture;
use crate::backend::{Statement, Tx};
use crate::contacts::{contact, identifiers, records};
use crate::conversation::record_changes::RecordChange;
use crate::error::{Result, StoreError};
use crate::tenancy::audited_write::AuditedWrite;

/// Statements sent together.
const BATCH: usize = 500;

impl AuditedWrite<'_> {
    /// Applies changes of different records and contacts, or none if one of them is based
    /// on an old version.
    pub fn apply_changes(self, changes: Vec<RecordChange>) -> StoreFuture<()> {
        self.run(move |tx, org| apply(tx, org, &changes))
    }

    /// Deletes a record that is still at `version`.
    pub fn delete_record(self, kind: &str, id: RecordId, version: i64) -> StoreFuture<()> {
        let kind = kind.to_owned();
        self.run(move |tx, org| records::delete(tx, org, &kind, id, version))
    }
}

/// Applies changes of different records and contacts inside a transaction.
pub(crate) fn apply(tx: &Tx, org: OrgId, changes: &[RecordChange]) -> Result<()> {
    changes.chunks(BATCH).try_for_each(|chunk| apply_batch(tx, org, chunk))
}

fn apply_batch(tx: &Tx, org: OrgId, changes: &[RecordChange]) -> Result<()> {
    let statements = changes.iter().map(|change| statement(org, change));
    let affected = tx.batch(&statements.collect::<Result<Vec<_>>>()?)?;
    if affected.iter().all(|rows| *rows == 1) {
        return Ok(());
    }
    Err(StoreError::Conflict("a newer version of one of these records".into()))
}

fn statement(org: OrgId, change: &RecordChange) -> Result<Statement> {
    match change {
        RecordChange::CreateRecord { kind, id, data } => {
            Ok(records::create_statement(org, kind, *id, data))
        }
        RecordChange::UpdateRecord { kind, id, version, data } => {
            Ok(records::update_statement(org, kind, *id, *version, data))
        }
        RecordChange::CreateContact(contact) => contact::create_statement(org, contact),
        RecordChange::UpdateContact { version, contact } => {
            contact::update_statement(org, *version, contact)
        }
        RecordChange::LinkIdentifier { contact, channel, identifier } => {
            identifiers::link_statement(org, *contact, channel, identifier)
        }
        RecordChange::DeleteContact { id, version } => {
            Ok(contact::delete_statement(org, *id, *version))
        }
    }
}
