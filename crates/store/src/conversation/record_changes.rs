//! Changes of an org's records and contacts, applied in one transaction: the writes of
//! local tools, as part of the turn's commit or alone.

use ostler_domain::channel::Channel;
use ostler_domain::contact::Contact;
use ostler_domain::id::{ContactId, OrgId, RecordId};

use crate::OrgStore;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::contacts::contact;
use crate::contacts::identifiers;
use crate::contacts::records;
use crate::error::Result;

/// A change of a record or contact. `version` is the version that was read, counting
/// earlier changes of the same list; `data` is JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordChange {
    CreateRecord {
        kind: String,
        id: RecordId,
        data: String,
    },
    UpdateRecord {
        kind: String,
        id: RecordId,
        version: i64,
        data: String,
    },
    CreateContact(Contact),
    UpdateContact {
        version: i64,
        contact: Contact,
    },
    /// Links an identifier on a channel to a contact, unless it is linked already.
    LinkIdentifier {
        contact: ContactId,
        channel: Channel,
        identifier: String,
    },
    /// Deletes the contact with its identifiers.
    DeleteContact {
        id: ContactId,
        version: i64,
    },
}

impl OrgStore<'_> {
    /// Applies changes in order, or none if one of them is based on an old version.
    pub fn apply_changes(&self, changes: Vec<RecordChange>) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| apply(tx, org, &changes))
    }

    /// Deletes a contact with its identifiers, if it still has this version.
    pub fn delete_contact(&self, id: ContactId, version: i64) -> StoreFuture<()> {
        self.apply_changes(vec![RecordChange::DeleteContact { id, version }])
    }
}

/// Applies changes of an org in order. The caller's transaction must be rolled back if
/// one of them fails.
pub(crate) fn apply(tx: &Tx, org: OrgId, changes: &[RecordChange]) -> Result<()> {
    for change in changes {
        change.apply(tx, org)?;
    }
    Ok(())
}

impl RecordChange {
    /// Returns the kind and the bits of the id of what is changed.
    pub fn subject(&self) -> (String, u128) {
        match self {
            Self::CreateRecord { kind, id, .. } | Self::UpdateRecord { kind, id, .. } => {
                (kind.clone(), id.as_u128())
            }
            Self::CreateContact(contact) | Self::UpdateContact { contact, .. } => {
                ("contact".to_owned(), contact.id.as_u128())
            }
            Self::DeleteContact { id, .. } | Self::LinkIdentifier { contact: id, .. } => {
                ("contact".to_owned(), id.as_u128())
            }
        }
    }

    fn apply(&self, tx: &Tx, org: OrgId) -> Result<()> {
        match self {
            Self::CreateRecord { kind, id, data } => records::create(tx, org, kind, *id, data),
            Self::UpdateRecord { kind, id, version, data } => {
                records::update(tx, org, kind, *id, *version, data)
            }
            Self::CreateContact(contact) => contact::create(tx, org, contact).map(|_| ()),
            Self::UpdateContact { version, contact } => {
                contact::update(tx, org, *version, contact).map(|_| ())
            }
            Self::LinkIdentifier { contact, channel, identifier } => {
                identifiers::link(tx, org, *contact, channel, identifier)
            }
            Self::DeleteContact { id, version } => contact::delete(tx, org, *id, *version),
        }
    }
}
