//! Replies to requests from the bus. A repeated reply has the same id, so that it is safe to
//! send one again whose outcome is unknown.

use std::sync::Arc;

use ostler_bus::BusError;
use ostler_domain::id::EnvelopeId;
use ostler_domain::retry::RetryPolicy;
use ostler_store::{Author, OutboxDelivery, OutboxEntry};
use serde_json::json;

use super::attempt::NO_JITTER;
use super::dead_letter::{DeliveryResult, with_notice};
use super::worker::DeliveryWorker;
use crate::agents::{ANSWER_KIND, NOTICE_KIND, QueueError};
use crate::ids::derived;
use crate::records::bus_request::{BusRequest, bus_channel};
use crate::records::entry::text_of;
use crate::records::outgoing::OutgoingMessage;

impl DeliveryWorker {
    /// Sends the reply to a bus request.
    pub(super) async fn reply(
        &self,
        row: &mut OutboxEntry,
        outgoing: &OutgoingMessage,
        request: &BusRequest,
    ) -> DeliveryResult {
        let Some(to) = request.reply_to() else { return OutboxDelivery::Sent.into() };
        let Some(agent_runtimes) = &self.agent_runtimes else {
            let why = "this process is not connected to the bus";
            return self.dead_letter(row, why, Some(outgoing), None);
        };
        let Some(agents) = agent_runtimes.get(row.org) else {
            return self.retry(
                row,
                outgoing,
                "the agents of the org are not connected to the bus yet",
            );
        };
        let id = derived(EnvelopeId::from_u128, row.id.as_u128(), "answer");
        let kind = match row.author {
            Author::Agent | Author::Human | Author::Outreach => ANSWER_KIND,
            Author::System | Author::Notice => NOTICE_KIND,
        };
        let payload = json!({"text": text_of(&outgoing.parts)});
        let answer = request.reply(id, kind.into(), payload.into());
        crate::faults::point("during_delivery");
        match agents.send_to_queue(to, Arc::new(answer)).await {
            Ok(()) => OutboxDelivery::Sent.into(),
            Err(QueueError::Bus(error @ BusError::NoPendingRequest(_))) => {
                tracing::debug!(outbox_id = %row.id, %error, "bus reply came late");
                OutboxDelivery::Sent.into()
            }
            Err(error) => self.retry(row, outgoing, &error.to_string()),
        }
    }

    fn retry(
        &self,
        row: &mut OutboxEntry,
        outgoing: &OutgoingMessage,
        why: &str,
    ) -> DeliveryResult {
        tracing::warn!(outbox_id = %row.id, why, "bus reply not sent, will retry");
        row.progress.failed_attempts = row.progress.failed_attempts.saturating_add(1);
        match RetryPolicy::for_channel(&bus_channel()).wait_after(
            row.progress.failed_attempts,
            None,
            NO_JITTER,
        ) {
            Some(wait) if row.progress.times_dead == 0 => OutboxDelivery::RetryAfter(wait).into(),
            _ => {
                let dead_letter = self.postpone(row, why.to_owned(), None);
                with_notice(row, dead_letter, Some(outgoing))
            }
        }
    }
}
