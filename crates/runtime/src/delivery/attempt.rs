//! Delivers one claimed outbox entry.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostler_channels::connection::ChannelConnection;
use ostler_channels::outbound::{FileContents, MessagePiece, OutboundMessage, SendContext};
use ostler_channels::outcome::SendOutcome;
use ostler_domain::agent::subtype::Subtype;
use ostler_domain::channel::Channel;
use ostler_domain::channel::delivery::{
    FailedSendAction, SendAttempt, SendFailure, SendRetries, next_action,
};
use ostler_domain::message::MessagePart;
use ostler_store::{
    Author, OrgBinding, OutboxDelivery, OutboxEntry, SendBinding, SendPermit, StoreError,
    TeamMessage,
};

use super::dead_letter::{DeliveryResult, with_notice};
use super::message::outbound;
use super::worker::DeliveryWorker;
use crate::channel_binding::peer_address;
use crate::records::decode;
use crate::records::outgoing::OutgoingMessage;
use crate::shared_bot::connection_config;

/// The jitter value that leaves a wait as it is.
pub(super) const NO_JITTER: u32 = 500;
/// How long a message waits if the store failed before it was sent.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How often the result is stored again if the store fails, and the wait between.
const MAX_RECORD_RETRIES: u32 = 20;
const RECORD_RETRY_WAIT: Duration = Duration::from_millis(500);

/// Why a message of a coordinator is not sent.
const ROUTES_ONLY: &str = "its agent is a coordinator, which writes to nobody outside";

/// The length of a text up to which it is formatted at once: about a millisecond of work.
const MAX_INLINE_CHARS: usize = 16 * 1024;

/// What a message is sent with.
pub(super) struct SendRoute<'a> {
    pub(super) bound: &'a OrgBinding,
    connection: &'a ChannelConnection,
    files: &'a FileContents,
    plain: bool,
    /// Whether the last sends through the binding failed.
    pub(super) has_failures: bool,
}

impl DeliveryWorker {
    /// Sends a claimed message and stores the result. If it cannot be stored, the outcome
    /// becomes unknown when the claim expires.
    pub(super) async fn deliver(&self, mut row: OutboxEntry) {
        let started = Instant::now();
        let result = match self.attempt(&mut row).await {
            Ok(result) => result,
            Err(error) => {
                tracing::warn!(outbox_id = %row.id, %error, "message not sent, will retry");
                OutboxDelivery::RetryAfter(RETRY_AFTER_FAILURE).into()
            }
        };
        self.metrics.record_delivery(result.delivery.name(), started.elapsed());
        if let Err(error) = self.record(&row, result).await {
            tracing::warn!(outbox_id = %row.id, %error, "delivery result not stored");
        }
    }

    /// Stores the result of a delivery. Retries for a while, because a result that is not
    /// stored becomes unknown.
    async fn record(&self, row: &OutboxEntry, result: DeliveryResult) -> Result<(), StoreError> {
        let mut retries = 0;
        loop {
            let DeliveryResult { delivery, follow_up } = &result;
            let org_store = self.store.org(row.org);
            match org_store.record_delivery_with(row, delivery.clone(), follow_up.clone()).await {
                Err(StoreError::NotFound(_)) => {
                    tracing::warn!(outbox_id = %row.id, "delivery took longer than its claim");
                    return Ok(());
                }
                Err(error) if retries < MAX_RECORD_RETRIES => {
                    tracing::warn!(outbox_id = %row.id, %error, "delivery result not stored, will retry");
                    retries += 1;
                    tokio::time::sleep(RECORD_RETRY_WAIT).await;
                }
                other => return other,
            }
        }
    }

