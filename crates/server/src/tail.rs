//! The end of each org's event log, read once for all who follow it.
//!
//! A tail is a bell and nothing more: it says in which session something
//! happened, and whoever hears it reads for themselves from where they were. So
//! nothing is missed if the bell is heard late, or twice, or not at all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_domain::id::{OrgId, SessionId};
use ostler_store::{EventCursor, Store, StoreError, StoredEvent};
use serde::Deserialize;
use tokio::sync::broadcast;

/// How many rings a slow listener may be behind.
const BEHIND: usize = 256;
/// The most events that are read at once.
const AT_ONCE: u32 = 500;
/// How long a tail waits for more: shortly after something happened, and longer
/// the longer nothing does.
const SOON: Duration = Duration::from_millis(25);
const LATE: Duration = Duration::from_millis(400);

/// Where something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ring {
    /// In a session.
    In(SessionId),
    /// Nobody knows: look.
    Somewhere,
}

/// The tails of all orgs that somebody follows.
#[derive(Debug, Clone)]
pub(crate) struct Tails {
    store: Store,
    tails: Arc<Mutex<HashMap<OrgId, broadcast::Sender<Ring>>>>,
}

impl Tails {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, tails: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OrgId, broadcast::Sender<Ring>>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hears what happens in an org from now on. Whoever has begun to listen
    /// looks once; what happened before that is found then.
    pub(crate) fn follow(&self, org: OrgId) -> broadcast::Receiver<Ring> {
        let mut tails = self.lock();
        if let Some(bell) = tails.get(&org) {
            return bell.subscribe();
        }
        let (bell, listener) = broadcast::channel(BEHIND);
        tails.insert(org, bell.clone());
        tokio::spawn(self.clone().read(org, bell));
        listener
    }

    /// Whether nobody listens any more; then the tail is gone.
    fn is_over(&self, org: OrgId, bell: &broadcast::Sender<Ring>) -> bool {
        let mut tails = self.lock();
        let over = bell.receiver_count() == 0;
        if over {
            tails.remove(&org);
        }
        over
    }

    async fn read(self, org: OrgId, bell: broadcast::Sender<Ring>) {
        let (mut place, mut wait) = (None, SOON);
        while !self.is_over(org, &bell) {
            match self.more(org, &mut place).await {
                Ok(rings) if rings.is_empty() => wait = LATE.min(wait * 2),
                Ok(rings) => {
                    wait = SOON;
                    for ring in rings {
                        // Nobody need be listening.
                        let _ = bell.send(ring);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, %org, "the event log cannot be read now");
                    wait = LATE;
                }
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// What happened since the last look. At the first one nobody knows, since
    /// somebody may have looked just before.
    async fn more(
        &self,
        org: OrgId,
        place: &mut Option<EventCursor>,
    ) -> Result<Vec<Ring>, StoreError> {
        let store = self.store.org(org);
        let Some(after) = *place else {
            *place = Some(store.end_of_events().await?);
            return Ok(vec![Ring::Somewhere]);
        };
        match store.events_after(after, AT_ONCE).await {
            Ok(events) => {
                *place = events.last().map(|event| event.cursor).or(*place);
                Ok(events.iter().map(ring).collect())
            }
            Err(StoreError::EventsPruned { go_on_from }) => {
                *place = Some(go_on_from);
                Ok(vec![Ring::Somewhere])
            }
            Err(other) => Err(other),
        }
    }
}

/// The part of an event that says where it happened.
#[derive(Deserialize)]
struct Where {
    session: SessionId,
}

fn ring(event: &StoredEvent) -> Ring {
    session_of(event).map_or(Ring::Somewhere, Ring::In)
}

/// The session that an event happened in, if it says so.
pub(crate) fn session_of(event: &StoredEvent) -> Option<SessionId> {
    serde_json::from_str(&event.data).ok().map(|Where { session }| session)
}
