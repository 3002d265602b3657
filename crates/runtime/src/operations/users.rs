//! User accounts of the whole installation. They belong to no org, so they are managed,
//! and their changes audited, in the platform's org.

use ostler_domain::id::UserId;
use ostler_domain::org::OrgPlace;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{OrgStore, StoreError, User, UserAccount};
use serde_json::json;

use super::people::clean_email;
use super::{OperationError, OrgOperations, Result};

impl OrgOperations<'_> {
    /// Returns a page of all accounts, ordered by id. `after` is the last one of the page
    /// before.
    pub async fn users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<UserAccount>> {
        self.authorize_platform().await?;
        Ok(self.inner().store.users(after, limit).await?)
    }

    /// Returns an account by its e-mail address or id.
    pub async fn user(&self, name: &str) -> Result<UserAccount> {
        self.authorize_platform().await?;
        let store = &self.inner().store;
        let found = match name.trim().parse() {
            Ok(id) => store.user_account(id).await,
            Err(_) => store.user_account_by_email(name).await,
        };
        match found {
            Err(StoreError::NotFound(_)) => Err(OperationError::NoUser(name.to_owned())),
            other => Ok(other?),
        }
    }

    /// Changes the name or e-mail address of an account. `None` leaves it as it is.
    pub async fn change_user(
        &self,
        user: &str,
        name: Option<&str>,
        email: Option<&str>,
    ) -> Result<User> {
        let store = self.authorize_platform().await?;
        let before = self.user(user).await?.user;
        let name = name.unwrap_or(&before.name).trim().to_owned();
        if name.is_empty() {
            return Err(OperationError::Empty("the name of a person"));
        }
        let email = clean_email(email.unwrap_or(&before.email))?;
        let after = User { id: before.id, email, name };
        if after == before {
            return Ok(after);
        }
        let data = |user: &User| json!({"name": user.name, "email": user.email});
        let audit = self.audit_change("change_user", &after.id, &data(&before), &data(&after));
        store.audited(audit).update_user(after.clone()).await?;
        Ok(after)
    }

    pub(super) async fn authorize_platform(&self) -> Result<OrgStore<'_>> {
        let store = self.authorize(OrgPermission::ManagePeople).await?;
        match store.org().await?.place {
            OrgPlace::Platform => Ok(store),
            OrgPlace::TopLevel | OrgPlace::SubOrg { .. } => Err(OperationError::NotPlatform),
        }
    }
}
