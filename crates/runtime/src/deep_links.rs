//! Deep links: records of the org that they open, and the tokens in their addresses.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ostler_domain::audit::AuditActor;
use ostler_domain::channel::Channel;
use ostler_domain::hierarchy::deep_link::{
    DeepLink, DeepLinkRefused, DeepLinkToken, deep_link_lifetime, telegram_url,
};
use ostler_domain::id::{AgentId, AuditId, OrgId, RecordId};
use ostler_domain::time::Timestamp;
use ostler_store::{NewAuditEntry, OrgBinding, Store, StoreError};
use serde_json::{Value, json};

use crate::account_links::{hash, read};
use crate::ids::fresh;
use crate::org_view::{OrgView, OrgViews};
use crate::records::encode;
use crate::shared_bot::shared_bot;

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

/// A deep link that was just created. It is shown once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDeepLink {
    pub id: RecordId,
    /// The text after `/start`.
    pub payload: String,
    /// The address that opens it in Telegram; `None` if no bot with a known name serves the
    /// org.
    pub url: Option<String>,
    pub expires_at: Timestamp,
}

/// The system has no random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system has no random numbers")]
pub(crate) struct NoRandomNumbers;

/// A deep link to create: by whom, for which agent, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeepLinkRequest {
    pub(crate) created_by: AuditActor,
    /// The agent that the agency's owner tests; `None` for the PM.
    pub(crate) agent: Option<AgentId>,
    pub(crate) days: u32,
    pub(crate) now: Timestamp,
}

/// Creates a link to an org, with its audit entry. Only the hash of its secret is stored. The
/// caller has checked that `created_by` may do so.
pub(crate) async fn create(
    org_views: &OrgViews,
    view: &OrgView,
    request: DeepLinkRequest,
) -> Result<Result<NewDeepLink, NoRandomNumbers>, StoreError> {
    let DeepLinkRequest { created_by, agent, days, now } = request;
    let mut secret = [0; 16];
    if getrandom::fill(&mut secret).is_err() {
        return Ok(Err(NoRandomNumbers));
    }
    let (org, id) = (view.org.id, fresh(RecordId::from_u128));
    let expires_at = now + deep_link_lifetime(days);
    let link = DeepLink { agent, hash: hash(&secret), created_by, expires_at, revoked_at: None };
    let after = json!({"agent": agent, "expires_at": expires_at});
    let audit = NewAuditEntry {
        id: fresh(AuditId::from_u128),
        actor: created_by,
        action: "create_deep_link".to_owned(),
        subject: id.to_string(),
        data: json!({"before": null, "after": after}).to_string(),
    };
    let write = org_views.store().org(org).audited(audit);
    write.save_record(DEEP_LINK, id, None, encode(&link)).await?;
    let payload = payload(DeepLinkToken { org, link: id, secret });
    let bot = serving_bot(org_views, view).await?;
    let url = bot.map(|bot| telegram_url(&bot, &payload));
    Ok(Ok(NewDeepLink { id, payload, url, expires_at }))
}

/// Returns the name of the Telegram bot that serves an org: its own, or else that of the
/// platform.
async fn serving_bot(org_views: &OrgViews, view: &OrgView) -> Result<Option<String>, StoreError> {
    let is_bot = |one: &&OrgBinding| {
        let binding = &one.binding;
        binding.channel == Channel::Telegram && binding.enabled && shared_bot(one).is_none()
    };
    if let Some(bot) = view.bindings.iter().find(is_bot) {
        return Ok(bot_name(bot));
    }
    let Some(platform) = view.platform_org else { return Ok(None) };
    let view = org_views.current(platform).await?;
    Ok(view.bindings.iter().filter(is_bot).find_map(bot_name))
}

/// Returns the name of a bot, if its settings have it.
fn bot_name(bound: &OrgBinding) -> Option<String> {
    let settings: Value = serde_json::from_str(&bound.settings).ok()?;
    settings["username"].as_str().map(str::to_owned)
}

/// Returns a token as the text of an address.
fn payload(token: DeepLinkToken) -> String {
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
