//! One message that was claimed, up to what became of it.

use std::time::Duration;

use ostler_channels::connection::Connection;
use ostler_channels::outbound::{Files, Piece, Sending};
use ostler_channels::outcome::Outcome;
use ostler_domain::channel::Channel;
use ostler_domain::channel::delivery::{Attempt, NextSend, SendFailure, next};
use ostler_domain::retry::RetryPolicy;
use ostler_store::{Announced, Author, Delivery, GoOn, OrgBinding, Outbound, StoreError};

use super::config;
use super::courier::Courier;
use super::letter::{End, told};
use super::message::{address, outbound};
use crate::talk::outgoing::Outgoing;
use crate::talk::read;

/// No wait is varied: those of channels and dead letters have no jitter.
pub(super) const EVEN: u32 = 500;
/// How long a message waits when the store failed before it was sent.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// How often what became of a message is written down again when the store
/// fails, and how long to wait between.
const TELLS: u32 = 20;
const TELL_AGAIN: Duration = Duration::from_millis(500);

/// The way that a message takes.
struct Way<'a> {
    bound: &'a OrgBinding,
    connection: &'a Connection,
    files: &'a Files,
    plain: bool,
}

impl Courier {
    /// Sends a message that was claimed, and writes down what became of it.
    pub(super) async fn deliver(&self, mut row: Outbound) -> Result<(), StoreError> {
        let end = match self.attempt(&mut row).await {
            Ok(end) => end,
            Err(error) => {
                tracing::warn!(%error, message = %row.id, "a message was not sent yet");
                Delivery::RetryAfter(AFTER_FAILURE).into()
            }
        };
        self.record(&row, end).await
    }

    /// What is known of a message is worth some patience: what is not written
    /// down will be unknown.
    async fn record(&self, row: &Outbound, end: End) -> Result<(), StoreError> {
        let mut tells = 0;
        loop {
            let End { delivery, also } = &end;
            let here = self.store.org(row.org);
            match here.record_delivery_and(row, delivery.clone(), also.clone()).await {
                Err(StoreError::NotFound(_)) => {
                    tracing::warn!(message = %row.id, "it took too long and was given up");
                    return Ok(());
                }
                Err(error) if tells < TELLS => {
                    tracing::warn!(%error, message = %row.id, "it cannot be written down yet");
                    tells += 1;
                    tokio::time::sleep(TELL_AGAIN).await;
                }
                other => return other,
            }
        }
    }

    /// Fails only while nothing was sent.
    async fn attempt(&self, row: &mut Outbound) -> Result<End, StoreError> {
        let outgoing: Outgoing = match read("message", &row.payload) {
            Ok(outgoing) => outgoing,
            Err(error) => return Ok(self.dead(row, &error.to_string(), None, None)),
        };
        if let Some(asked) = &outgoing.asked {
            return Ok(self.reply(row, &outgoing, asked).await);
        }
        let here = self.store.org(row.org);
        let (bound, wait) = match here.way_out(outgoing.binding).await {
            Ok(found) => found,
            Err(StoreError::NotFound(_)) => {
                return Ok(self.no_way(row, &outgoing, "the binding is not there any more"));
            }
            Err(other) => return Err(other),
        };
        if !bound.binding.enabled {
            return Ok(self.no_way(row, &outgoing, "the binding is disabled"));
        }
        // A page reads its messages from where they are stored.
        if bound.binding.channel == Channel::Webchat {
            return Ok(Delivery::Sent.into());
        }
        if !wait.is_zero() {
            return Ok(Delivery::RetryAfter(wait).into());
        }
        let connection = match self.channels.open(&config(row.org, &bound)) {
            Ok(connection) => connection,
            Err(error) => return Ok(self.no_way(row, &outgoing, &error.to_string())),
        };
        let message = outbound(&outgoing, row.author, &bound.binding.channel);
        let pieces = connection.pieces(&message);
        let files = self.files(row, &pieces).await?;
        let way =
            Way { bound: &bound, connection: &connection, files: &files, plain: outgoing.plain };
        let end = self.send(row, &way, &pieces).await;
        Ok(self.with_reply(row, &outgoing, end).await)
    }

