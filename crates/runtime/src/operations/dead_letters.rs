//! Dead letters: messages that could not be answered or sent.

use ostler_domain::id::NoticeId;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_domain::org::permission::OrgPermission;
use ostler_store::{DeadLetterId, NewNotice, StoredDeadLetter};
use serde_json::json;

use super::{OperationError, OrgOperations, Result};
use crate::ids::fresh;

impl OrgOperations<'_> {
    /// Returns a page of dead letters. `after` is the last one of the page before.
    pub async fn dead_letters(
        &self,
        after: Option<DeadLetterId>,
        limit: u32,
    ) -> Result<Vec<StoredDeadLetter>> {
        Ok(self.authorize(OrgPermission::View).await?.dead_letters(after, limit).await?)
    }

    /// Returns a dead letter.
    pub async fn dead_letter(&self, id: DeadLetterId) -> Result<StoredDeadLetter> {
        Ok(self.authorize(OrgPermission::View).await?.dead_letter(id).await?)
    }

    /// Retries a dead letter. An agent's message is not sent any more once a person has taken
    /// over.
    pub async fn replay_dead_letter(&self, id: DeadLetterId) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let audit = self.audit_entry("replay_dead_letter", &id_text(id), &json!({}));
        let letter = store.dead_letter(id).await?;
        store.audited(audit).replay_dead_letter(id).await?;
        self.wake_conversation(letter.conversation).await;
        Ok(())
    }

    /// Abandons a dead letter and notifies the owner.
    pub async fn abandon_dead_letter(&self, id: DeadLetterId, why: &str) -> Result<()> {
        let store = self.authorize(OrgPermission::Operate).await?;
        let why = why.trim();
        if why.is_empty() {
            return Err(OperationError::Empty("a reason"));
        }
        let letter = store.dead_letter(id).await?;
        let data = json!({"letter": id_text(id), "conversation": letter.conversation,
            "attempts": letter.attempts, "reason": letter.reason, "why": why});
        let notice = NewNotice {
            id: fresh(NoticeId::from_u128),
            kind: NoticeKind::DeadLetterAbandoned,
            recipient: NoticeRecipient::Owner,
            subject: id_text(id),
            data: data.to_string(),
        };
        let audit = self.audit_entry("abandon_dead_letter", &id_text(id), &data);
        store.audited(audit).abandon_dead_letter(id, why, notice).await?;
        Ok(())
    }
}

fn id_text(id: DeadLetterId) -> String {
    match id {
        DeadLetterId::Inbox(id) => id.to_string(),
        DeadLetterId::Outbox(id) => id.to_string(),
    }
}
