//! Telegram bots: some are polled for mode, the others get a webhook.

use std::collections::HashMap;
use std::time::Duration;

use ostler_channels::connection::ChannelConnection;
use ostler_channels::telegram::Telegram;
use ostler_domain::channel::Channel;
use ostler_domain::id::BindingId;
use ostler_store::{OrgBinding, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::InboundReceiver;
use crate::channel_binding::binding_config;
use crate::outage_log::OutageLog;
use crate::shared_bot::shared_bot;

/// How often new and changed bindings are looked for.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// The maximum number of bindings of an org.
const MAX_BINDINGS: u32 = 1000;

/// How bots get their mode, unless their binding says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateMode {
    Polling,
    /// Telegram sends them to this server; the string is its public URL.
    Webhook(String),
}

/// A bot of an enabled binding.
struct RunningBot {
    bound: OrgBinding,
    stop: watch::Sender<bool>,
    /// The polling task; `None` for a bot with a webhook.
    poller: Option<JoinHandle<()>>,
}

impl RunningBot {
    async fn stop(self) {
        self.stop.send_replace(true);
        if let Some(poller) = self.poller {
            let _ended = poller.await;
        }
    }
}

impl InboundReceiver {
    /// Runs the bots of all orgs until it is stopped. Only one process may poll a bot; Telegram
    /// refuses the second.
    pub async fn run_telegram_bots(&self, mode: &UpdateMode, mut stop: watch::Receiver<bool>) {
        let mut bots: HashMap<BindingId, RunningBot> = HashMap::new();
        let (outage, mut unusable) = (OutageLog::default(), HashMap::new());
        while !*stop.borrow() {
            match self.update_bots(mode, &mut bots, &mut unusable).await {
                Err(error) if outage.record_failure() => {
                    tracing::warn!(%error, "Telegram bots not updated, will retry");
                }
                Ok(()) if outage.record_success() => tracing::warn!("Telegram bots updated again"),
                _ => {}
            }
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
        for (_, bot) in bots {
            bot.stop().await;
        }
    }

    async fn update_bots(
        &self,
        mode: &UpdateMode,
        bots: &mut HashMap<BindingId, RunningBot>,
        unusable: &mut HashMap<BindingId, OutageLog>,
    ) -> Result<(), StoreError> {
        let store = self.store();
        let mut left = std::mem::take(bots);
        for org in store.orgs().await? {
            let bindings = store.org(org.id).bindings(None, MAX_BINDINGS).await?;
            let enabled = |one: &OrgBinding| one.binding.enabled;
            // The platform polls its own bot.
            let telegram = |one: &OrgBinding| {
                one.binding.channel == Channel::Telegram && shared_bot(one).is_none()
            };
            for bound in bindings.into_iter().filter(|one| enabled(one) && telegram(one)) {
                let id = bound.binding.id;
                match left.remove(&id) {
                    Some(same) if same.bound == bound => {
                        bots.insert(id, same);
                        continue;
                    }
                    Some(changed) => changed.stop().await,
                    None => {}
                }
                let connection = self.shared.channels.open(&binding_config(org.id, &bound));
                match connection {
                    Ok(ChannelConnection::Telegram(bot)) => {
                        let polls = bot.polling().unwrap_or(*mode == UpdateMode::Polling);
                        unusable.remove(&id);
                        let (stop, stopped) = watch::channel(false);
                        let poller = if polls {
                            let receiver = self.clone();
                            Some(tokio::spawn(async move { receiver.poll(id, stopped).await }))
                        } else {
                            self.set_webhook(&bot, id, mode).await;
                            None
                        };
                        bots.insert(id, RunningBot { bound, stop, poller });
                    }
                    Ok(_) => {}
                    Err(error) if unusable.entry(id).or_default().record_failure() => {
                        let (org, channel) = (&org.slug, bound.binding.name());
                        tracing::warn!(
                            %org,
                            channel,
                            binding_id = %id,
                            %error,
                            "Telegram bot cannot be used"
                        );
                    }
                    Err(_) => {}
                }
            }
        }
        for (_, removed) in left {
            removed.stop().await;
        }
        Ok(())
    }

    /// Sets the webhook of a bot.
    async fn set_webhook(&self, bot: &Telegram, id: BindingId, mode: &UpdateMode) {
        let UpdateMode::Webhook(server) = mode else { return };
        let url = format!("{}/v1/webhooks/{id}", server.trim_end_matches('/'));
        match bot.set_webhook(&url).await {
            Ok(()) => self.clear_failure(id).await,
            Err(error) => {
                tracing::warn!(binding_id = %id, %error, "Telegram webhook not set");
                self.record_failure(id, &error.to_string()).await;
            }
        }
    }
}
