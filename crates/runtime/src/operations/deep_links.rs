//! Deep links: addresses that open a conversation with the org, or a test of one of its agents.

use ostler_domain::channel::Channel;
use ostler_domain::hierarchy::deep_link::{
    DeepLink, DeepLinkToken, deep_link_lifetime, telegram_url,
};
use ostler_domain::id::{OrgId, RecordId};
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::Timestamp;
use ostler_store::OrgBinding;
use serde_json::{Value, json};

use super::{OperationError, OrgOperations, Result};
use crate::account_links::{hash, read};
use crate::deep_links::{DEEP_LINK, payload};
use crate::ids::fresh;
use crate::records::encode;
use crate::shared_bot::shared_bot;

/// The most links that are listed.
const MAX_LINKS: u32 = 500;

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

/// A stored deep link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDeepLink {
    pub id: RecordId,
    pub created_at: Timestamp,
    pub link: DeepLink,
}

impl OrgOperations<'_> {
    /// Creates a link that opens a conversation with the org, within `days`. The owner of its
    /// agency tests the named agent by it, or the PM if none is named; customers reach
    /// customer service. Only the hash of its secret is stored.
    pub async fn create_deep_link(&self, agent: Option<&str>, days: u32) -> Result<NewDeepLink> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let view = self.view().await?;
        let agent = match agent {
            Some(name) => {
                let found = view.find_agent(name).map(|one| one.agent.id);
                Some(found.ok_or_else(|| OperationError::NoAgent(name.to_owned()))?)
            }
            None => None,
        };
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(|_| OperationError::NoRandomNumbers)?;
        let id = fresh(RecordId::from_u128);
        let expires_at = self.inner().clock.now() + deep_link_lifetime(days);
        let link = DeepLink {
            agent,
            hash: hash(&secret),
            created_by: self.actor.audit_actor(),
            expires_at,
            revoked_at: None,
        };
        let data = json!({"agent": agent, "expires_at": expires_at});
        let audit = self.audit_change("create_deep_link", &id, &Value::Null, &data);
        store.audited(audit).save_record(DEEP_LINK, id, None, encode(&link)).await?;
        let payload = payload(DeepLinkToken { org: self.org, link: id, secret });
        let bot = self.serving_bot(&view.bindings, view.platform_org).await?;
        let url = bot.map(|bot| telegram_url(&bot, &payload));
        Ok(NewDeepLink { id, payload, url, expires_at })
    }

    /// Returns the links of the org, newest first.
    pub async fn deep_links(&self) -> Result<Vec<StoredDeepLink>> {
        let store = self.authorize(OrgPermission::View).await?;
        let page = store.newest_records(DEEP_LINK, None, MAX_LINKS).await?;
        let stored = page.iter().map(|record| {
            let (id, created_at) = (record.id, record.created_at);
            Ok(StoredDeepLink { id, created_at, link: read(record)? })
        });
        stored.collect()
    }

    /// Revokes a link. Nobody enters by it any more, and those who did leave with their next
    /// message. Repeating it changes nothing.
    pub async fn revoke_deep_link(&self, id: RecordId) -> Result<()> {
        let store = self.authorize(OrgPermission::Configure).await?;
        let stored = store.record(DEEP_LINK, id).await?;
        let link: DeepLink = read(&stored)?;
        if link.revoked_at.is_some() {
            return Ok(());
        }
        let after = DeepLink { revoked_at: Some(self.inner().clock.now()), ..link };
        let (before, data) = (json!({"state": "valid"}), json!({"state": "revoked"}));
        let audit = self.audit_change("revoke_deep_link", &id, &before, &data);
        let write = store.audited(audit);
        Ok(write.save_record(DEEP_LINK, id, Some(&stored), encode(&after)).await?)
    }

    /// Returns the name of the Telegram bot that serves the org: its own, or else that of the
    /// platform.
    async fn serving_bot(
        &self,
        own: &[OrgBinding],
        platform: Option<OrgId>,
    ) -> Result<Option<String>> {
        let is_bot = |one: &&OrgBinding| {
            let binding = &one.binding;
            binding.channel == Channel::Telegram && binding.enabled && shared_bot(one).is_none()
        };
        if let Some(bot) = own.iter().find(is_bot) {
            return Ok(bot_name(bot));
        }
        let Some(platform) = platform else { return Ok(None) };
        let view = self.inner().org_views.current(platform).await?;
        Ok(view.bindings.iter().filter(is_bot).find_map(bot_name))
    }
}

/// Returns the name of a bot, if its settings have it.
fn bot_name(bound: &OrgBinding) -> Option<String> {
    let settings: Value = serde_json::from_str(&bound.settings).ok()?;
    settings["username"].as_str().map(str::to_owned)
}
