//! User accounts. A user may belong to several orgs; the role in each is in
//! [`crate::tenancy::members`]. Passwords are hashed and verified by the caller;
//! the store only keeps the hash.

use ostler_domain::contact::normalize_email;
use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::PasswordHash;

use crate::Store;
use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};

/// A user who can log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: UserId,
    /// Unique among users, ignoring case.
    pub email: String,
    pub name: String,
}

/// A user's role in an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    pub org: OrgId,
    pub role: Role,
}

/// A user with the password hash and memberships that a log-in needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAccount {
    pub user: User,
    /// `None` means that nobody can log in with this account.
    pub password: Option<PasswordHash>,
    /// Ordered by org id.
    pub memberships: Vec<Membership>,
}

const CREATE: Sql =
    sql!("INSERT INTO users (id, email, email_key, name, password) VALUES (?1, ?2, ?3, ?4, ?5)");
const UPDATE: Sql = sql!("UPDATE users SET email = ?2, email_key = ?3, name = ?4 WHERE id = ?1");
const SET_PASSWORD: Sql = sql!("UPDATE users SET password = ?2 WHERE id = ?1");
const BY_ID: Sql = sql!("SELECT id, email, name, password FROM users WHERE id = ?1");
const BY_EMAIL: Sql = sql!("SELECT id, email, name, password FROM users WHERE email_key = ?1");
const LIST: Sql =
    sql!("SELECT id, email, name, password FROM users WHERE id > ?1 ORDER BY id LIMIT ?2");
const MEMBERSHIPS: Sql = sql!("SELECT org, role FROM memberships WHERE user_id = ?1 ORDER BY org");

impl Store {
    /// Creates a user without memberships. Fails with [`StoreError::Conflict`] if
    /// the id or e-mail address is taken.
    pub fn create_user(&self, user: User, password: &PasswordHash) -> StoreFuture<()> {
        let password = password.clone();
        self.write_all_orgs(move |tx| create(tx, &user, password.expose()))
    }

    /// Returns the account with this e-mail address, or creates one that nobody can log in
    /// with until it gets a password.
    pub fn ensure_user(&self, user: User) -> StoreFuture<UserId> {
        self.write_all_orgs(move |tx| find_or_create(tx, &user))
    }

    /// Changes a user's e-mail address and name.
    pub fn update_user(&self, user: User) -> StoreFuture<()> {
        self.write_all_orgs(move |tx| update(tx, &user))
    }

    /// Returns a user's account.
    pub fn user_account(&self, user: UserId) -> StoreFuture<UserAccount> {
        self.find_account(&BY_ID, [user.into()])
    }

    /// Returns the account with this e-mail address, ignoring case.
    pub fn user_account_by_email(&self, email: &str) -> StoreFuture<UserAccount> {
        self.find_account(&BY_EMAIL, [email_key(email).into()])
    }

    /// Returns the accounts after `after`, ordered by id.
    pub fn users(&self, after: Option<UserId>, limit: u32) -> StoreFuture<Vec<UserAccount>> {
        let after = after.unwrap_or(UserId::from_u128(0));
        self.read_all_orgs(move |tx| {
            let rows = tx.query(&LIST, &[after.into(), limit.into()])?;
            rows.iter().map(|row| read_account(tx, row)).collect()
        })
    }

    /// A log-in is not bound to an org yet.
    fn find_account(&self, sql: &'static Sql, key: [Value; 1]) -> StoreFuture<UserAccount> {
        self.read_all_orgs(move |tx| {
            let row = tx.first(sql, &key)?.ok_or(StoreError::NotFound("user"))?;
            read_account(tx, &row)
        })
    }
}

/// Creates an account without a password, inside a transaction of all orgs.
pub(crate) fn create_without_password(tx: &Tx, user: &User) -> Result<()> {
    create(tx, user, NO_PASSWORD)
}

/// Creates an account, inside a transaction of all orgs.
fn create(tx: &Tx, user: &User, password: &str) -> Result<()> {
    let User { id, email, name } = user;
    let key = email_key(email);
    let params =
        [(*id).into(), email.as_str().into(), key.into(), name.as_str().into(), password.into()];
    tx.execute(&CREATE, &params).map_err(conflict).map(drop)
}

/// Changes a user's e-mail address and name, inside a transaction of all orgs.
pub(crate) fn update(tx: &Tx, user: &User) -> Result<()> {
    let User { id, email, name } = user;
    let key = email_key(email);
    let params = [(*id).into(), email.as_str().into(), key.into(), name.as_str().into()];
    match tx.execute(&UPDATE, &params).map_err(conflict)? {
        0 => Err(StoreError::NotFound("user")),
        _ => Ok(()),
    }
}

/// Replaces a user's password hash, inside a transaction of all orgs.
pub(crate) fn set_password(tx: &Tx, user: UserId, password: &PasswordHash) -> Result<()> {
    match tx.execute(&SET_PASSWORD, &[user.into(), password.expose().into()])? {
        0 => Err(StoreError::NotFound("user")),
        _ => Ok(()),
    }
}

/// Returns a user's account, inside a transaction of all orgs.
pub(crate) fn account_of(tx: &Tx, user: UserId) -> Result<UserAccount> {
    let row = tx.first(&BY_ID, &[user.into()])?.ok_or(StoreError::NotFound("user"))?;
    read_account(tx, &row)
}

/// Returns the e-mail address of a user, inside a transaction of all orgs.
pub(crate) fn email_of(tx: &Tx, user: UserId) -> Result<String> {
    let row = tx.first(&BY_ID, &[user.into()])?.ok_or(StoreError::NotFound("user"))?;
    Ok(row.text(1)?.to_owned())
}

/// The stored text of an account without a password. It is no password hash, so no
/// password matches it.
const NO_PASSWORD: &str = "";

/// Reads an account with its memberships from the first four columns of a row.
fn read_account(tx: &Tx, row: &Row) -> Result<UserAccount> {
    let user = read_user(row)?;
    let password = match row.text(3)? {
        NO_PASSWORD => None,
        _ => Some(row.parsed(3, "password hash")?),
    };
    let memberships = tx.query(&MEMBERSHIPS, &[user.id.into()])?;
    let memberships = memberships.iter().map(read_membership).collect::<Result<_>>()?;
    Ok(UserAccount { user, password, memberships })
}

/// Returns the id of the user with this e-mail address, or creates one without a password,
/// inside a transaction of all orgs.
pub(crate) fn find_or_create(tx: &Tx, user: &User) -> Result<UserId> {
    match tx.first(&BY_EMAIL, &[email_key(&user.email).into()])? {
        Some(row) => row.id(0),
        None => create_without_password(tx, user).map(|()| user.id),
    }
}

/// Returns the form in which e-mail addresses of users are compared.
pub(crate) fn email_key(email: &str) -> String {
    normalize_email(email).unwrap_or_default()
}

fn conflict(error: StoreError) -> StoreError {
    match error {
        StoreError::Conflict(_) => {
            StoreError::Conflict("a user with this id or e-mail address".into())
        }
        other => other,
    }
}

/// Reads a user from the first three columns of a row.
pub(crate) fn read_user(row: &Row) -> Result<User> {
    Ok(User { id: row.id(0)?, email: row.text(1)?.to_owned(), name: row.text(2)?.to_owned() })
}

fn read_membership(row: &Row) -> Result<Membership> {
    Ok(Membership { org: row.id(0)?, role: row.parsed(1, "role")? })
}