    /// The files of the pieces that are left. One that is gone is the channel's
    /// to refuse.
    async fn files(&self, row: &Outbound, pieces: &[Piece]) -> Result<Files, StoreError> {
        let mut files = Files::new();
        let left = pieces.iter().skip(row.progress.piece as usize);
        for file in left.flat_map(|piece| &piece.files) {
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

    /// Sends the pieces that are left. Says what the provider calls the last.
    async fn send(
        &self,
        row: &mut Outbound,
        way: &Way<'_>,
        pieces: &[Piece],
    ) -> Result<Option<String>, Delivery> {
        let mut provider_id = None;
        let left = pieces.iter().skip(row.progress.piece as usize);
        let last = pieces.len().saturating_sub(1);
        for piece in left {
            provider_id = self.send_piece(row, way, piece).await?;
            row.progress.piece = piece.number.saturating_add(1);
            (row.progress.tries, row.progress.again) = (0, false);
            if (piece.number as usize) < last {
                self.go_on(row).await?;
            }
        }
        Ok(provider_id)
    }

    /// Writes down how far a message is, and whether it may go on: not if a
    /// person took over, for then the rest is withdrawn.
    async fn go_on(&self, row: &Outbound) -> Result<(), Delivery> {
        let here = self.store.org(row.org);
        match here.record_progress(row, self.options.claim).await {
            Ok(GoOn::Yes) => Ok(()),
            Ok(GoOn::No) => Err(Delivery::RetryAfter(Duration::ZERO)),
            Err(error) => {
                tracing::warn!(%error, message = %row.id, "the rest of a message waits");
                Err(Delivery::RetryAfter(AFTER_FAILURE))
            }
        }
    }

    /// Sends a piece, more than once where that is allowed at once.
    async fn send_piece(
        &self,
        row: &mut Outbound,
        way: &Way<'_>,
        piece: &Piece,
    ) -> Result<Option<String>, Delivery> {
        let policy = RetryPolicy::of_channel(&way.bound.binding.channel);
        loop {
            let plain = way.plain || row.progress.plain;
            let outcome = self.call(row, way, piece, plain).await;
            let Some(failure) = outcome.failure() else {
                crate::faults::point("after_provider");
                return Ok(match outcome {
                    Outcome::Delivered { provider_id } => provider_id,
                    _ => None,
                });
            };
            let why = outcome.reason().to_owned();
            let asked = self.keep_off(row, way, failure).await;
            // A dead letter is tried once each time.
            let number =
                if row.progress.letters > 0 { policy.attempts } else { row.progress.tries + 1 };
            let attempt = Attempt { number, plain };
            match next(failure, attempt, policy, way.connection.when_unknown(), EVEN) {
                NextSend::After(wait) => {
                    row.progress.tries += 1;
                    return Err(Delivery::RetryAfter(wait));
                }
                NextSend::Plain => row.progress.plain = true,
                NextSend::MarkedDuplicate => {
                    row.progress.tries += 1;
                    row.progress.again = true;
                    self.go_on(row).await?;
                }
                NextSend::Unknown => return Err(Delivery::Unknown(why)),
                NextSend::DeadLetter => {
                    row.progress.again |= failure == SendFailure::Ambiguous;
                    return Err(self.letter(row, why, asked));
                }
            }
        }
    }

    /// One call to the provider.
    async fn call(&self, row: &Outbound, way: &Way<'_>, piece: &Piece, plain: bool) -> Outcome {
        let key = row.id.to_string();
        let how = Sending { key: &key, plain, again: row.progress.again };
        crate::faults::point("during_delivery");
        let sent = way.connection.send(piece, how, way.files, self.clock.now());
        // Channels have limits of their own, which are shorter.
        match tokio::time::timeout(self.options.claim, sent).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Unknown { reason: "the provider did not answer in time".into() },
        }
    }

    /// Leaves a binding alone for as long as its provider asked, whatever else
    /// waits for it.
    async fn keep_off(
        &self,
        row: &Outbound,
        way: &Way<'_>,
        failure: SendFailure,
    ) -> Option<Duration> {
        let SendFailure::Transient { retry_after: Some(wait) } = failure else { return None };
        let (here, id) = (self.store.org(row.org), way.bound.binding.id);
        if let Err(error) = here.keep_off_binding(id, wait).await {
            tracing::warn!(%error, binding = %id, "others may try this binding too early");
        }
        Some(wait)
    }

    /// A message to the org's people can be replied to: that is written down
    /// together with its having been sent.
    async fn with_reply(
        &self,
        row: &mut Outbound,
        outgoing: &Outgoing,
        sent: Result<Option<String>, Delivery>,
    ) -> End {
        let provider_id = match sent {
            Ok(provider_id) => provider_id,
            Err(delivery) => return told(row, delivery, Some(outgoing)),
        };
        let mut end = End::from(Delivery::Sent);
        let Some(provider_id) = provider_id.filter(|_| row.author == Author::Notice) else {
            return end;
        };
        let own = match self.store.org(row.org).conversation_key(row.conversation).await {
            Ok(key) => key.binding == outgoing.binding && key.peer == outgoing.to,
            Err(_) => true,
        };
        if !own {
            let (binding, chat) = (outgoing.binding, address(&outgoing.to).to_owned());
            end.also.announced = Some(Announced { binding, chat, provider_id });
        }
        end
    }
}
