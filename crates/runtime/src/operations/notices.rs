//! Notices to the owner of an org and to the person who asks.

use ostler_domain::id::NoticeId;
use ostler_domain::notice::NoticeRecipient;
use ostler_domain::org::permission::OrgPermission;
use ostler_store::StoredNotice;

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

    /// Marks a notice as read. This leaves no audit entry.
    pub async fn read_notice(&self, id: NoticeId) -> Result<()> {
        Ok(self.authorize(OrgPermission::Operate).await?.mark_notice_read(id).await?)
    }
}
