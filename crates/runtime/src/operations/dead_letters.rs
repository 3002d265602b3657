//! Messages that could not be answered, or not be sent.

use ostler_domain::id::NoticeId;
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_domain::org::duty::Duty;
use ostler_store::{DeadLetter, LetterId, NewNotice};
use serde_json::json;

use super::{Office, OperationError, Result};
use crate::ids::fresh;

impl Office<'_> {
    /// Dead letters; those after the last one of the page before.
    pub async fn dead_letters(
        &self,
        after: Option<LetterId>,
        most: u32,
    ) -> Result<Vec<DeadLetter>> {
        Ok(self.allowed(Duty::Look).await?.dead_letters(after, most).await?)
    }

    /// A dead letter.
    pub async fn dead_letter(&self, id: LetterId) -> Result<DeadLetter> {
        Ok(self.allowed(Duty::Look).await?.dead_letter(id).await?)
    }

    /// Tries a dead letter again. An agent's words are not sent any more once a
    /// person has taken over.
    pub async fn replay_dead_letter(&self, id: LetterId) -> Result<()> {
        let store = self.allowed(Duty::Work).await?;
        let line = self.line("replay_dead_letter", &name(id), &json!({}));
        let letter = store.dead_letter(id).await?;
        store.audited(line).replay_dead_letter(id).await?;
        self.ring_in(letter.conversation).await;
        Ok(())
    }

    /// Lays a dead letter aside for good; the owner hears of it.
    pub async fn abandon_dead_letter(&self, id: LetterId, why: &str) -> Result<()> {
        let store = self.allowed(Duty::Work).await?;
        let why = why.trim();
        if why.is_empty() {
            return Err(OperationError::Empty("a reason"));
        }
        let letter = store.dead_letter(id).await?;
        let data = json!({"letter": name(id), "conversation": letter.conversation,
            "attempts": letter.attempts, "reason": letter.reason, "why": why});
        let notice = NewNotice {
            id: fresh(NoticeId::from_u128),
            kind: NoticeKind::DeadLetterAbandoned,
            recipient: Recipient::Owner,
            subject: name(id),
            data: data.to_string(),
        };
        let line = self.line("abandon_dead_letter", &name(id), &data);
        store.audited(line).abandon_dead_letter(id, why, notice).await?;
        Ok(())
    }
}

fn name(id: LetterId) -> String {
    match id {
        LetterId::Inbox(id) => id.to_string(),
        LetterId::Outbox(id) => id.to_string(),
    }
}
