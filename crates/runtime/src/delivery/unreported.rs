//! Sends whose worker died before it reported. Where the receiver recognizes a repeat by its
//! id, the message is sent again with the same one; elsewhere a person finds out.

use ostler_domain::channel::delivery::{
    FailedSendAction, SendFailure, SendRetries, UnknownOutcomePolicy, next_action,
};
use ostler_store::{OutboxEntry, SendProgress, StoreError};

use super::attempt::NO_JITTER;
use super::worker::DeliveryWorker;
use crate::records::decode;
use crate::records::outgoing::OutgoingMessage;
use crate::shared_bot::connection_config;

/// How many entries are handled in one sweep.
const MAX_ENTRIES: u32 = 1_000;

/// How many unreported sends were settled, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Settled {
    pub(super) unknown: u64,
    pub(super) repeated: u64,
}

impl DeliveryWorker {
    /// Sends unreported messages again where their receiver allows it, and marks the others as
    /// unknown.
    pub(super) async fn settle_unreported(&self) -> Result<Settled, StoreError> {
        let mut settled = Settled::default();
        for entry in self.store.unreported_sends(MAX_ENTRIES).await? {
            let org_store = self.store.org(entry.org);
            let repeated = match self.can_repeat(&entry).await? {
                true => {
                    let progress = SendProgress {
                        failed_attempts: entry.progress.failed_attempts.saturating_add(1),
                        failing_since: entry.progress.failing_since.or(Some(self.clock.now())),
                        may_have_arrived: true,
                        ..entry.progress
                    };
                    org_store.repeat_unreported(&entry, progress).await?
                }
                false => false,
            };
            if repeated {
                settled.repeated += 1;
            } else if org_store.mark_unreported(&entry).await? {
                settled.unknown += 1;
            }
        }
        Ok(settled)
    }

    /// Returns whether the receiver of a message recognizes a repeat, and attempts are left.
    async fn can_repeat(&self, entry: &OutboxEntry) -> Result<bool, StoreError> {
        let Ok(outgoing) = decode::<OutgoingMessage>("message", &entry.payload) else {
            return Ok(false);
        };
        if outgoing.bus_request.is_some() {
            return Ok(false);
        }
        let bound = match self.store.org(entry.org).binding_for_send(outgoing.binding, None).await {
            Ok(found) => found.bound,
            Err(StoreError::NotFound(_)) => return Ok(false),
            Err(other) => return Err(other),
        };
        let config = connection_config(&self.store, entry.org, &bound).await?;
        let connection = config.and_then(|config| self.channels.open(&config).ok());
        let policy = connection.map_or(UnknownOutcomePolicy::AskPerson, |connection| {
            connection.unknown_outcome_policy()
        });
        let attempt = self.failed_attempt(&mut entry.clone(), entry.progress.plain_text);
        let retries = SendRetries::for_channel(&bound.binding.channel, self.options.max_hold);
        let next = next_action(SendFailure::Ambiguous, attempt, retries, policy, NO_JITTER);
        Ok(matches!(next, FailedSendAction::RetryMarkedDuplicate(_)))
    }
}
