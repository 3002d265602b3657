//! Invitations to become a member of an org. Only the SHA-256 of a code is stored: codes
//! are long and random, so an unsalted hash reveals nothing.

use std::time::Duration;

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{InvitationId, OrgId};
use ostler_domain::org::role::Role;
use ostler_domain::secret::InvitationCode;
use ostler_domain::time::Timestamp;
use sha2::{Digest, Sha256};

use crate::backend::Tx;
use crate::backend::job::StoreFuture;
use crate::backend::sql::{Sql, sql};
use crate::backend::value::{Row, Value};
use crate::error::{Result, StoreError};
use crate::tenancy::users::email_key;
use crate::{OrgStore, Store};

/// An invitation to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvitation {
    pub id: InvitationId,
    pub email: String,
    pub role: Role,
    pub invited_by: AuditActor,
    pub lifetime: Duration,
}

/// An invitation without its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    pub id: InvitationId,
    pub email: String,
    pub role: Role,
    pub invited_by: AuditActor,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Whether an invitation can be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvitationState {
    Open,
    Accepted,
    Expired,
}

const CREATE: Sql = sql!(
    "INSERT INTO invitations
       (org, id, code_hash, email, email_key, role, invited_by, created_at, expires_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_ms(), now_ms() + ?8)"
);
const DELETE_OPEN: Sql =
    sql!("DELETE FROM invitations WHERE org = ?1 AND email_key = ?2 AND accepted_at IS NULL");
const ACCEPT: Sql = sql!(
    "UPDATE invitations SET accepted_at = now_ms()
     WHERE org = ?1 AND id = ?2 AND accepted_at IS NULL AND expires_at > now_ms()"
);
const LIST_OPEN: Sql = sql!(
    "SELECT id, email, role, invited_by, created_at, expires_at FROM invitations
     WHERE org = ?1 AND accepted_at IS NULL AND expires_at > now_ms() ORDER BY id LIMIT ?2"
);
const FIND: Sql = sql!(
    "SELECT id, email, role, invited_by, created_at, expires_at, org,
       CASE WHEN accepted_at IS NOT NULL THEN 1 WHEN expires_at <= now_ms() THEN 2 ELSE 0 END
     FROM invitations WHERE code_hash = ?1"
);

impl Store {
    /// Returns the invitation with this code, its org and its state.
    pub fn invitation(
        &self,
        code: &InvitationCode,
    ) -> StoreFuture<(OrgId, Invitation, InvitationState)> {
        let hash = [hash(code)];
        self.read_all_orgs(move |tx| {
            let row = tx.first(&FIND, &hash)?.ok_or(StoreError::NotFound("invitation"))?;
            let state = match row.int(7)? {
                0 => InvitationState::Open,
                1 => InvitationState::Accepted,
                _ => InvitationState::Expired,
            };
            Ok((row.id(6)?, read_invitation(&row)?, state))
        })
    }
}

impl OrgStore<'_> {
    /// Returns the invitations that can be accepted, oldest first.
    pub fn open_invitations(&self, limit: u32) -> StoreFuture<Vec<Invitation>> {
        self.rows(&LIST_OPEN, [limit.into()], read_invitation)
    }
}

/// Creates an invitation, inside a transaction, instead of an open one for the same
/// e-mail address.
pub(crate) fn create(tx: &Tx, org: OrgId, new: &NewInvitation, code_hash: &Value) -> Result<()> {
    withdraw(tx, org, &new.email)?;
    let params = [
        org.into(),
        new.id.into(),
        code_hash.clone(),
        new.email.as_str().into(),
        email_key(&new.email).into(),
        new.role.name().into(),
        Value::json(&new.invited_by)?,
        new.lifetime.into(),
    ];
    tx.execute(&CREATE, &params).map(drop)
}

/// Deletes the open invitations for an e-mail address and returns how many there were.
pub(crate) fn withdraw(tx: &Tx, org: OrgId, email: &str) -> Result<u64> {
    tx.execute(&DELETE_OPEN, &[org.into(), email_key(email).into()])
}

/// Uses up an invitation, inside a transaction. Fails if it is not open any more.
pub(crate) fn accept(tx: &Tx, org: OrgId, id: InvitationId) -> Result<()> {
    match tx.execute(&ACCEPT, &[org.into(), id.into()])? {
        0 => Err(StoreError::NotFound("open invitation")),
        _ => Ok(()),
    }
}

/// Returns what is stored of a code.
pub(crate) fn hash(code: &InvitationCode) -> Value {
    Value::Bytes(Sha256::digest(code.expose().as_bytes()).to_vec())
}

fn read_invitation(row: &Row) -> Result<Invitation> {
    Ok(Invitation {
        id: row.id(0)?,
        email: row.text(1)?.to_owned(),
        role: row.parsed(2, "role")?,
        invited_by: row.json(3, "actor")?,
        created_at: row.time(4)?,
        expires_at: row.time(5)?,
    })
}
