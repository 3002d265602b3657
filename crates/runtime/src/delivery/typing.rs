//! Showing that somebody is writing, while a turn runs. It is a courtesy: what
//! fails is not tried again.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use ostler_channels::Channels;
use ostler_domain::channel::Channel;
use ostler_domain::id::SessionId;
use tokio::sync::watch;
use tokio::time::Instant;

use super::config;
use super::message::address;
use crate::inbound::live::{Live, LiveTurn};

/// How often running turns are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a channel shows it.
const SHOWN_FOR: Duration = Duration::from_secs(4);
/// The most that is shown at once.
const AT_ONCE: usize = 64;

/// Shows that somebody is writing.
#[derive(Debug, Clone)]
pub struct Typing {
    live: Live,
    channels: Channels,
}

impl Typing {
    /// For the turns that run in this process.
    pub const fn new(live: Live, channels: Channels) -> Self {
        Self { live, channels }
    }

    /// Shows it until it is stopped.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut shown: HashMap<SessionId, Instant> = HashMap::new();
        while !*stop.borrow() {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                changed = stop.changed() => if changed.is_err() { return },
            }
            shown.retain(|_, at| at.elapsed() < SHOWN_FOR);
            let turns: Vec<LiveTurn> = self
                .live
                .all()
                .into_iter()
                .filter(|turn| turn.session.channel == Channel::Telegram)
                .filter(|turn| !shown.contains_key(&turn.session.id))
                .take(AT_ONCE)
                .collect();
            shown.extend(turns.iter().map(|turn| (turn.session.id, Instant::now())));
            join_all(turns.iter().map(|turn| self.show(turn))).await;
        }
    }

    async fn show(&self, turn: &LiveTurn) {
        let session = &turn.session;
        let bindings = turn.view.bindings.iter();
        let bound = bindings.filter(|one| one.binding.enabled);
        let Some(bound) = bound.clone().find(|one| one.binding.id == session.binding) else {
            return;
        };
        let Ok(connection) = self.channels.open(&config(session.org, bound)) else { return };
        if let Err(error) = connection.typing(address(&session.peer)).await {
            tracing::debug!(%error, "typing cannot be shown");
        }
    }
}
