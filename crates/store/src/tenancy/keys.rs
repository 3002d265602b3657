//! API keys. Only the SHA-256 of a secret is stored: secrets are long and random,
//! so an unsalted hash reveals nothing and a key is found by an index lookup.

use std::time::Duration;

use ostler_domain::id::{KeyId, OrgId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::ApiKeySecret;
use ostler_domain::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::backend::{Operation, Scope, Tx};
use crate::error::{Result, StoreError};
use crate::tenancy::orgs::lock_org;
use crate::{OrgStore, Store};

/// An API key to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    /// `None`: never.
    pub expires_at: Option<Timestamp>,
}

/// An API key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    /// The beginning of the secret, by which its owner recognizes it.
    pub prefix: String,
    pub created_at: Timestamp,
    /// `None`: never.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    /// Accurate to a minute.
    pub last_used_at: Option<Timestamp>,
}

/// How often the last use of a key is recorded at most, so that a busy key is not
/// written on each request.
const USE_INTERVAL: Duration = Duration::from_secs(60);

const CREATE: Sql = sql!(
    "INSERT INTO api_keys (org, id, name, role, prefix, secret_hash, created_at, expires_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms(), ?7)"
);
const LIST: Sql = sql!(
    "SELECT id, name, role, prefix, created_at, expires_at, revoked_at, last_used_at FROM api_keys
     WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
);
const FIND: Sql = sql!(
    "SELECT id, name, role, prefix, created_at, expires_at, revoked_at, last_used_at, org,
       CASE WHEN last_used_at > now_ms() - ?2 THEN 0 ELSE 1 END FROM api_keys
     WHERE secret_hash = ?1 AND revoked_at IS NULL
       AND (expires_at IS NULL OR expires_at > now_ms())"
);
const RECORD_USE: Sql = sql!(
    "UPDATE api_keys SET last_used_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND (last_used_at IS NULL OR last_used_at <= now_ms() - ?3)"
);
const REVOKE: Sql = sql!(
    "UPDATE api_keys SET revoked_at = coalesce(revoked_at, now_ms()) WHERE org = ?1 AND id = ?2"
);

impl Store {
    /// Returns the key with this secret and its org. A revoked or expired key is not
    /// found.
    pub async fn authenticate(&self, secret: &ApiKeySecret) -> Result<(OrgId, ApiKey)> {
        let FoundKey { org, key, stale_use } = self.read(Find(digest(secret))).await?;
        if stale_use {
            // Informational only: a failure to record it must not lock anybody out.
            let _ = self.write(RecordUse(org, key.id)).await;
        }
        Ok((org, key))
    }
}

impl OrgStore<'_> {
    /// Creates a key. Fails with [`StoreError::NotFound`] if its role does not exist
    /// in this kind of org, and with [`StoreError::Conflict`] if its id or secret is
    /// taken.
    pub async fn create_key(&self, key: NewApiKey, secret: &ApiKeySecret) -> Result<()> {
        self.store.write(Create::new(self.org, key, secret)).await
    }

    /// Returns the org's keys after `after`, oldest first, including revoked ones.
    pub async fn keys(&self, after: Option<KeyId>, limit: u32) -> Result<Vec<ApiKey>> {
        let after = after.unwrap_or(KeyId::from_u128(0));
        self.store.read(List(self.org, after, limit)).await
    }

    /// Revokes a key. Revoking it again keeps the first time.
    pub async fn revoke_key(&self, id: KeyId) -> Result<()> {
        self.store.write(Revoke(self.org, id)).await
    }
}

fn digest(secret: &ApiKeySecret) -> Vec<u8> {
    Sha256::digest(secret.expose().as_bytes()).to_vec()
}

pub(crate) struct Create {
    org: OrgId,
    key: NewApiKey,
    shown: String,
    digest: Vec<u8>,
}

impl Create {
    pub(crate) fn new(org: OrgId, key: NewApiKey, secret: &ApiKeySecret) -> Self {
        Self { org, key, shown: secret.prefix().to_owned(), digest: digest(secret) }
    }
}

impl Operation for Create {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.org)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        let NewApiKey { id, name, role, expires_at } = &self.key;
        if !role.exists_in(lock_org(tx, self.org)?.place) {
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
        tx.execute(&CREATE, &params).map_err(|error| match error {
            StoreError::Conflict(_) => StoreError::Conflict("a key with this id or secret".into()),
            other => other,
        })?;
        Ok(())
    }
}

struct FoundKey {
    org: OrgId,
    key: ApiKey,
    /// Whether the recorded last use is older than [`USE_INTERVAL`].
    stale_use: bool,
}

struct Find(Vec<u8>);

impl Operation for Find {
    type Output = FoundKey;

    /// The org is not known before the key is found.
    fn scope(&self) -> Scope {
        Scope::All
    }

    fn run(&self, tx: &Tx) -> Result<FoundKey> {
        let params = [Value::Bytes(self.0.clone()), USE_INTERVAL.into()];
        let row = tx.first(&FIND, &params)?.ok_or(StoreError::NotFound("key"))?;
        Ok(FoundKey { org: row.id(8)?, key: read_key(&row)?, stale_use: row.int(9)? == 1 })
    }
}

struct RecordUse(OrgId, KeyId);

impl Operation for RecordUse {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        tx.execute(&RECORD_USE, &[self.0.into(), self.1.into(), USE_INTERVAL.into()])?;
        Ok(())
    }
}

struct List(OrgId, KeyId, u32);

impl Operation for List {
    type Output = Vec<ApiKey>;

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<Vec<ApiKey>> {
        let params = [self.0.into(), self.1.into(), self.2.into()];
        tx.query(&LIST, &params)?.iter().map(read_key).collect()
    }
}

pub(crate) struct Revoke(pub(crate) OrgId, pub(crate) KeyId);

impl Operation for Revoke {
    type Output = ();

    fn scope(&self) -> Scope {
        Scope::Org(self.0)
    }

    fn run(&self, tx: &Tx) -> Result<()> {
        match tx.execute(&REVOKE, &[self.0.into(), self.1.into()])? {
            0 => Err(StoreError::NotFound("key")),
            _ => Ok(()),
        }
    }
}

/// Reads a key from the first eight columns of a row.
fn read_key(row: &Row) -> Result<ApiKey> {
    Ok(ApiKey {
        id: row.id(0)?,
        name: row.text(1)?.to_owned(),
        role: row.parsed(2, "role")?,
        prefix: row.text(3)?.to_owned(),
        created_at: row.time(4)?,
        expires_at: row.opt_time(5)?,
        revoked_at: row.opt_time(6)?,
        last_used_at: row.opt_time(7)?,
    })
}
