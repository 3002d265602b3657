//! Accounts on channels that belong to users: the codes that link them, and what is linked.

use ostler_domain::contact::normalize_email;
use ostler_domain::org::account_link::{AccountLink, LinkCode, link_lifetime};
use ostler_domain::time::Timestamp;
use ostler_store::{Record, User};
use serde_json::json;

use super::logins::random_secret;
use super::{OperationError, OrgOperations, Result};
use crate::account_links::{LINK, read, store_code};
use crate::records::encode;

/// How many links are read at once.
const PAGE: u32 = 500;

impl OrgOperations<'_> {
    /// Creates a code that links an account on a channel to a user, once, within `minutes`.
    /// Only its hash is stored.
    pub async fn create_link_code(
        &self,
        user: &str,
        minutes: u32,
    ) -> Result<(User, LinkCode, Timestamp)> {
        let store = self.authorize_platform().await?;
        let user = self.user(user).await?.user;
        // The code fits into a link of Telegram: at most 64 characters.
        let code: LinkCode = random_secret::<_, 16>(LinkCode::PREFIX)?;
        let expires_at = self.inner().clock.now() + link_lifetime(minutes);
        let data = json!({"email": user.email, "expires_at": expires_at});
        let audit = self.audit_entry("create_link_code", &user.id, &data);
        store_code(store, user.id, &code, expires_at, audit).await?;
        Ok((user, code, expires_at))
    }

    /// Returns the linked accounts with their users, ordered by e-mail address. Revoked ones
    /// are left out.
    pub async fn account_links(&self) -> Result<Vec<(User, AccountLink)>> {
        let mut links = Vec::new();
        for (_, link) in self.link_records().await? {
            let user = self.user(&link.user.to_string()).await?.user;
            links.push((user, link));
        }
        links.sort_by(|(one, _), (other, _)| one.email.cmp(&other.email));
        Ok(links)
    }

    /// Revokes the links of an account, by its identifier on the channel, or of all accounts
    /// of a user, by e-mail address. Returns what was revoked.
    pub async fn revoke_account_links(&self, name: &str) -> Result<Vec<AccountLink>> {
        let store = self.authorize_platform().await?;
        let (name, email) = (name.trim(), normalize_email(name));
        let (mut revoked, now) = (Vec::new(), self.inner().clock.now());
        for (stored, link) in self.link_records().await? {
            let user = self.user(&link.user.to_string()).await?.user;
            let is_users = email.is_some() && normalize_email(&user.email) == email;
            if !is_users && link.account.identifier != name {
                continue;
            }
            let after = AccountLink { revoked_at: Some(now), ..link.clone() };
            let (before, data) = (json!(link), json!(after));
            let audit = self.audit_change("unlink_account", &link.user, &before, &data);
            let write = store.audited(audit);
            write.save_record(LINK, stored.id, Some(&stored), encode(&after)).await?;
            revoked.push(after);
        }
        if revoked.is_empty() {
            return Err(OperationError::NoAccountLink(name.to_owned()));
        }
        Ok(revoked)
    }

    /// Returns the links that are not revoked, with their records.
    async fn link_records(&self) -> Result<Vec<(Record, AccountLink)>> {
        let store = self.authorize_platform().await?;
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = store.records(LINK, after, PAGE).await?;
            after = page.last().map(|record| record.id);
            let is_last = page.len() < PAGE as usize;
            for record in page {
                let link: AccountLink = read(&record)?;
                if link.revoked_at.is_none() {
                    all.push((record, link));
                }
            }
            if is_last {
                return Ok(all);
            }
        }
    }
}
