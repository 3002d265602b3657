//! Accounts of users at identity providers, by issuer and subject. A user may have several.

use ostler_domain::id::UserId;

use crate::Store;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::error::StoreError;
use crate::tenancy::audit::NewAuditEntry;
use crate::tenancy::logins::audit_user;

const FIND: Sql = sql!("SELECT user_id FROM login_identities WHERE issuer = ?1 AND subject = ?2");
const LINK: Sql = sql!(
    "INSERT INTO login_identities (issuer, subject, user_id, created_at)
     VALUES (?1, ?2, ?3, now_ms())"
);

impl Store {
    /// Returns the user with this account at an identity provider, if there is one.
    pub fn user_of_identity(&self, issuer: &str, subject: &str) -> StoreFuture<Option<UserId>> {
        let key = [issuer.into(), subject.into()];
        self.read_all_orgs(move |tx| tx.first(&FIND, &key)?.map(|row| row.id(0)).transpose())
    }

    /// Links an account at an identity provider to a user, with an audit entry in each org of
    /// the user. Fails with [`StoreError::Conflict`] if it is linked already.
    pub fn link_identity(
        &self,
        issuer: &str,
        subject: &str,
        user: UserId,
        entry: NewAuditEntry,
    ) -> StoreFuture<()> {
        let params = [issuer.into(), subject.into(), user.into()];
        self.write_all_orgs(move |tx| {
            audit_user(tx, user, &entry)?;
            tx.execute(&LINK, &params).map(drop).map_err(|error| match error {
                StoreError::Conflict(_) => StoreError::Conflict("a link of this account".into()),
                other => other,
            })
        })
    }
}
