//! Polls Telegram for the updates of a bot.

use std::time::Duration;

use ostler_channels::connection::ChannelConnection;
use ostler_channels::error::CallError;
use ostler_channels::telegram::Poller;
use ostler_domain::id::{BindingId, OrgId};
use ostler_store::OrgBinding;
use tokio::sync::watch;

use super::{InboundError, InboundReceiver};
use crate::channel_binding::binding_config;
use crate::outage_log::OutageLog;

/// How long Telegram holds a request without updates.
const LONG_POLL_TIMEOUT: Duration = Duration::from_secs(25);
/// The pause after an empty response, in case Telegram does not hold the request.
const EMPTY_POLL_PAUSE: Duration = Duration::from_millis(200);
/// The first and the maximum wait after a failure.
const MIN_RETRY_WAIT: Duration = Duration::from_secs(1);
const MAX_RETRY_WAIT: Duration = Duration::from_secs(60);

/// A bot that is polled.
struct PolledBot {
    org: OrgId,
    bound: OrgBinding,
    connection: ChannelConnection,
    poller: Poller,
}

impl InboundReceiver {
    /// Polls a Telegram binding until it is stopped. An update is confirmed once its results
    /// are stored; Telegram delivers it again otherwise.
    pub async fn poll(&self, binding: BindingId, mut stop: watch::Receiver<bool>) {
        let mut bot: Option<PolledBot> = None;
        let mut wait = MIN_RETRY_WAIT;
        // Whether a failure is stored, as far as this process knows.
        let mut failing = true;
        let outage = OutageLog::default();
        while !*stop.borrow() {
            let result = tokio::select! {
                result = self.poll_once(binding, &mut bot) => result,
                changed = stop.changed() => {
                    if changed.is_err() { return }
                    continue;
                }
            };
            match result {
                Ok(()) => {
                    if std::mem::take(&mut failing) {
                        self.clear_failure(binding).await;
                    }
                    if outage.record_success() {
                        tracing::warn!(binding_id = %binding, "Telegram updates fetched again");
                    }
                    wait = MIN_RETRY_WAIT;
                    continue;
                }
                Err((why, retry_after)) => {
                    if outage.record_failure() {
                        let channel = bot.as_ref().map(|bot| bot.bound.binding.name());
                        tracing::warn!(
                            channel,
                            binding_id = %binding,
                            why,
                            "Telegram updates not fetched, will retry"
                        );
                    }
                    self.record_failure(binding, &why).await;
                    failing = true;
                    // A new poller starts with the first update that was not confirmed.
                    bot = None;
                    wait = retry_after.unwrap_or(wait * 2).min(MAX_RETRY_WAIT);
                }
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    async fn poll_once(
        &self,
        binding: BindingId,
        bot: &mut Option<PolledBot>,
    ) -> Result<(), (String, Option<Duration>)> {
        let failed = |error: InboundError| (error.to_string(), None);
        let (org, bound) = self.enabled_binding(binding).await.map_err(failed)?;
        // Changed settings apply from the next poll on.
        if bot.as_ref().is_none_or(|bot| bot.bound != bound) {
            *bot = Some(self.open(org, bound).map_err(failed)?);
        }
        let Some(bot) = bot else { return Ok(()) };
        let batch = bot.poller.poll(LONG_POLL_TIMEOUT).await.map_err(|error| match error {
            CallError::Retryable { retry_after, reason } => (reason, retry_after),
            other => (other.to_string(), None),
        })?;
        if batch.is_empty() {
            tokio::time::sleep(EMPTY_POLL_PAUSE).await;
        }
        for (id, received) in batch {
            let received = self.receive(bot.org, &bot.bound, &bot.connection, received).await;
            received.map_err(|error| failed(error.into()))?;
            bot.poller.confirm(id);
        }
        Ok(())
    }

    /// Stores why a binding does not receive messages, for people who look at it.
    pub(super) async fn record_failure(&self, binding: BindingId, why: &str) {
        let Ok((org, _)) = self.enabled_binding(binding).await else { return };
        if let Err(error) = self.store().org(org).record_binding_failure(binding, why).await {
            tracing::warn!(binding_id = %binding, %error, "binding failure not stored");
        }
    }

    /// Stores that a binding receives messages again.
    pub(super) async fn clear_failure(&self, binding: BindingId) {
        let Ok((org, _)) = self.enabled_binding(binding).await else { return };
        if let Err(error) = self.store().org(org).clear_binding_failure(binding).await {
            tracing::warn!(binding_id = %binding, %error, "binding failure not cleared");
        }
    }

    fn open(&self, org: OrgId, bound: OrgBinding) -> Result<PolledBot, InboundError> {
        let connection = self.shared.channels.open(&binding_config(org, &bound))?;
        let ChannelConnection::Telegram(telegram) = &connection else {
            return Err(InboundError::NoBinding);
        };
        let poller = telegram.poller();
        Ok(PolledBot { org, bound, connection, poller })
    }
}
