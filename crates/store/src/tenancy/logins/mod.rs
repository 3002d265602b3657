//! Log-ins of users by their browsers, and what belongs to them. Only the SHA-256 of a
//! token is stored: tokens are long and random.
//!
//! | file | holds |
//! |---|---|
//! | `attempts`       | how often a log-in was tried |
//! | `identities`     | accounts of users at identity providers |
//! | `password_codes` | one-time codes to set a password |

pub(crate) mod attempts;
pub(crate) mod identities;
pub(crate) mod password_codes;

use std::time::Duration;

use ostler_domain::id::{LoginId, UserId};
use ostler_domain::login::secret::LoginToken;
use ostler_domain::login::{IDLE_LIFETIME, MAX_LIFETIME, MAX_LOGINS};
use ostler_domain::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::Store;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};
use crate::tenancy::audit::{self, NewAuditEntry};
use crate::tenancy::users::{self, UserAccount};

/// A log-in to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLogin {
    pub id: LoginId,
    pub user: UserId,
    /// `password`, `code`, or the name of an identity provider.
    pub method: String,
    /// The network address of the browser.
    pub address: String,
    /// How the browser describes itself.
    pub client: String,
}

/// A log-in without its token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub id: LoginId,
    pub user: UserId,
    pub method: String,
    pub address: String,
    pub client: String,
    pub created_at: Timestamp,
    /// Accurate to a minute.
    pub used_at: Timestamp,
    /// When it ends, however much it is used.
    pub expires_at: Timestamp,
}

/// How often the last use of a log-in is recorded at most.
const USE_INTERVAL: Duration = Duration::from_secs(60);

const CREATE: Sql = sql!(
    "INSERT INTO logins
       (id, token_hash, user_id, method, address, client, created_at, used_at, expires_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms(), now_ms(), now_ms() + ?7)"
);
const FIND: Sql = sql!(
    "SELECT id, user_id, method, address, client, created_at, used_at, expires_at,
       CASE WHEN used_at > now_ms() - ?3 THEN 0 ELSE 1 END FROM logins
     WHERE token_hash = ?1 AND used_at > now_ms() - ?2 AND expires_at > now_ms()"
);
const LIST: Sql = sql!(
    "SELECT id, user_id, method, address, client, created_at, used_at, expires_at FROM logins
     WHERE user_id = ?1 AND used_at > now_ms() - ?2 AND expires_at > now_ms() ORDER BY id DESC"
);
const RECORD_USE: Sql = sql!("UPDATE logins SET used_at = now_ms() WHERE id = ?1");
const END: Sql = sql!("DELETE FROM logins WHERE user_id = ?1 AND id = ?2");
const END_TOKEN: Sql = sql!("DELETE FROM logins WHERE token_hash = ?1");
const END_OTHERS: Sql = sql!("DELETE FROM logins WHERE user_id = ?1 AND id <> ?2");
const END_OLDEST: Sql = sql!(
    "DELETE FROM logins WHERE id IN
       (SELECT id FROM logins WHERE user_id = ?1 ORDER BY id DESC LIMIT 1000 OFFSET ?2)"
);
const SWEEP: Sql = sql!(
    "DELETE FROM logins WHERE id IN
       (SELECT id FROM logins WHERE used_at <= now_ms() - ?1 OR expires_at <= now_ms() LIMIT ?2)"
);

impl Store {
    /// Creates a log-in with its audit entry in each org of the user. `replaces` ends the
    /// log-in that the browser had before, also one of another user.
    pub fn create_login(
        &self,
        new: NewLogin,
        token: &LoginToken,
        replaces: Option<&LoginToken>,
        entry: NewAuditEntry,
    ) -> StoreFuture<()> {
        let (token, replaces) = (digest(token), replaces.map(digest));
        self.write_all_orgs(move |tx| {
            if let Some(before) = &replaces {
                tx.execute(&END_TOKEN, std::slice::from_ref(before))?;
            }
            audit_user(tx, new.user, &entry)?;
            create(tx, &new, &token)
        })
    }

