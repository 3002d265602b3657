//! Dead letters: what is tried again by itself, and what is given up.

use std::time::Duration;

use ostler_domain::id::NoticeId;
use ostler_domain::notice::{NoticeKind, Recipient};
use ostler_store::{Also, Delivery, NewNotice, Outbound};
use serde_json::json;

use super::attempt::EVEN;
use super::courier::Courier;
use super::message::address;
use crate::ids::fresh;
use crate::talk::outgoing::Outgoing;

/// What became of a message, and what goes with that.
pub(super) struct End {
    pub(super) delivery: Delivery,
    pub(super) also: Also,
}

impl From<Delivery> for End {
    fn from(delivery: Delivery) -> Self {
        Self { delivery, also: Also::default() }
    }
}

impl Courier {
    /// There is no way out: the message waits as a dead letter, and the owner
    /// hears of it.
    pub(super) fn no_way(&self, row: &mut Outbound, outgoing: &Outgoing, why: &str) -> End {
        self.dead(row, why, Some(outgoing), Some(NoticeKind::NoBinding))
    }

    pub(super) fn dead(
        &self,
        row: &mut Outbound,
        why: &str,
        outgoing: Option<&Outgoing>,
        kind: Option<NoticeKind>,
    ) -> End {
        let delivery = self.letter(row, why.to_owned(), None);
        let mut end = told(row, delivery, outgoing);
        if let (None, Some(kind)) = (&end.also.notice, kind) {
            end.also.notice = Some(notice(row, outgoing, kind, why));
        }
        end
    }

    /// A dead letter, which is tried again after some time, or for the last time
    /// was.
    pub(super) fn letter(
        &self,
        row: &mut Outbound,
        why: String,
        asked: Option<Duration>,
    ) -> Delivery {
        row.progress.letters = row.progress.letters.saturating_add(1);
        match self.options.letters.wait_after(row.progress.letters, None, EVEN) {
            Some(wait) => {
                let retry_after = wait.max(asked.unwrap_or_default());
                Delivery::Postponed { why, retry_after }
            }
            None => Delivery::Abandoned(why),
        }
    }
}

/// The owner hears of what is given up.
pub(super) fn told(row: &Outbound, delivery: Delivery, outgoing: Option<&Outgoing>) -> End {
    let mut end = End::from(delivery);
    if let Delivery::Abandoned(why) = &end.delivery {
        end.also.notice = Some(notice(row, outgoing, NoticeKind::DeadLetterAbandoned, why));
    }
    end
}

fn notice(row: &Outbound, outgoing: Option<&Outgoing>, kind: NoticeKind, why: &str) -> NewNotice {
    let binding = outgoing.map(|one| one.binding.to_string());
    let data = json!({"message": row.id, "conversation": row.conversation, "binding": binding,
        "to": outgoing.map(|one| address(&one.to)), "why": why, "attempts": row.attempts});
    // Of a binding that does not work the owner hears once, of each message that
    // is given up by itself.
    let subject = match (kind, binding) {
        (NoticeKind::NoBinding, Some(binding)) => binding,
        _ => row.id.to_string(),
    };
    let (id, recipient) = (fresh(NoticeId::from_u128), Recipient::Owner);
    NewNotice { id, kind, recipient, subject, data: data.to_string() }
}
