//! The accounts on channels that belong to users, and the codes that link them. Users belong
//! to no org, so both are records of the platform's.

use ostler_domain::audit::AuditActor;
use ostler_domain::id::{AuditId, RecordId, UserId};
use ostler_domain::org::account_link::{
    AccountLink, ChannelAccount, LinkCode, LinkRefused, LinkUse, PendingLink,
};
use ostler_domain::time::Timestamp;
use ostler_store::{NewAuditEntry, OrgStore, Record, StoreError};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::ids::{derived, fresh};
use crate::records::{decode, encode};

/// The record kind of [`AccountLink`].
pub(crate) const LINK: &str = "account_link";
/// The record kind of [`PendingLink`].
const CODE: &str = "link_code";
/// How often a code is tried when others change its record at the same time.
const MAX_ATTEMPTS: usize = 3;

/// Returns the hash of a secret as hexadecimal digits. Secrets are long and random, so an
/// unsalted hash reveals nothing.
pub(crate) fn hash(secret: &[u8]) -> String {
    Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the id of the record that links an account.
pub(crate) fn link_id(platform: OrgStore<'_>, account: &ChannelAccount) -> RecordId {
    let key = format!("{LINK} {} {}", account.channel, account.identifier);
    derived(RecordId::from_u128, platform.id().as_u128(), &key)
}

fn code_id(platform: OrgStore<'_>, hash: &str) -> RecordId {
    derived(RecordId::from_u128, platform.id().as_u128(), &format!("{CODE} {hash}"))
}

/// Stores a new code of a user, with its audit entry. Only the hash of the code is stored.
pub(crate) async fn store_code(
    platform: OrgStore<'_>,
    user: UserId,
    code: &LinkCode,
    expires_at: Timestamp,
    audit: NewAuditEntry,
) -> Result<(), StoreError> {
    let hash = hash(code.expose().as_bytes());
    let id = code_id(platform, &hash);
    let pending = PendingLink { user, hash, expires_at, used_by: None };
    platform.audited(audit).save_record(CODE, id, None, encode(&pending)).await
}

/// Returns the user to whom an account is linked.
pub(crate) async fn linked_user(
    platform: OrgStore<'_>,
    account: &ChannelAccount,
) -> Result<Option<UserId>, StoreError> {
    let link = read_link(platform, account).await?.map(|(_, link)| link);
    Ok(link.filter(|link| link.revoked_at.is_none()).map(|link| link.user))
}

/// Links an account to the user of a code. The code is used up; the same message, delivered
/// again, changes nothing.
pub(crate) async fn redeem(
    platform: OrgStore<'_>,
    code: &LinkCode,
    account: &ChannelAccount,
    name: Option<&str>,
    now: Timestamp,
) -> Result<Result<UserId, LinkRefused>, StoreError> {
    let mut last = StoreError::Conflict("a linking code".into());
    for _ in 0..MAX_ATTEMPTS {
        match try_redeem(platform, code, account, name, now).await {
            Err(error @ StoreError::Conflict(_)) => last = error,
            other => return other,
        }
    }
    Err(last)
}

async fn try_redeem(
    platform: OrgStore<'_>,
    code: &LinkCode,
    account: &ChannelAccount,
    name: Option<&str>,
    now: Timestamp,
) -> Result<Result<UserId, LinkRefused>, StoreError> {
    let hash = hash(code.expose().as_bytes());
    let stored = match platform.record(CODE, code_id(platform, &hash)).await {
        Ok(stored) => stored,
        Err(StoreError::NotFound(_)) => return Ok(Err(LinkRefused::Unknown)),
        Err(other) => return Err(other),
    };
    let pending: PendingLink = read(&stored)?;
    let usage = match pending.redeem(&hash, account, now) {
        Ok(usage) => usage,
        Err(refused) => return Ok(Err(refused)),
    };
    let known = read_link(platform, account).await?;
    match (usage, &known) {
        // A message that is delivered again does not restore a link that was revoked since.
        (LinkUse::Repeated, Some((_, link))) => {
            let is_valid = link.revoked_at.is_none() && link.user == pending.user;
            return Ok(if is_valid { Ok(pending.user) } else { Err(LinkRefused::Used) });
        }
        (LinkUse::Repeated, None) => {}
        (LinkUse::First, _) => {
            let used = PendingLink { used_by: Some(account.clone()), ..pending.clone() };
            platform.update_record(CODE, &stored, encode(&used)).await?;
        }
    }
    let link = AccountLink {
        user: pending.user,
        account: account.clone(),
        name: name.map(str::to_owned),
        linked_at: now,
        revoked_at: None,
    };
    let audit = NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: AuditActor::User(pending.user),
        action: "link_account".to_owned(),
        subject: pending.user.to_string(),
        data: json!({"before": known.as_ref().map(|(_, link)| link), "after": link}).to_string(),
    };
    let (id, read) = (link_id(platform, account), known.as_ref().map(|(read, _)| read));
    platform.audited(audit).save_record(LINK, id, read, encode(&link)).await?;
    Ok(Ok(pending.user))
}

/// Returns the link of an account with its record, also if it was revoked.
pub(crate) async fn read_link(
    platform: OrgStore<'_>,
    account: &ChannelAccount,
) -> Result<Option<(Record, AccountLink)>, StoreError> {
    match platform.record(LINK, link_id(platform, account)).await {
        Ok(stored) => {
            let link = read(&stored)?;
            Ok(Some((stored, link)))
        }
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Reads a stored value.
pub(crate) fn read<T: serde::de::DeserializeOwned>(stored: &Record) -> Result<T, StoreError> {
    decode("record", &stored.data).map_err(|error| StoreError::Backend(error.to_string()))
}
