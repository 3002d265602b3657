//! Deep links: addresses that open a conversation with the org, or a test of one of its agents.

use ostler_domain::hierarchy::deep_link::DeepLink;
use ostler_domain::id::RecordId;
use ostler_domain::org::permission::OrgPermission;
use ostler_domain::time::Timestamp;
use serde_json::json;

use super::{OperationError, OrgOperations, Result};
use crate::account_links::read;
use crate::deep_links::{self, DEEP_LINK, DeepLinkRequest};
use crate::records::encode;

pub use crate::deep_links::NewDeepLink;

/// The most links that are listed.
const MAX_LINKS: u32 = 500;

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
        self.authorize(OrgPermission::Configure).await?;
        let view = self.view().await?;
        let agent = match agent {
            Some(name) => {
                let found = view.find_agent(name).map(|one| one.agent.id);
                Some(found.ok_or_else(|| OperationError::NoAgent(name.to_owned()))?)
            }
            None => None,
        };
        let (created_by, now) = (self.actor.audit_actor(), self.inner().clock.now());
        let request = DeepLinkRequest { created_by, agent, days, now };
        let created = deep_links::create(&self.inner().org_views, &view, request).await?;
        created.map_err(|_| OperationError::NoRandomNumbers)
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
}
