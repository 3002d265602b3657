//! Dead letters: which are retried automatically, and which are abandoned.

use std::time::Duration;

use ostler_domain::id::NoticeId;
use ostler_domain::notice::{NoticeKind, NoticeRecipient};
use ostler_store::{DeliveryFollowUp, NewNotice, OutboxDelivery, OutboxEntry};
use serde_json::json;

use super::attempt::NO_JITTER;
use super::worker::DeliveryWorker;
use crate::channel_binding::peer_address;
use crate::ids::fresh;
use crate::records::outgoing::OutgoingMessage;

/// The result of a delivery, with what is stored along with it.
pub(super) struct DeliveryResult {
    pub(super) delivery: OutboxDelivery,
    pub(super) follow_up: DeliveryFollowUp,
}

impl From<OutboxDelivery> for DeliveryResult {
    fn from(delivery: OutboxDelivery) -> Self {
        Self { delivery, follow_up: DeliveryFollowUp::default() }
    }
}

impl DeliveryWorker {
    /// Makes a message a dead letter because its binding cannot be used, and notifies the
    /// owner.
    pub(super) fn no_binding(
        &self,
        row: &mut OutboxEntry,
        outgoing: &OutgoingMessage,
        why: &str,
    ) -> DeliveryResult {
        self.dead_letter(row, why, Some(outgoing), Some(NoticeKind::NoBinding))
    }

    pub(super) fn dead_letter(
        &self,
        row: &mut OutboxEntry,
        why: &str,
        outgoing: Option<&OutgoingMessage>,
        kind: Option<NoticeKind>,
    ) -> DeliveryResult {
        let delivery = self.postpone(row, why.to_owned(), None);
        let mut result = with_notice(row, delivery, outgoing);
        if let (OutboxDelivery::Postponed { .. }, Some(kind)) = (&result.delivery, kind) {
            result.follow_up.notice = Some(notice(row, outgoing, kind, why));
        }
        result
    }

    /// Returns the dead letter of a message: postponed to its next automatic retry, or
    /// abandoned after the last one.
    pub(super) fn postpone(
        &self,
        row: &mut OutboxEntry,
        why: String,
        requested_wait: Option<Duration>,
    ) -> OutboxDelivery {
        row.progress.times_dead = row.progress.times_dead.saturating_add(1);
        match self.options.dead_letter_retries.wait_after(row.progress.times_dead, None, NO_JITTER)
        {
            Some(wait) => {
                let retry_after = wait.max(requested_wait.unwrap_or_default());
                OutboxDelivery::Postponed { why, retry_after }
            }
            None => OutboxDelivery::Abandoned(why),
        }
    }
}

/// Adds a notice to the owner if the message becomes a dead letter, is abandoned, or may or
/// may not have been sent.
pub(super) fn with_notice(
    row: &OutboxEntry,
    delivery: OutboxDelivery,
    outgoing: Option<&OutgoingMessage>,
) -> DeliveryResult {
    let mut result = DeliveryResult::from(delivery);
    let found = match &result.delivery {
        OutboxDelivery::Abandoned(why) => Some((NoticeKind::DeadLetterAbandoned, why)),
        OutboxDelivery::Unknown(why) => Some((NoticeKind::UnknownOutcome, why)),
        OutboxDelivery::Postponed { why, .. } if row.progress.times_dead == 1 => {
            Some((NoticeKind::DeadLetter, why))
        }
        _ => None,
    };
    result.follow_up.notice = found.map(|(kind, why)| notice(row, outgoing, kind, why));
    result
}

fn notice(
    row: &OutboxEntry,
    outgoing: Option<&OutgoingMessage>,
    kind: NoticeKind,
    why: &str,
) -> NewNotice {
    let binding = outgoing.map(|one| one.binding.to_string());
    // One notice for each broken binding, and one for each message that is given up. Only
    // the latter names the person, because it is deleted with the person's data.
    let (subject, to) = match (kind, &binding) {
        (NoticeKind::NoBinding | NoticeKind::DeadLetter, Some(binding)) => (binding.clone(), None),
        _ => (row.id.to_string(), outgoing.map(|one| peer_address(&one.to))),
    };
    let data = json!({"message": row.id, "conversation": row.conversation, "binding": binding,
        "to": to, "why": why, "attempts": row.attempts});
    let (id, recipient) = (fresh(NoticeId::from_u128), NoticeRecipient::Owner);
    NewNotice { id, kind, recipient, subject, data: data.to_string() }
}
