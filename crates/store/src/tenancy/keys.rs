//! API keys. Only the SHA-256 of a secret is stored: secrets are long and random,
//! so an unsalted hash reveals nothing and a key is found by an index lookup.

use std::time::Duration;

use ostler_domain::id::{KeyId, OrgId};
use ostler_domain::org::key_scope::KeyScopes;
use ostler_domain::org::role::Role;
use ostler_domain::secret::ApiKeySecret;
use ostler_domain::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};
use crate::tenancy::orgs::lock_org;
use crate::{OrgStore, Store};

/// An API key to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub scopes: KeyScopes,
    /// `None`: never.
    pub expires_at: Option<Timestamp>,
}

/// An API key without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub scopes: KeyScopes,
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
    "INSERT INTO api_keys (org, id, name, role, prefix, secret_hash, created_at, expires_at, scopes)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, now_ms(), ?7, ?8)"
);
const LIST: Sql = sql!(
    "SELECT id, name, role, prefix, created_at, expires_at, revoked_at, last_used_at, scopes
     FROM api_keys
     WHERE org = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
);
const GET: Sql = sql!(
    "SELECT id, name, role, prefix, created_at, expires_at, revoked_at, last_used_at, scopes
     FROM api_keys
     WHERE org = ?1 AND id = ?2"
);
const FIND: Sql = sql!(
    "SELECT id, name, role, prefix, created_at, expires_at, revoked_at, last_used_at, scopes, org,
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
        let FoundKey { org, key, stale_use } = self.find_key(digest(secret)).await?;
        if stale_use {
            // Informational only: a failure to record it must not lock anybody out.
            let params = [key.id.into(), USE_INTERVAL.into()];
            let _ = self.org(org).execute(&RECORD_USE, params).await;
        }
        Ok((org, key))
    }

    /// The org is not known before the key is found.
    fn find_key(&self, digest: Vec<u8>) -> StoreFuture<FoundKey> {
        let params = [Value::Bytes(digest), USE_INTERVAL.into()];
        self.read_all_orgs(move |tx| {
            let row = tx.first(&FIND, &params)?.ok_or(StoreError::NotFound("key"))?;
            Ok(FoundKey { org: row.id(9)?, key: read_key(&row)?, stale_use: row.int(10)? == 1 })
        })
    }
}

struct FoundKey {
    org: OrgId,
    key: ApiKey,
    /// Whether the recorded last use is older than [`USE_INTERVAL`].
    stale_use: bool,
}

impl OrgStore<'_> {
    /// Creates a key. Fails with [`StoreError::NotFound`] if its role does not exist
    /// in this kind of org, and with [`StoreError::Conflict`] if its id or secret is
    /// taken.
    pub fn create_key(&self, key: NewApiKey, secret: &ApiKeySecret) -> StoreFuture<()> {
        let (org, secret) = (self.org, HashedSecret::new(secret));
        self.write(move |tx| create(tx, org, &key, &secret))
    }

    /// Returns a key, also a revoked one.
    pub fn key(&self, id: KeyId) -> StoreFuture<ApiKey> {
        self.one("key", &GET, [id.into()], read_key)
    }

    /// Returns the org's keys after `after`, oldest first, including revoked ones.
    pub fn keys(&self, after: Option<KeyId>, limit: u32) -> StoreFuture<Vec<ApiKey>> {
        let after = after.unwrap_or(KeyId::from_u128(0));
        self.rows(&LIST, [after.into(), limit.into()], read_key)
    }

    /// Revokes a key. Revoking it again keeps the first time.
    pub fn revoke_key(&self, id: KeyId) -> StoreFuture<()> {
        let org = self.org;
        self.write(move |tx| revoke(tx, org, id))
    }
}

fn digest(secret: &ApiKeySecret) -> Vec<u8> {
    Sha256::digest(secret.expose().as_bytes()).to_vec()
}

/// What is stored of a secret.
pub(crate) struct HashedSecret {
    prefix: String,
    digest: Vec<u8>,
}

impl HashedSecret {
    pub(crate) fn new(secret: &ApiKeySecret) -> Self {
        Self { prefix: secret.prefix().to_owned(), digest: digest(secret) }
    }
}

/// Creates a key, inside a transaction.
pub(crate) fn create(tx: &Tx, org: OrgId, key: &NewApiKey, secret: &HashedSecret) -> Result<()> {
    let NewApiKey { id, name, role, scopes, expires_at } = key;
    if !role.exists_in(lock_org(tx, org)?.place) {
        return Err(StoreError::NotFound("role"));
    }
    let params = [
        org.into(),
        (*id).into(),
        name.as_str().into(),
        role.name().into(),
        secret.prefix.as_str().into(),
        Value::Bytes(secret.digest.clone()),
        (*expires_at).into(),
        scopes.to_string().into(),
    ];
    tx.execute(&CREATE, &params).map_err(|error| match error {
        StoreError::Conflict(_) => StoreError::Conflict("a key with this id or secret".into()),
        other => other,
    })?;
    Ok(())
}

/// Revokes a key, inside a transaction.
pub(crate) fn revoke(tx: &Tx, org: OrgId, id: KeyId) -> Result<()> {
    match tx.execute(&REVOKE, &[org.into(), id.into()])? {
        0 => Err(StoreError::NotFound("key")),
        _ => Ok(()),
    }
}

/// Reads a key from the first nine columns of a row.
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
        scopes: row.parsed(8, "scopes of a key")?,
    })
}
