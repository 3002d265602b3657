//! Several changes of an org's records and contacts at once: all of them happen,
//! or none. This is how what the tools of a turn want stored gets here, as a part
//! of the turn's commit or alone.

use ostler_domain::contact::Contact;
use ostler_domain::id::{ContactId, OrgId, RecordId};

use crate::OrgStore;
use crate::backend::{Operation, Scope, Tx};
use crate::error::Result;
use crate::{contacts, records};

/// One change. A version is the one that was read; each change before it in the
/// same list counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new record.
    CreateRecord {
        /// Its kind.
        kind: String,
        /// Its id.
        id: RecordId,
        /// All of it, as JSON.
        data: String,
    },
    /// A record as it is from now on.
    UpdateRecord {
        /// Its kind.
        kind: String,
        /// Its id.
        id: RecordId,
        /// The version that was read.
        version: i64,
        /// All of it, as JSON.
        data: String,
    },
    /// A new contact.
    CreateContact(Contact),
    /// A contact as they are from now on.
    UpdateContact {
        /// The version that was read.
        version: i64,
        /// All of it.
        contact: Contact,
    },
    /// A contact is forgotten, with all that channels call them.
    DeleteContact {
        /// Their id.
        id: ContactId,
        /// The version that was read.
        version: i64,
    },
}

impl OrgStore<'_> {
    /// Makes these changes in this order, or none of them if somebody else was
    /// faster with one.
    pub async fn change(&self, changes: Vec<Change>) -> Result<()> {
        self.store.write(Apply(self.org, changes)).await
    }

    /// Deletes a contact that is still the version that was read, with all that
    /// channels call them.
    pub async fn delete_contact(&self, id: ContactId, version: i64) -> Result<()> {
        self.change(vec![Change::DeleteContact { id, version }]).await
    }
}

struct Apply(OrgId, Vec<Change>);

impl Operation for Apply {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        make(tx, self.0, &self.1).await
    }
}

/// Makes these changes of an org in this order, as a part of a transaction that
/// is given up if one of them cannot be made.
pub(crate) async fn make<T: Tx>(tx: &T, org: OrgId, changes: &[Change]) -> Result<()> {
    for change in changes {
        change.make(tx, org).await?;
    }
    Ok(())
}

impl Change {
    async fn make<T: Tx>(&self, tx: &T, org: OrgId) -> Result<()> {
        match self {
            Self::CreateRecord { kind, id, data } => {
                records::create(tx, org, kind, *id, data).await
            }
            Self::UpdateRecord { kind, id, version, data } => {
                records::update(tx, org, kind, *id, *version, data).await
            }
            Self::CreateContact(contact) => contacts::create(tx, org, contact).await.map(|_| ()),
            Self::UpdateContact { version, contact } => {
                contacts::update(tx, org, *version, contact).await.map(|_| ())
            }
            Self::DeleteContact { id, version } => contacts::delete(tx, org, *id, *version).await,
        }
    }
}
