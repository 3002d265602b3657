//! Notices to the owner of an org and to the person who asks.

use ostler_domain::id::NoticeId;
use ostler_domain::notice::NoticeRecipient;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{StoredNotice, StoredNoticeDelivery};

use super::{OrgOperations, Result};

impl OrgOperations<'_> {
    /// Returns a page of the unread notices to the owner and to the actor, oldest first.
    /// `after` is the last one of the page before.
    pub async fn unread_notices(
        &self,
        after: Option<NoticeId>,
        limit: u32,
    ) -> Result<Vec<StoredNotice>> {
        let store = self.authorize(OrgPermission::View).await?;
        let mut page = store.unread_notices(NoticeRecipient::Owner, after, limit).await?;
        let own = NoticeRecipient::User(self.actor.user_id());
        page.extend(store.unread_notices(own, after, limit).await?);
        page.sort_by_key(|stored| stored.notice.id);
        page.truncate(limit as usize);
        Ok(page)
    }

    /// Returns the newest notices to the owner and to the actor, also those that were
    /// acknowledged, newest first.
    pub async fn notices(&self, limit: u32) -> Result<Vec<StoredNotice>> {
        let store = self.authorize(OrgPermission::View).await?;
        let mut all = store.notices(NoticeRecipient::Owner, limit).await?;
        let own = NoticeRecipient::User(self.actor.user_id());
        all.extend(store.notices(own, limit).await?);
        all.sort_by_key(|stored| std::cmp::Reverse(stored.notice.id));
        all.truncate(limit as usize);
        Ok(all)
    }

    /// Returns a notice to the owner or to a person, with its deliveries.
    pub async fn notice(&self, id: NoticeId) -> Result<(StoredNotice, Vec<StoredNoticeDelivery>)> {
        let store = self.authorize(OrgPermission::View).await?;
        Ok((store.notice(id).await?, store.notice_deliveries(id).await?))
    }

    /// Acknowledges a notice, so that nobody is notified of it again. This leaves no audit
    /// entry: the notice names who did it.
    pub async fn acknowledge_notice(&self, id: NoticeId) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        Ok(store.acknowledge_notice(id, &self.actor.audit_actor()).await?)
    }
}
