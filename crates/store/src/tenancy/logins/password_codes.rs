//! One-time codes with which users set their passwords. A user has one at most: a new code
//! replaces the one before.

use ostler_domain::id::{LoginId, OrgId, UserId};
use ostler_domain::login::PASSWORD_CODE_LIFETIME;
use ostler_domain::login::secret::PasswordCode;
use ostler_domain::secret::PasswordHash;
use ostler_domain::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::Store;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::Value;
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::logins::{audit_user, end_others};
use crate::tenancy::users::{self, UserAccount};

const SAVE: Sql = sql!(
    "INSERT INTO password_codes (user_id, code_hash, created_at, expires_at)
     VALUES (?1, ?2, now_ms(), now_ms() + ?3)
     ON CONFLICT (user_id) DO UPDATE SET code_hash = excluded.code_hash,
       created_at = excluded.created_at, expires_at = excluded.expires_at"
);
const FIND: Sql = sql!(
    "SELECT user_id, expires_at FROM password_codes
     WHERE code_hash = ?1 AND expires_at > now_ms()"
);
const USE: Sql = sql!("DELETE FROM password_codes WHERE user_id = ?1 AND code_hash = ?2");
const WITHDRAW: Sql = sql!("DELETE FROM password_codes WHERE user_id = ?1");
const SWEEP: Sql = sql!("DELETE FROM password_codes WHERE expires_at <= now_ms()");

impl Store {
    /// Stores the password code of a user, instead of the one before, with its audit entry in
    /// an org, if it has one of its own. The password stays valid until the code is used.
    pub fn create_password_code(
        &self,
        user: UserId,
        code: &PasswordCode,
        entry: Option<(OrgId, NewAuditEntry)>,
    ) -> StoreFuture<()> {
        let code = digest(code);
        self.write_all_orgs(move |tx| {
            if let Some((org, entry)) = &entry {
                tx.batch(&[audit::append(*org, entry)?])?;
            }
            let params = [user.into(), code.clone(), PASSWORD_CODE_LIFETIME.into()];
            tx.execute(&SAVE, &params).map(drop)
        })
    }

    /// Returns the account that a code belongs to, and when the code expires.
    pub fn password_code(&self, code: &PasswordCode) -> StoreFuture<(UserAccount, Timestamp)> {
        let code = [digest(code)];
        self.read_all_orgs(move |tx| {
            let row = tx.first(&FIND, &code)?.ok_or(StoreError::NotFound("password code"))?;
            Ok((users::account_of(tx, row.id(0)?)?, row.time(1)?))
        })
    }

    /// Uses a code up: sets the password and ends all log-ins of the user, once.
    pub fn use_password_code(
        &self,
        code: &PasswordCode,
        password: &PasswordHash,
        entry: NewAuditEntry,
    ) -> StoreFuture<UserId> {
        let (code, password) = (digest(code), password.clone());
        self.write_all_orgs(move |tx| {
            let found = tx.first(&FIND, std::slice::from_ref(&code))?;
            let user: UserId = found.ok_or(StoreError::NotFound("password code"))?.id(0)?;
            // Of two at the same time, one finds nothing to delete.
            if tx.execute(&USE, &[user.into(), code.clone()])? == 0 {
                return Err(StoreError::NotFound("password code"));
            }
            set_password(tx, user, &password, None, &entry)
        })
    }

    /// Changes the password of a user, ends the other log-ins, and withdraws an open code.
    pub fn change_password(
        &self,
        user: UserId,
        password: &PasswordHash,
        keep: LoginId,
        entry: NewAuditEntry,
    ) -> StoreFuture<()> {
        let password = password.clone();
        self.write_all_orgs(move |tx| {
            set_password(tx, user, &password, Some(keep), &entry).map(drop)
        })
    }
}

/// Sets a password inside a transaction of all orgs; log-ins apart from `keep` end.
fn set_password(
    tx: &Tx,
    user: UserId,
    password: &PasswordHash,
    keep: Option<LoginId>,
    entry: &NewAuditEntry,
) -> Result<UserId> {
    users::set_password(tx, user, password)?;
    tx.execute(&WITHDRAW, &[user.into()])?;
    end_others(tx, user, keep)?;
    audit_user(tx, user, entry)?;
    Ok(user)
}

/// Deletes expired codes, inside a transaction of all orgs.
pub(super) fn sweep(tx: &Tx) -> Result<u64> {
    tx.execute(&SWEEP, &[])
}

fn digest(code: &PasswordCode) -> Value {
    Value::Bytes(Sha256::digest(code.expose().as_bytes()).to_vec())
}
