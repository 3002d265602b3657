//! People with a log-in. A person may belong to several orgs; as whom they act
//! in one is kept in [`crate::members`]. Passwords are hashed and checked at the
//! edge; here a hash is a text that is never shown.

use ostler_domain::contact::normal_email;
use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::PasswordHash;

use crate::Store;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};

/// A person with a log-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Their id.
    pub id: UserId,
    /// Their e-mail address, which is theirs alone, whatever its case.
    pub email: String,
    /// Their name on screens.
    pub name: String,
}

/// As whom a person acts in an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// The org.
    pub org: OrgId,
    /// Their role in it.
    pub role: Role,
}

/// All that a log-in needs to know of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The person.
    pub user: User,
    /// What their password is checked against.
    pub password: PasswordHash,
    /// Every org they belong to, in the order of the orgs' ids.
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
    /// Creates a person who belongs to no org yet. Their e-mail address must be
    /// new.
    pub async fn create_user(&self, user: User, password: PasswordHash) -> Result<()> {
        self.write(Create(user, password)).await
    }

    /// Changes a person's address and name; their id stays.
    pub async fn update_user(&self, user: User) -> Result<()> {
        self.write(Update(user)).await
    }

    /// Gives a person another password.
    pub async fn set_password(&self, user: UserId, password: PasswordHash) -> Result<()> {
        self.write(SetPassword(user, password)).await
    }

    /// A person, with every org they belong to.
    pub async fn account(&self, user: UserId) -> Result<Account> {
        self.read(Get(By::Id(user))).await
    }

    /// The person who logs in with this address, whatever its case.
    pub async fn account_by_email(&self, email: &str) -> Result<Account> {
        self.read(Get(By::Email(email_key(email)))).await
    }
}

fn email_key(email: &str) -> String {
    normal_email(email).unwrap_or_default()
}

fn taken(error: StoreError) -> StoreError {
    match error {
        StoreError::Conflict(_) => StoreError::Conflict("a person with this id or address".into()),
        other => other,
    }
}

struct Create(User, PasswordHash);

impl Operation for Create {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(User { id, email, name }, password) = self;
        let key = email_key(email);
        let params = [
            (*id).into(),
            email.as_str().into(),
            key.into(),
            name.as_str().into(),
            password.expose().into(),
        ];
        tx.execute(&CREATE, &params).await.map_err(taken)?;
        Ok(())
    }
}

struct Update(User);

impl Operation for Update {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let Self(User { id, email, name }) = self;
        let key = email_key(email);
        let params = [(*id).into(), email.as_str().into(), key.into(), name.as_str().into()];
        match tx.execute(&UPDATE, &params).await.map_err(taken)? {
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

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        match tx.execute(&SET_PASSWORD, &[self.0.into(), self.1.expose().into()]).await? {
            0 => Err(StoreError::NotFound("user")),
            _ => Ok(()),
        }
    }
}

enum By {
    Id(UserId),
    Email(String),
}

struct Get(By);

impl Operation for Get {
    type Output = Account;

    /// A log-in does not know yet in which org it will act.
    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Account> {
        let found = match &self.0 {
            By::Id(id) => tx.first(&BY_ID, &[(*id).into()]).await?,
            By::Email(key) => tx.first(&BY_EMAIL, &[key.as_str().into()]).await?,
        };
        let row = found.ok_or(StoreError::NotFound("user"))?;
        let user = user(&row)?;
        let rows = tx.query(&MEMBERSHIPS, &[Value::from(user.id)]).await?;
        let membership =
            |row: &Row| Ok(Membership { org: row.id(0)?, role: row.written(1, "role")? });
        let memberships = rows.iter().map(membership).collect::<Result<_>>()?;
        Ok(Account { user, password: row.written(3, "password hash")?, memberships })
    }
}

/// A person from the first three columns of a row.
pub(crate) fn user(row: &Row) -> Result<User> {
    Ok(User { id: row.id(0)?, email: row.text(1)?.to_owned(), name: row.text(2)?.to_owned() })
}
