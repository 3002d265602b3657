//! Typing indicators while a turn runs. A failed one is not repeated.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_channels::Channels;
use ostler_domain::channel::Channel;
use ostler_domain::id::SessionId;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::channel_binding::peer_address;
use crate::running_turns::{RunningTurn, RunningTurns};
use crate::shared_bot::connection_config;

/// How often running turns are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How long a channel shows one indicator.
const INDICATOR_DURATION: Duration = Duration::from_secs(4);
/// The maximum number of indicators sent at once.
const MAX_AT_ONCE: usize = 64;

/// Sends typing indicators.
#[derive(Debug, Clone)]
pub struct Typing {
    running_turns: RunningTurns,
    channels: Channels,
}

impl Typing {
    /// Creates indicators for the turns that run in this process.
    pub const fn new(running_turns: RunningTurns, channels: Channels) -> Self {
        Self { running_turns, channels }
    }

    /// Sends indicators until it is stopped.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut shown: HashMap<SessionId, Instant> = HashMap::new();
        while !*stop.borrow() {
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
            shown.retain(|_, at| at.elapsed() < INDICATOR_DURATION);
            let turns: Vec<RunningTurn> = self
                .running_turns
                .list()
                .into_iter()
                .filter(|turn| turn.session.channel == Channel::Telegram)
                .filter(|turn| !shown.contains_key(&turn.session.id))
                .take(MAX_AT_ONCE)
                .collect();
            shown.extend(turns.iter().map(|turn| (turn.session.id, Instant::now())));
            join_all(turns.iter().map(|turn| self.show(turn))).await;
        }
    }

    async fn show(&self, turn: &RunningTurn) {
        let session = &turn.session;
        let bindings = turn.view.bindings.iter();
        let bound = bindings.filter(|one| one.binding.enabled);
        let Some(bound) = bound.clone().find(|one| one.binding.id == session.binding) else {
            return;
        };
        let config = connection_config(turn.org_views.store(), session.org, bound).await;
        let Ok(Some(config)) = config else { return };
        let Ok(connection) = self.channels.open(&config) else { return };
        if let Err(error) = connection.show_typing(peer_address(&session.peer)).await {
            tracing::debug!(%error, "typing indicator not sent");
        }
    }
}