    /// Returns the log-in with this token and the account of its user. One that was not used
    /// for too long, or is too old, is not found.
    pub async fn login(&self, token: &LoginToken) -> Result<(Login, UserAccount)> {
        let params = [digest(token), IDLE_LIFETIME.into(), USE_INTERVAL.into()];
        let (login, account, is_stale) = self
            .read_all_orgs(move |tx| {
                let row = tx.first(&FIND, &params)?.ok_or(StoreError::NotFound("log-in"))?;
                let login = read_login(&row)?;
                let account = users::account_of(tx, login.user)?;
                Ok((login, account, row.int(8)? == 1))
            })
            .await?;
        if is_stale {
            let id = login.id;
            // A failure to record the use ends the log-in earlier, and nothing else.
            let used = self.write_all_orgs(move |tx| tx.execute(&RECORD_USE, &[id.into()]));
            let _ = used.await;
        }
        Ok((login, account))
    }

    /// Returns the log-ins of a user that are valid, newest first.
    pub fn logins(&self, user: UserId) -> StoreFuture<Vec<Login>> {
        self.read_all_orgs(move |tx| {
            let rows = tx.query(&LIST, &[user.into(), IDLE_LIFETIME.into()])?;
            rows.iter().map(read_login).collect()
        })
    }

    /// Ends a log-in of a user. Fails with [`StoreError::NotFound`] if there is none.
    pub fn end_login(&self, user: UserId, id: LoginId, entry: NewAuditEntry) -> StoreFuture<()> {
        self.write_all_orgs(move |tx| match tx.execute(&END, &[user.into(), id.into()])? {
            0 => Err(StoreError::NotFound("log-in")),
            _ => audit_user(tx, user, &entry),
        })
    }

    /// Ends all log-ins of a user apart from one, and returns how many there were.
    pub fn end_logins(
        &self,
        user: UserId,
        except: Option<LoginId>,
        entry: NewAuditEntry,
    ) -> StoreFuture<u64> {
        self.write_all_orgs(move |tx| {
            audit_user(tx, user, &entry)?;
            end_others(tx, user, except)
        })
    }

    /// Deletes log-ins, password codes and counters that have expired, and returns how many.
    pub fn sweep_logins(&self, limit: u32) -> StoreFuture<u64> {
        self.write_all_orgs(move |tx| {
            let logins = tx.execute(&SWEEP, &[IDLE_LIFETIME.into(), limit.into()])?;
            Ok(logins + password_codes::sweep(tx)? + attempts::sweep(tx, limit)?)
        })
    }
}

/// Creates a log-in inside a transaction of all orgs, and ends the oldest one of many.
pub(crate) fn create(tx: &Tx, new: &NewLogin, token: &Value) -> Result<()> {
    let params = [
        new.id.into(),
        token.clone(),
        new.user.into(),
        new.method.as_str().into(),
        new.address.as_str().into(),
        new.client.as_str().into(),
        MAX_LIFETIME.into(),
    ];
    tx.execute(&CREATE, &params)?;
    tx.execute(&END_OLDEST, &[new.user.into(), MAX_LOGINS.into()]).map(drop)
}

/// Ends the log-ins of a user apart from one, inside a transaction of all orgs.
pub(crate) fn end_others(tx: &Tx, user: UserId, except: Option<LoginId>) -> Result<u64> {
    let except = except.unwrap_or(LoginId::from_u128(0));
    tx.execute(&END_OTHERS, &[user.into(), except.into()])
}

/// Appends an audit entry about a user in each org of the user.
pub(crate) fn audit_user(tx: &Tx, user: UserId, entry: &NewAuditEntry) -> Result<()> {
    let account = users::account_of(tx, user)?;
    let orgs = account.memberships.iter().map(|one| audit::append(one.org, entry));
    tx.batch(&orgs.collect::<Result<Vec<_>>>()?).map(drop)
}

pub(crate) fn digest(token: &LoginToken) -> Value {
    Value::Bytes(Sha256::digest(token.expose().as_bytes()).to_vec())
}

fn read_login(row: &Row) -> Result<Login> {
    Ok(Login {
        id: row.id(0)?,
        user: row.id(1)?,
        method: row.text(2)?.to_owned(),
        address: row.text(3)?.to_owned(),
        client: row.text(4)?.to_owned(),
        created_at: row.time(5)?,
        used_at: row.time(6)?,
        expires_at: row.time(7)?,
    })
}
