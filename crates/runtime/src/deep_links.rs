//! Deep links: records of the org that they open, and the tokens in their addresses.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ostler_domain::hierarchy::deep_link::{DeepLink, DeepLinkRefused, DeepLinkToken};
use ostler_domain::id::{AgentId, OrgId, RecordId};
use ostler_domain::time::Timestamp;
use ostler_store::{Store, StoreError};

use crate::account_links::{hash, read};

/// The record kind of [`DeepLink`].
pub(crate) const DEEP_LINK: &str = "deep_link";

/// A deep link that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenedLink {
    pub(crate) org: OrgId,
    /// The record of the link; `None` for the name of an agent or an org.
    pub(crate) id: Option<RecordId>,
    pub(crate) agent: Option<AgentId>,
}

/// Returns a token as the text of an address.
pub(crate) fn payload(token: DeepLinkToken) -> String {
    URL_SAFE_NO_PAD.encode(token.to_bytes())
}

/// Reads the text of an address; returns `None` if it is none of a deep link.
pub(crate) fn parse(payload: &str) -> Option<DeepLinkToken> {
    let bytes = URL_SAFE_NO_PAD.decode(payload.trim()).ok()?;
    DeepLinkToken::from_bytes(&bytes)
}

/// Opens a link. An org or link that does not exist looks like a wrong secret.
pub(crate) async fn open(
    store: &Store,
    token: DeepLinkToken,
    now: Timestamp,
) -> Result<Result<OpenedLink, DeepLinkRefused>, StoreError> {
    let Some(link) = find(store, token.org, token.link).await? else {
        return Ok(Err(DeepLinkRefused::Unknown));
    };
    let opened = OpenedLink { org: token.org, id: Some(token.link), agent: link.agent };
    Ok(link.check(&hash(&token.secret), now).map(|()| opened))
}

/// Returns whether a link that was opened before still holds: only revoking it ends that.
pub(crate) async fn holds(store: &Store, org: OrgId, id: RecordId) -> Result<bool, StoreError> {
    Ok(find(store, org, id).await?.is_some_and(|link| link.revoked_at.is_none()))
}

async fn find(store: &Store, org: OrgId, id: RecordId) -> Result<Option<DeepLink>, StoreError> {
    match store.org(org).record(DEEP_LINK, id).await {
        Ok(stored) => read(&stored).map(Some),
        Err(StoreError::NotFound(_)) => Ok(None),
        Err(other) => Err(other),
    }
}