    /// Sends a message. Fails only if nothing was sent yet.
    async fn attempt(&self, row: &mut OutboxEntry) -> Result<DeliveryResult, StoreError> {
        let outgoing: OutgoingMessage = match decode("message", &row.payload) {
            Ok(outgoing) => outgoing,
            Err(error) => return Ok(self.dead_letter(row, &error.to_string(), None, None)),
        };
        if let Some(request) = &outgoing.bus_request {
            return Ok(self.reply(row, &outgoing, request).await);
        }
        let org_store = self.store.org(row.org);
        let SendBinding { bound, pause, failures, writer } = match org_store
            .binding_for_send(outgoing.binding, outgoing.agent)
            .await
        {
            Ok(found) => found,
            Err(StoreError::NotFound(_)) => {
                return Ok(self.no_binding(row, &outgoing, "the binding does not exist any more"));
            }
            Err(other) => return Err(other),
        };
        if !bound.binding.enabled {
            return Ok(self.no_binding(row, &outgoing, "the binding is disabled"));
        }
        // A web chat page reads its messages from the thread.
        if bound.binding.channel == Channel::Webchat {
            return Ok(OutboxDelivery::Sent.into());
        }
        if !pause.is_zero() {
            return Ok(OutboxDelivery::RetryAfter(pause).into());
        }
        // It may have become one after it wrote.
        if writer == Some(Subtype::Coordinator) {
            return Ok(self.dead_letter(row, ROUTES_ONLY, Some(&outgoing), None));
        }
        let Some(config) = connection_config(&self.store, row.org, &bound).await? else {
            return Ok(self.no_binding(row, &outgoing, "the platform's bot is switched off"));
        };
        let connection = match self.channels.open(&config) {
            Ok(connection) => connection,
            Err(error) => return Ok(self.no_binding(row, &outgoing, &error.to_string())),
        };
        let message = outbound(&outgoing, row.author, &bound.binding.channel);
        let pieces = pieces(&connection, message).await;
        let files = self.load_files(row, &pieces).await?;
        let route = SendRoute {
            bound: &bound,
            connection: &connection,
            files: &files,
            plain: outgoing.plain_text,
            has_failures: failures > 0,
        };
        let sent = self.send(row, &route, &pieces).await;
        Ok(self.sent_result(row, &outgoing, sent).await)
    }

