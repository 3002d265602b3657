//! User accounts. A user may belong to several orgs; the role in each is in
//! [`crate::tenancy::members`]. Passwords are hashed and verified by the caller;
//! the store only keeps the hash.

use ostler_domain::contact::normalize_email;
use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::PasswordHash;

use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
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
    pub password: PasswordHash,
    /// Ordered by org id.
    pub memberships: Vec<Membership>,
}

const CREATE: Sql =
    sql!("INSERT INTO users (id, email, email_key, name, password) VALUES (?1, ?2, ?3, ?4, ?5)");
const UPDATE: Sql = sql!("UPDATE users SET email = ?2, email_key = ?3, name = ?4 WHERE id = ?1");
const SET_PASSWORD: Sql = sql!("UPDATE users SET password = ?2 WHERE id = ?1");
const BY_ID: Sql = sql!("SELECT id, email, name, password FROM users WHERE id = ?1");
const BY_EMAIL: Sql = sql!("SELECT id, email, name, password FROM users WHERE email_key = ?1");
const MEMBERSHIPS: Sql = sql!("SELECT org, role FROM memberships WHERE user_id = ?1 ORDER BY org");

impl Store {
    /// Creates a user without memberships. Fails with [`StoreError::Conflict`] if
    /// the id or e-mail address is taken.
    pub async fn create_user(&self, user: User, password: PasswordHash) -> Result<()> {
        self.write(Create(user, password)).await
    }

    /// Changes a user's e-mail address and name.
    pub async fn update_user(&self, user: User) -> Result<()> {
        self.write(Update(user)).await
    }

    /// Replaces a user's password hash.
    pub async fn set_password(&self, user: UserId, password: PasswordHash) -> Result<()> {
        self.write(SetPassword(user, password)).await
    }

    /// Returns a user's account.
    pub async fn user_account(&self, user: UserId) -> Result<UserAccount> {
        self.read(Get(Lookup::Id(user))).await
    }

    /// Returns the account with this e-mail address, ignoring case.
    pub async fn user_account_by_email(&self, email: &str) -> Result<UserAccount> {
        self.read(Get(Lookup::Email(email_key(email)))).await
    }
}

fn email_key(email: &str) -> String {
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

struct Create(User, PasswordHash);

impl Operation for Create {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(User { id, email, name }, password) = self;
        let key = email_key(email);
        let params = [
            (*id).into(),
            email.as_str().into(),
            key.into(),
            name.as_str().into(),
            password.expose().into(),
        ];
        tx.execute(&CREATE, &params).map_err(conflict)?;
        Ok(())
    }
}

struct Update(User);

impl Operation for Update {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let Self(User { id, email, name }) = self;
        let key = email_key(email);
        let params = [(*id).into(), email.as_str().into(), key.into(), name.as_str().into()];
        match tx.execute(&UPDATE, &params).map_err(conflict)? {
            0 => Err(StoreError::NotFound("user")),
            _ => Ok(()),
        }
    }
}

struct SetPassword(UserId, PasswordHash);

impl Operation for SetPassword {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        match tx.execute(&SET_PASSWORD, &[self.0.into(), self.1.expose().into()])? {
            0 => Err(StoreError::NotFound("user")),
            _ => Ok(()),
        }
    }
}

enum Lookup {
    Id(UserId),
    Email(String),
}

struct Get(Lookup);

impl Operation for Get {
    type Output = UserAccount;

    /// A log-in is not bound to an org yet.
    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<UserAccount> {
        let found = match &self.0 {
            Lookup::Id(id) => tx.first(&BY_ID, &[(*id).into()])?,
            Lookup::Email(key) => tx.first(&BY_EMAIL, &[key.as_str().into()])?,
        };
        let row = found.ok_or(StoreError::NotFound("user"))?;
        let user = read_user(&row)?;
        let rows = tx.query(&MEMBERSHIPS, &[Value::from(user.id)])?;
        let membership =
            |row: &Row| Ok(Membership { org: row.id(0)?, role: row.parsed(1, "role")? });
        let memberships = rows.iter().map(membership).collect::<Result<_>>()?;
        Ok(UserAccount { user, password: row.parsed(3, "password hash")?, memberships })
    }
}

/// Reads a user from the first three columns of a row.
pub(crate) fn read_user(row: &Row) -> Result<User> {
    Ok(User { id: row.id(0)?, email: row.text(1)?.to_owned(), name: row.text(2)?.to_owned() })
}
