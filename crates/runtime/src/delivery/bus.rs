//! An answer to whoever asked on the bus. A repeat carries the same id there, so
//! that it may be sent again whenever nobody knows what became of it.

use std::sync::Arc;

use ostler_bus::BusError;
use ostler_domain::id::EnvelopeId;
use ostler_domain::retry::RetryPolicy;
use ostler_store::{Author, Delivery, Outbound};
use serde_json::json;

use super::attempt::EVEN;
use super::courier::Courier;
use super::letter::{End, told};
use crate::ids::derived;
use crate::queue::{ANSWER, NOTICE, QueueError};
use crate::talk::asked::{Asked, channel};
use crate::talk::entry::text_of;
use crate::talk::outgoing::Outgoing;

impl Courier {
    /// Answers a message of the bus.
    pub(super) async fn reply(
        &self,
        row: &mut Outbound,
        outgoing: &Outgoing,
        asked: &Asked,
    ) -> End {
        let Some(to) = asked.reply_to() else { return Delivery::Sent.into() };
        let Some(staff) = &self.staff else {
            let why = "nobody here is connected to the bus; start the courier with one";
            return self.dead(row, why, Some(outgoing), None);
        };
        let Some(agents) = staff.of(row.org) else {
            return self.later(row, outgoing, "the agents of the org are not on the bus yet");
        };
        let id = derived(EnvelopeId::from_u128, row.id.as_u128(), "answer");
        let kind = match row.author {
            Author::Agent | Author::Human => ANSWER,
            Author::System | Author::Notice => NOTICE,
        };
        let payload = json!({"text": text_of(&outgoing.parts)});
        let answer = asked.answer(id, kind.into(), payload.into());
        crate::faults::point("during_delivery");
        match agents.post(to, Arc::new(answer)).await {
            Ok(()) => Delivery::Sent.into(),
            Err(QueueError::Bus(error @ BusError::NobodyWaits(_))) => {
                tracing::debug!(%error, message = %row.id, "an answer came late");
                Delivery::Sent.into()
            }
            Err(error) => self.later(row, outgoing, &error.to_string()),
        }
    }

    fn later(&self, row: &mut Outbound, outgoing: &Outgoing, why: &str) -> End {
        tracing::warn!(why, message = %row.id, "an answer did not get onto the bus");
        row.progress.tries = row.progress.tries.saturating_add(1);
        match RetryPolicy::of_channel(&channel()).wait_after(row.progress.tries, None, EVEN) {
            Some(wait) if row.progress.letters == 0 => Delivery::RetryAfter(wait).into(),
            _ => {
                let letter = self.letter(row, why.to_owned(), None);
                told(row, letter, Some(outgoing))
            }
        }
    }
}
