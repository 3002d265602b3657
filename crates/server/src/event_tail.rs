//! One poller of the event log per org, shared by all streams of the org.
//!
//! It only signals in which session something happened; each stream reads the log
//! from its own cursor. A late, repeated or lost signal therefore loses nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_domain::id::{OrgId, SessionId};
use ostler_store::{EventCursor, Store, StoreError, StoredEvent};
use serde::Deserialize;
use tokio::sync::broadcast;

/// Signals buffered for a slow subscriber.
const BUFFER: usize = 256;
/// Events per read.
const BATCH: u32 = 500;
/// Bounds of the polling delay, which doubles while nothing happens.
const MIN_DELAY: Duration = Duration::from_millis(25);
const MAX_DELAY: Duration = Duration::from_millis(400);

/// Where new events were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogSignal {
    Session(SessionId),
    /// Unknown: every subscriber should read.
    Any,
}

/// The pollers of all orgs that have subscribers.
#[derive(Debug, Clone)]
pub(crate) struct EventTails {
    store: Store,
    senders: Arc<Mutex<HashMap<OrgId, broadcast::Sender<LogSignal>>>>,
}

impl EventTails {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, senders: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, broadcast::Sender<LogSignal>>> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to signals of an org. The subscriber reads the log once after
    /// this, which finds everything that happened before.
    pub(crate) fn subscribe(&self, org: OrgId) -> broadcast::Receiver<LogSignal> {
        let mut tails = self.lock();
        if let Some(sender) = tails.get(&org) {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(BUFFER);
        tails.insert(org, sender.clone());
        tokio::spawn(self.clone().poll_log(org, sender));
        receiver
    }

    /// Removes the poller if it has no subscribers, and returns whether it did.
    fn remove_if_unused(&self, org: OrgId, sender: &broadcast::Sender<LogSignal>) -> bool {
        let mut tails = self.lock();
        let unused = sender.receiver_count() == 0;
        if unused {
            tails.remove(&org);
        }
        unused
    }

    async fn poll_log(self, org: OrgId, sender: broadcast::Sender<LogSignal>) {
        let (mut cursor, mut delay) = (None, MIN_DELAY);
        while !self.remove_if_unused(org, &sender) {
            match self.read_new(org, &mut cursor).await {
                Ok(signals) if signals.is_empty() => delay = MAX_DELAY.min(delay * 2),
                Ok(signals) => {
                    delay = MIN_DELAY;
                    for signal in signals {
                        // An error means that there is no subscriber.
                        let _ = sender.send(signal);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, %org, "event log not read, will retry");
                    delay = MAX_DELAY;
                }
            }
            tokio::time::sleep(delay).await;
        }
    }

    /// Returns signals for events since the last read. The first read signals every
    /// subscriber, because one may have read just before.
    async fn read_new(
        &self,
        org: OrgId,
        cursor: &mut Option<EventCursor>,
    ) -> Result<Vec<LogSignal>, StoreError> {
        let store = self.store.org(org);
        let Some(after) = *cursor else {
            *cursor = Some(store.end_of_events().await?);
            return Ok(vec![LogSignal::Any]);
        };
        match store.events_after(after, BATCH).await {
            Ok(events) => {
                *cursor = events.last().map(|event| event.cursor).or(*cursor);
                Ok(events.iter().map(signal).collect())
            }
            Err(StoreError::EventsPruned { go_on_from }) => {
                *cursor = Some(go_on_from);
                Ok(vec![LogSignal::Any])
            }
            Err(other) => Err(other),
        }
    }
}

/// The session field of an event's data.
#[derive(Deserialize)]
struct SessionField {
    session: SessionId,
}

fn signal(event: &StoredEvent) -> LogSignal {
    session_of(event).map_or(LogSignal::Any, LogSignal::Session)
}

/// Returns the session that an event belongs to, if its data names one.
pub(crate) fn session_of(event: &StoredEvent) -> Option<SessionId> {
    serde_json::from_str(&event.data).ok().map(|SessionField { session }| session)
}
