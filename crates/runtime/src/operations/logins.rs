//! Log-ins of people: starting and ending them, passwords, and the one-time codes with which
//! people set a password. Passwords are hashed and checked by the server; here are only
//! their hashes.
//!
//! Accounts belong to no org. Somebody may reset the log-in of a person who could also remove
//! them from every org that they are a member of; otherwise an admin of one org could take
//! over an account that works in another.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, LoginId, UserId};
use ostler_domain::login::attempts::{AddressFamiliarity, AttemptCounter};
use ostler_domain::login::secret::{LoginToken, PasswordCode};
use ostler_domain::org::people::check_role_change;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::secret::PasswordHash;
use ostler_domain::time::Timestamp;
use ostler_store::{Login, Member, NewAuditEntry, NewLogin, StoreError, User, UserAccount};
use serde_json::{Value, json};

use super::{NewMember, OperationError, Operations, OrgOperations, Result};
use crate::ids::fresh;

/// The longest description of a browser that is stored.
const MAX_CLIENT: usize = 200;

/// Where a log-in comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginOrigin {
    /// `password`, `code`, or the name of an identity provider.
    pub method: String,
    /// The network address of the browser.
    pub address: String,
    /// How the browser describes itself.
    pub client: String,
}

/// A new one-time code to set a password.
#[derive(Debug)]
pub struct NewPasswordCode {
    pub code: PasswordCode,
    pub user: User,
    pub expires_at: Timestamp,
}

impl Operations {
    /// Starts a log-in of a user whose password or code was checked. `replaces` is the log-in
    /// that the browser had before; it ends.
    pub async fn start_login(
        &self,
        user: UserId,
        origin: LoginOrigin,
        replaces: Option<&LoginToken>,
    ) -> Result<LoginToken> {
        let token = random_secret(LoginToken::PREFIX)?;
        let LoginOrigin { method, address, client } = origin;
        let id = fresh(LoginId::from_u128);
        let data = json!({"method": method, "address": address});
        let client = client.chars().take(MAX_CLIENT).collect();
        let new = NewLogin { id, user, method, address, client };
        let entry = user_entry(user, "log_in", &id, &data);
        self.0.store.create_login(new, &token, replaces, entry).await?;
        Ok(token)
    }

    /// Returns the account and the address familiarity of a log-in that is tried. An unknown
    /// e-mail address takes the same steps as a known one.
    pub async fn login_candidate(
        &self,
        email: &str,
        address: &str,
    ) -> Result<(Option<UserAccount>, AddressFamiliarity)> {
        let store = &self.0.store;
        let account = match store.user_account_by_email(email).await {
            Ok(account) => Some(account),
            Err(StoreError::NotFound(_)) => None,
            Err(other) => return Err(other.into()),
        };
        let user = account.as_ref().map_or(UserId::from_u128(0), |account| account.user.id);
        let is_known = store.logins(user).await?.iter().any(|login| login.address == address);
        let familiarity =
            if is_known { AddressFamiliarity::Known } else { AddressFamiliarity::Unknown };
        Ok((account, familiarity))
    }

    /// Counts an attempt to log in, and returns whether it may be decided.
    pub async fn count_login_attempt(&self, counters: Vec<AttemptCounter>) -> Result<bool> {
        Ok(self.0.store.count_login_attempt(counters).await?)
    }

    /// Returns the log-ins of a user, newest first.
    pub async fn own_logins(&self, user: UserId) -> Result<Vec<Login>> {
        Ok(self.0.store.logins(user).await?)
    }

    /// Ends a log-in of a user.
    pub async fn end_own_login(&self, user: UserId, id: LoginId) -> Result<()> {
        let entry = user_entry(user, "log_out", &id, &Value::Null);
        Ok(self.0.store.end_login(user, id, entry).await?)
    }

    /// Changes the password of a user, and ends the log-ins apart from the current one.
    pub async fn change_password(
        &self,
        user: UserId,
        password: &PasswordHash,
        current: LoginId,
    ) -> Result<()> {
        let entry = user_entry(user, "change_password", &user, &Value::Null);
        Ok(self.0.store.change_password(user, password, current, entry).await?)
    }

    /// Returns the account that a password code belongs to, and when the code expires.
    pub async fn password_code(&self, code: &PasswordCode) -> Result<(UserAccount, Timestamp)> {
        self.0.store.password_code(code).await.map_err(unknown_code)
    }

    /// Sets a password with a one-time code, and ends all log-ins of the user.
    pub async fn use_password_code(
        &self,
        code: &PasswordCode,
        password: &PasswordHash,
    ) -> Result<UserId> {
        let (account, _) = self.password_code(code).await?;
        let user = account.user.id;
        let entry = user_entry(user, "set_password", &user, &Value::Null);
        self.0.store.use_password_code(code, password, entry).await.map_err(unknown_code)
    }