    /// Loads the files of the remaining pieces. A missing file is refused by the channel.
    async fn load_files(
        &self,
        row: &OutboxEntry,
        pieces: &[MessagePiece],
    ) -> Result<FileContents, StoreError> {
        let mut files = FileContents::new();
        let remaining = pieces.iter().skip(row.progress.next_piece as usize);
        for file in remaining.flat_map(|piece| &piece.files) {
            match self.store.org(row.org).blob(file.blob).await {
                Ok(found) => {
                    files.insert(file.blob, found.bytes.into());
                }
                Err(StoreError::NotFound(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(files)
    }

    /// Sends the remaining pieces. Returns the provider's id of the last one.
    async fn send(
        &self,
        row: &mut OutboxEntry,
        route: &SendRoute<'_>,
        pieces: &[MessagePiece],
    ) -> Result<Option<String>, OutboxDelivery> {
        let mut provider_id = None;
        let remaining = pieces.iter().skip(row.progress.next_piece as usize);
        let last = pieces.len().saturating_sub(1);
        for piece in remaining {
            provider_id = self.send_piece(row, route, piece).await?;
            row.progress.next_piece = piece.index.saturating_add(1);
            row.progress.failed_attempts = 0;
            (row.progress.failing_since, row.progress.may_have_arrived) = (None, false);
            if (piece.index as usize) < last {
                self.store_progress(row).await?;
            }
        }
        Ok(provider_id)
    }

    /// Stores how far a message is. Fails if the rest is withdrawn because a person took
    /// over.
    async fn store_progress(&self, row: &OutboxEntry) -> Result<(), OutboxDelivery> {
        let org_store = self.store.org(row.org);
        match org_store.record_progress(row, self.options.claim_timeout).await {
            Ok(SendPermit::Granted) => Ok(()),
            Ok(SendPermit::Revoked) => Err(OutboxDelivery::RetryAfter(Duration::ZERO)),
            Err(error) => {
                tracing::warn!(outbox_id = %row.id, %error, "delivery progress not stored, will retry");
                Err(OutboxDelivery::RetryAfter(RETRY_AFTER_FAILURE))
            }
        }
    }

    /// Sends a piece, and again at once where the rules allow that.
    async fn send_piece(
        &self,
        row: &mut OutboxEntry,
        route: &SendRoute<'_>,
        piece: &MessagePiece,
    ) -> Result<Option<String>, OutboxDelivery> {
        let retries = SendRetries::for_channel(&route.bound.binding.channel, self.options.max_hold);
        loop {
            let plain = route.plain || row.progress.plain_text;
            let outcome = self.call(row, route, piece, plain).await;
            self.record_receiver_state(row, route, &outcome).await;
            let Some(failure) = outcome.failure() else {
                crate::faults::point("after_provider");
                return Ok(match outcome {
                    SendOutcome::Delivered { provider_id } => provider_id,
                    _ => None,
                });
            };
            let why = outcome.reason().to_owned();
            let requested_wait = self.pause_binding(row, route, failure).await;
            let attempt = self.failed_attempt(row, plain);
            match next_action(
                failure,
                attempt,
                retries,
                route.connection.unknown_outcome_policy(),
                NO_JITTER,
            ) {
                FailedSendAction::RetryAfter(wait) => {
                    row.progress.failed_attempts += 1;
                    return Err(OutboxDelivery::RetryAfter(wait));
                }
                FailedSendAction::RetryAsPlainText => row.progress.plain_text = true,
                FailedSendAction::RetryMarkedDuplicate(wait) => {
                    row.progress.failed_attempts += 1;
                    row.progress.may_have_arrived = true;
                    return Err(OutboxDelivery::RetryAfter(wait));
                }
                FailedSendAction::UnknownOutcome => return Err(OutboxDelivery::Unknown(why)),
                FailedSendAction::DeadLetter => {
                    row.progress.may_have_arrived |= failure == SendFailure::Ambiguous;
                    return Err(self.postpone(row, why, requested_wait));
                }
            }
        }
    }

    /// Returns the attempt that has just failed, and notes the time of the first.
    pub(super) fn failed_attempt(&self, row: &mut OutboxEntry, plain: bool) -> SendAttempt {
        let now = self.clock.now();
        let since = *row.progress.failing_since.get_or_insert(now);
        SendAttempt {
            number: row.progress.failed_attempts.saturating_add(1),
            failing_for: now.since(since),
            plain,
            is_dead_letter: row.progress.times_dead > 0,
        }
    }

    /// Makes one call to the provider.
    async fn call(
        &self,
        row: &OutboxEntry,
        route: &SendRoute<'_>,
        piece: &MessagePiece,
        plain: bool,
    ) -> SendOutcome {
        let key = row.id.to_string();
        let how = SendContext {
            idempotency_key: &key,
            plain_text: plain,
            possible_duplicate: row.progress.may_have_arrived,
            by_person: row.author == Author::Human,
        };
        crate::faults::point("during_delivery");
        let sent = route.connection.send(piece, how, route.files, self.clock.now());
        // The timeouts of channels are shorter than this one.
        match tokio::time::timeout(self.options.claim_timeout, sent).await {
            Ok(outcome) => outcome,
            Err(_) => SendOutcome::Unknown { reason: "the provider did not answer in time".into() },
        }
    }

    /// Returns the result of a send. A message to the org's people is remembered by the
    /// provider's id, so that a reply to it finds its session.
    async fn sent_result(
        &self,
        row: &mut OutboxEntry,
        outgoing: &OutgoingMessage,
        sent: Result<Option<String>, OutboxDelivery>,
    ) -> DeliveryResult {
        let provider_id = match sent {
            Ok(provider_id) => provider_id,
            Err(delivery) => return with_notice(row, delivery, Some(outgoing)),
        };
        let mut result = DeliveryResult::from(OutboxDelivery::Sent);
        let Some(provider_id) = provider_id.filter(|_| row.author == Author::Notice) else {
            return result;
        };
        let own = match self.store.org(row.org).conversation_key(row.conversation).await {
            Ok(key) => key.binding == outgoing.binding && key.peer == outgoing.to,
            Err(_) => true,
        };
        if !own {
            let (binding, chat) = (outgoing.binding, peer_address(&outgoing.to).to_owned());
            result.follow_up.team_message = Some(TeamMessage { binding, chat, provider_id });
        }
        result
    }
}

/// Splits a message into pieces: a long one on a thread of its own, so that it delays nobody
/// else.
async fn pieces(connection: &ChannelConnection, message: OutboundMessage) -> Vec<MessagePiece> {
    let length = |part: &MessagePart| match part {
        MessagePart::Text { text } => text.len(),
        _ => 0,
    };
    if message.parts.iter().map(length).sum::<usize>() <= MAX_INLINE_CHARS {
        return connection.pieces(&message);
    }
    let (connection, shared) = (connection.clone(), Arc::new(message));
    let (splitter, message) = (connection.clone(), shared.clone());
    match tokio::task::spawn_blocking(move || splitter.pieces(&message)).await {
        Ok(pieces) => pieces,
        Err(_) => connection.pieces(&shared),
    }
}
