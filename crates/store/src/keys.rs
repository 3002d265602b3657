//! API keys. Of a secret only the SHA-256 is kept: a key's secret is random and
//! long, so that a plain hash tells nothing about it, and finding a key is one
//! look into an index.

use std::time::Duration;

use ostler_domain::id::{KeyId, OrgId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::KeySecret;
use ostler_domain::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::orgs::hold;
use crate::{OrgStore, Store};

/// A key to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// Its id.
    pub id: KeyId,
    /// What its owner calls it.
    pub name: String,
    /// The role that it acts in.
    pub role: Role,
    /// From when on it is of no use, if ever.
    pub expires_at: Option<Timestamp>,
}

/// A key as it is listed: without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its id.
    pub id: KeyId,
    /// What its owner calls it.
    pub name: String,
    /// The role that it acts in.
    pub role: Role,
    /// The beginning of its secret, by which its owner recognizes it.
    pub shown: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// From when on it is of no use, if ever.
    pub expires_at: Option<Timestamp>,
    /// Since when it is of no use, if somebody revoked it.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to within a minute.
    pub last_used_at: Option<Timestamp>,
}

/// How exactly it is known when a key was used: a busy key is not written to
/// for each request.
const USE_INTERVAL: Duration = Duration::from_secs(60);

const CREATE: Sql = sql!(
    "INSERT INTO api_keys (org, id, name, role, shown, secret_hash, created_at, expires_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms(), ?7)"
);
const LIST: Sql = sql!(
    "SELECT id, name, role, shown, created_at, expires_at, revoked_at, last_used_at FROM api_keys
     WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
);
const FIND: Sql = sql!(
    "SELECT id, name, role, shown, created_at, expires_at, revoked_at, last_used_at, org,
       CASE WHEN last_used_at > now_ms() - ?2 THEN 0 ELSE 1 END FROM api_keys
     WHERE secret_hash = ?1 AND revoked_at IS NULL
       AND (expires_at IS NULL OR expires_at > now_ms())"
);
const USED: Sql = sql!(
    "UPDATE api_keys SET last_used_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND (last_used_at IS NULL OR last_used_at <= now_ms() - ?3)"
);
const REVOKE: Sql = sql!(
    "UPDATE api_keys SET revoked_at = coalesce(revoked_at, now_ms()) WHERE org = ?1 AND id = ?2"
);

impl Store {
    /// The living key with this secret and the org that it acts in. One that is
    /// revoked or has expired is not found.
    pub async fn authenticate(&self, secret: &KeySecret) -> Result<(OrgId, Key)> {
        let Found { org, key, stale_use } = self.read(Find(digest(secret))).await?;
        if stale_use {
            // For people to see, and no more: a database that cannot note it
            // locks nobody out.
            let _ = self.write(Used(org, key.id)).await;
        }
        Ok((org, key))
    }
}

impl OrgStore<'_> {
    /// Creates a key. Only the platform's can act as platform admins.
    pub async fn create_key(&self, key: NewKey, secret: &KeySecret) -> Result<()> {
        self.store.write(Create::new(self.org, key, secret)).await
    }

    /// The org's keys after one of them, oldest first, the revoked ones too.
    pub async fn keys(&self, after: Option<KeyId>, most: u32) -> Result<Vec<Key>> {
        let after = after.unwrap_or(KeyId::from_u128(0));
        self.store.read(List(self.org, after, most)).await
    }

    /// Makes a key useless from now on.
    pub async fn revoke_key(&self, id: KeyId) -> Result<()> {
        self.store.write(Revoke(self.org, id)).await
    }
}

fn digest(secret: &KeySecret) -> Vec<u8> {
    Sha256::digest(secret.expose().as_bytes()).to_vec()
}

pub(crate) struct Create {
    org: OrgId,
    key: NewKey,
    shown: String,
    digest: Vec<u8>,
}

impl Create {
    pub(crate) fn new(org: OrgId, key: NewKey, secret: &KeySecret) -> Self {
        Self { org, key, shown: secret.shown().to_owned(), digest: digest(secret) }
    }
}

impl Operation for Create {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        let NewKey { id, name, role, expires_at } = &self.key;
        if !role.exists_in(hold(tx, self.org).await?.place) {
            return Err(StoreError::NotFound("role"));
        }
        let params = [
            self.org.into(),
            (*id).into(),
            name.as_str().into(),
            role.name().into(),
            self.shown.as_str().into(),
            Value::Bytes(self.digest.clone()),
            (*expires_at).into(),
        ];
        tx.execute(&CREATE, &params).await.map_err(|error| match error {
            StoreError::Conflict(_) => StoreError::Conflict("a key with this id or secret".into()),
            other => other,
        })?;
        Ok(())
    }
}

struct Found {
    org: OrgId,
    key: Key,
    /// Whether it is long ago that the key was seen to be used.
    stale_use: bool,
}

struct Find(Vec<u8>);

impl Operation for Find {
    type Output = Found;

    /// Whoever shows a secret does not say whose it is.
    fn scope(&self) -> Scope {
        Scope::All
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Found> {
        let params = [Value::Bytes(self.0.clone()), USE_INTERVAL.into()];
        let row = tx.first(&FIND, &params).await?.ok_or(StoreError::NotFound("key"))?;
        Ok(Found { org: row.id(8)?, key: key(&row)?, stale_use: row.int(9)? == 1 })
    }
}

struct Used(OrgId, KeyId);

impl Operation for Used {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        tx.execute(&USED, &[self.0.into(), self.1.into(), USE_INTERVAL.into()]).await?;
        Ok(())
    }
}

struct List(OrgId, KeyId, u32);

impl Operation for List {
    type Output = Vec<Key>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<Vec<Key>> {
        let params = [self.0.into(), self.1.into(), self.2.into()];
        tx.query(&LIST, &params).await?.iter().map(key).collect()
    }
}

pub(crate) struct Revoke(pub(crate) OrgId, pub(crate) KeyId);

impl Operation for Revoke {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    async fn run<T: Tx>(&self, tx: &T) -> Result<()> {
        match tx.execute(&REVOKE, &[self.0.into(), self.1.into()]).await? {
            0 => Err(StoreError::NotFound("key")),
            _ => Ok(()),
        }
    }
}

/// A key from the first eight columns of a row.
fn key(row: &Row) -> Result<Key> {
    Ok(Key {
        id: row.id(0)?,
        name: row.text(1)?.to_owned(),
        role: row.written(2, "role")?,
        shown: row.text(3)?.to_owned(),
        created_at: row.time(4)?,
        expires_at: row.opt_time(5)?,
        revoked_at: row.opt_time(6)?,
        last_used_at: row.opt_time(7)?,
    })
}