    /// Returns the user with an account at an identity provider. A user whose e-mail address
    /// the provider has verified is linked to the account at the first log-in.
    pub async fn user_of_identity(
        &self,
        issuer: &str,
        subject: &str,
        verified_email: Option<&str>,
    ) -> Result<UserId> {
        let store = &self.0.store;
        if let Some(user) = store.user_of_identity(issuer, subject).await? {
            return Ok(user);
        }
        let not_invited = || OperationError::NotInvited;
        let email = verified_email.ok_or_else(not_invited)?;
        let user = match store.user_account_by_email(email).await {
            Ok(account) => account.user.id,
            Err(StoreError::NotFound(_)) => return Err(not_invited()),
            Err(other) => return Err(other.into()),
        };
        let data = json!({"issuer": issuer, "subject": subject});
        let entry = user_entry(user, "link_identity", &user, &data);
        match store.link_identity(issuer, subject, user, entry).await {
            // Of two log-ins at the same time, the other one has linked it.
            Ok(()) | Err(StoreError::Conflict(_)) => Ok(user),
            Err(other) => Err(other.into()),
        }
    }
}

impl OrgOperations<'_> {
    /// Adds a person to the org like [`add_member`](Self::add_member), with a one-time code to
    /// set a password if the account has none. One audit entry says so.
    pub async fn add_member_with_code(
        &self,
        new: NewMember,
    ) -> Result<(Member, Option<NewPasswordCode>)> {
        let member = self.add_member(new).await?;
        let account = self.inner().store.user_account(member.user.id).await?;
        if account.password.is_some() {
            return Ok((member, None));
        }
        let user = self.resettable_account(&member.user.id.to_string()).await?.user;
        Ok((member, Some(self.store_password_code(user, None).await?)))
    }

    /// Creates a one-time code with which a person sets a password. Codes of the person from
    /// before become invalid; a password stays valid until the code is used.
    pub async fn create_password_code(&self, name: &str) -> Result<NewPasswordCode> {
        let user = self.resettable_account(name).await?.user;
        let data = json!({"name": user.name, "email": user.email});
        let entry = self.audit_entry("create_password_code", &user.id, &data);
        self.store_password_code(user, Some(entry)).await
    }

    async fn store_password_code(
        &self,
        user: User,
        entry: Option<NewAuditEntry>,
    ) -> Result<NewPasswordCode> {
        let code: PasswordCode = random_secret(PasswordCode::PREFIX)?;
        let store = &self.inner().store;
        store.create_password_code(user.id, &code, entry.map(|entry| (self.org, entry))).await?;
        let (_, expires_at) = store.password_code(&code).await?;
        Ok(NewPasswordCode { code, user, expires_at })
    }

    /// Returns the log-ins of a person, newest first.
    pub async fn logins_of(&self, name: &str) -> Result<(User, Vec<Login>)> {
        let user = self.resettable_account(name).await?.user;
        let logins = self.inner().store.logins(user.id).await?;
        Ok((user, logins))
    }

    /// Ends all log-ins of a person, and returns how many there were.
    pub async fn end_logins_of(&self, name: &str) -> Result<(User, u64)> {
        let user = self.resettable_account(name).await?.user;
        let entry = self.audit_entry("end_logins", &user.id, &json!({"email": user.email}));
        let ended = self.inner().store.end_logins(user.id, None, entry).await?;
        Ok((user, ended))
    }

    /// Returns the account of a person whose log-in the actor may reset: a member of the org,
    /// or in the platform's org anybody.
    async fn resettable_account(&self, name: &str) -> Result<UserAccount> {
        let store = &self.inner().store;
        self.authorize(OrgPermission::ManagePeople).await?;
        let account = match self.find_member(name).await {
            Ok(member) => store.user_account(member.user.id).await?,
            Err(OperationError::NoMember(_)) => match self.user(name).await {
                Err(OperationError::NotPlatform) => {
                    return Err(OperationError::NoMember(name.to_owned()));
                }
                other => other?,
            },
            Err(other) => return Err(other),
        };
        for membership in &account.memberships {
            self.actor.authorize(store, membership.org, OrgPermission::ManagePeople).await?;
            let by = self.actor.role_in(store, membership.org).await?;
            let place = store.org(membership.org).org().await?.place;
            check_role_change(by, place, Some(membership.role), None)?;
        }
        Ok(account)
    }
}

/// Returns a secret with 32 random bytes as hexadecimal digits.
pub(super) fn random_secret<T: std::str::FromStr>(prefix: &str) -> Result<T> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| OperationError::NoRandomNumbers)?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}{digits}").parse().map_err(|_| OperationError::NoRandomNumbers)
}

/// Returns the audit entry of what a user does to their own account.
fn user_entry(user: UserId, action: &str, subject: &impl ToString, data: &Value) -> NewAuditEntry {
    NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: AuditActor::User(user),
        action: action.to_owned(),
        subject: subject.to_string(),
        data: data.to_string(),
    }
}

fn unknown_code(error: StoreError) -> OperationError {
    match error {
        StoreError::NotFound(_) => OperationError::Invitation(
            "this code was used already, has expired or was replaced by a newer one",
        ),
        other => other.into(),
    }
}
