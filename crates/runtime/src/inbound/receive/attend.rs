//! Attending to bots: those that are to be asked for updates are asked, the
//! others are told where to bring them.

use std::collections::HashMap;
use std::time::Duration;

use ostler_channels::connection::Connection;
use ostler_domain::channel::Channel;
use ostler_domain::id::BindingId;
use ostler_store::{OrgBinding, StoreError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Reception;
use crate::delivery::config;

/// How often new and changed bindings are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// The bindings of an org that are looked at.
const MOST: u32 = 1000;

/// How updates come, where a binding does not say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Updates {
    /// Telegram is asked.
    Asked,
    /// Telegram brings them to this server, whose address on the web this is.
    Brought(String),
}

/// A bot that is attended to.
struct Attended {
    bound: OrgBinding,
    stop: watch::Sender<bool>,
    /// Asks, unless the updates are brought.
    asking: Option<JoinHandle<()>>,
}

impl Attended {
    async fn leave(self) {
        self.stop.send_replace(true);
        if let Some(asking) = self.asking {
            let _ended = asking.await;
        }
    }
}

impl Reception {
    /// Attends to the bots of all orgs until it is stopped. A bot may be asked by
    /// one process only; Telegram refuses the second.
    pub async fn attend(&self, updates: &Updates, mut stop: watch::Receiver<bool>) {
        let mut bots: HashMap<BindingId, Attended> = HashMap::new();
        while !*stop.borrow() {
            if let Err(error) = self.look_at_bots(updates, &mut bots).await {
                tracing::warn!(%error, "bots could not be looked for");
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
        for (_, bot) in bots {
            bot.leave().await;
        }
    }

    async fn look_at_bots(
        &self,
        updates: &Updates,
        bots: &mut HashMap<BindingId, Attended>,
    ) -> Result<(), StoreError> {
        let store = &self.shared.store;
        let mut left = std::mem::take(bots);
        for org in store.orgs().await? {
            let bindings = store.org(org.id).bindings(None, MOST).await?;
            let enabled = |one: &OrgBinding| one.binding.enabled;
            let telegram = |one: &OrgBinding| one.binding.channel == Channel::Telegram;
            for bound in bindings.into_iter().filter(|one| enabled(one) && telegram(one)) {
                let id = bound.binding.id;
                match left.remove(&id) {
                    Some(same) if same.bound == bound => {
                        bots.insert(id, same);
                        continue;
                    }
                    Some(changed) => changed.leave().await,
                    None => {}
                }
                let connection = self.shared.channels.open(&config(org.id, &bound));
                match connection {
                    Ok(Connection::Telegram(bot)) => {
                        let asks = bot.polling().unwrap_or(*updates == Updates::Asked);
                        let (stop, stopped) = watch::channel(false);
                        let asking = if asks {
                            let reception = self.clone();
                            Some(tokio::spawn(async move { reception.poll(id, stopped).await }))
                        } else {
                            tell(&bot, id, updates).await;
                            None
                        };
                        bots.insert(id, Attended { bound, stop, asking });
                    }
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, binding = %id, "a bot cannot be used"),
                }
            }
        }
        for (_, gone) in left {
            gone.leave().await;
        }
        Ok(())
    }
}

/// Tells Telegram where to bring a bot's updates.
async fn tell(bot: &ostler_channels::telegram::Telegram, id: BindingId, updates: &Updates) {
    let Updates::Brought(server) = updates else { return };
    let url = format!("{}/v1/webhooks/{id}", server.trim_end_matches('/'));
    if let Err(error) = bot.set_webhook(&url).await {
        tracing::warn!(%error, binding = %id, "Telegram was not told where to bring updates");
    }
}
