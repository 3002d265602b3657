//! Asking Telegram for updates, where it cannot bring them.

use std::time::Duration;

use ostler_channels::connection::Connection;
use ostler_channels::error::CallError;
use ostler_channels::telegram::Poller;
use ostler_domain::id::{BindingId, OrgId};
use ostler_store::OrgBinding;
use tokio::sync::watch;

use super::{NotTaken, Reception};
use crate::delivery::config;

/// How long Telegram keeps a question that it has no answer to.
const PATIENCE: Duration = Duration::from_secs(25);
/// How long to wait after a failure, at first and at most.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A bot that is asked for updates.
struct Bot {
    org: OrgId,
    bound: OrgBinding,
    connection: Connection,
    poller: Poller,
}

impl Reception {
    /// Asks for the updates of a Telegram binding until it is stopped. An update
    /// is confirmed once all that follows from it is stored; what is not
    /// confirmed comes again.
    pub async fn poll(&self, binding: BindingId, mut stop: watch::Receiver<bool>) {
        let mut bot: Option<Bot> = None;
        let mut wait = FIRST_WAIT;
        while !*stop.borrow() {
            let round = tokio::select! {
                round = self.round(binding, &mut bot) => round,
                changed = stop.changed() => {
                    if changed.is_err() { return }
                    continue;
                }
            };
            match round {
                Ok(()) => {
                    wait = FIRST_WAIT;
                    continue;
                }
                Err((why, asked)) => {
                    tracing::warn!(%binding, why, "no updates could be had");
                    // Telegram is asked anew, and brings again what was not
                    // confirmed.
                    bot = None;
                    wait = asked.unwrap_or(wait * 2).min(LONGEST_WAIT);
                }
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Asks once, and takes what comes.
    async fn round(
        &self,
        binding: BindingId,
        bot: &mut Option<Bot>,
    ) -> Result<(), (String, Option<Duration>)> {
        let failed = |error: NotTaken| (error.to_string(), None);
        let (org, bound) = self.binding(binding).await.map_err(failed)?;
        // Changed settings count from the next question on.
        if bot.as_ref().is_none_or(|bot| bot.bound != bound) {
            *bot = Some(self.open(org, bound).map_err(failed)?);
        }
        let Some(bot) = bot else { return Ok(()) };
        let batch = bot.poller.poll(PATIENCE).await.map_err(|error| match error {
            CallError::Later { after, reason } => (reason, after),
            other => (other.to_string(), None),
        })?;
        for (id, received) in batch {
            let taken = self.take(bot.org, &bot.bound, &bot.connection, received).await;
            taken.map_err(|error| failed(error.into()))?;
            bot.poller.confirm(id);
        }
        Ok(())
    }

    fn open(&self, org: OrgId, bound: OrgBinding) -> Result<Bot, NotTaken> {
        let connection = self.shared.channels.open(&config(org, &bound))?;
        let Connection::Telegram(telegram) = &connection else { return Err(NotTaken::NoBinding) };
        let poller = telegram.poller();
        Ok(Bot { org, bound, connection, poller })
    }
}
