//! What the org's owner is told.

use ostler_domain::id::NoticeId;
use ostler_domain::notice::Recipient;
use ostler_domain::org::duty::Duty;
use ostler_store::StoredNotice;

use super::{Office, Result};

impl Office<'_> {
    /// What the owner has not read, oldest first; those after the last one of
    /// the page before.
    pub async fn unread_notices(
        &self,
        after: Option<NoticeId>,
        most: u32,
    ) -> Result<Vec<StoredNotice>> {
        let store = self.allowed(Duty::Look).await?;
        Ok(store.unread_notices(Recipient::Owner, after, most).await?)
    }

    /// Marks a notice as read. This changes nothing for anybody else, and has no
    /// line in the log.
    pub async fn read_notice(&self, id: NoticeId) -> Result<()> {
        Ok(self.allowed(Duty::Work).await?.mark_notice_read(id).await?)
    }
}
