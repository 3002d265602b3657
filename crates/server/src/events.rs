//! `/v1/events`: the org's event log as it grows, and if wanted what agents are
//! writing.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use axum::response::sse::Event;
use ostler_api::event::{DELTA, Follow, Happened, OPEN, PRUNED, Pruned};
use ostler_api::problem::Code;
use ostler_domain::id::{OrgId, SessionId};
use ostler_runtime::deltas::{Delta, Deltas};
use ostler_store::{EventCursor, Store, StoreError, StoredEvent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::body::Asked;
use crate::caller::Caller;
use crate::refused::{Refused, Result};
use crate::server::Server;
use crate::stream::{self, Gone, Pipe};
use crate::tail::{Ring, session_of};

/// What a client that reconnects has seen last.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The most events that are read at once.
const AT_ONCE: u32 = 200;
/// How long a stream waits after the store failed.
const AFTER_FAILURE: std::time::Duration = std::time::Duration::from_secs(1);

pub(crate) async fn follow(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    Asked(wanted): Asked<Follow>,
    headers: HeaderMap,
) -> Result<Response> {
    let store = server.parts.store.org(caller.org);
    if let Some(session) = wanted.session {
        store.session(session).await?;
    }
    // Before the first look, so that nothing falls between.
    let (rings, deltas) = (server.tails.follow(caller.org), server.parts.deltas.follow());
    let seen = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let place = match seen.filter(|seen| !seen.is_empty()).or(wanted.after.as_deref()) {
        Some(text) => text.parse::<EventCursor>().map_err(|error| {
            Refused::new(Code::BadRequest, format!("{error}; send an id that an event had"))
        })?,
        None => store.end_of_events().await?,
    };
    let reader = Reader {
        store: server.parts.store.clone(),
        org: caller.org,
        session: wanted.session,
        place,
    };
    let deltas = wanted.deltas.then(|| (server.parts.deltas.clone(), deltas));
    stream::open(&server, |pipe| reader.follow(pipe, rings, deltas))
}

struct Reader {
    store: Store,
    org: OrgId,
    session: Option<SessionId>,
    place: EventCursor,
}

impl Reader {
    async fn follow(
        mut self,
        pipe: Pipe,
        mut rings: Receiver<Ring>,
        mut deltas: Option<(Deltas, Receiver<Delta>)>,
    ) -> std::result::Result<(), Gone> {
        // Whoever is cut off before anything happened knows where to go on.
        pipe.send(Event::default().event(OPEN).id(self.place.to_string()).data("{}")).await?;
        if let Some((all, _)) = &deltas {
            self.show_drafts(&pipe, all).await?;
        }
        loop {
            self.catch_up(&pipe).await?;
            loop {
                tokio::select! {
                    ring = rings.recv() => match ring {
                        Ok(ring) if !self.concerns(ring) => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return Ok(()),
                    },
                    delta = next(&mut deltas) => match (delta, &deltas) {
                        (Some(delta), _) => self.show(&pipe, &delta).await?,
                        (None, Some((all, _))) => self.show_drafts(&pipe, all).await?,
                        (None, None) => {}
                    },
                }
            }
        }
    }

    /// Whether there may be something to read.
    fn concerns(&self, ring: Ring) -> bool {
        match (self.session, ring) {
            (Some(wanted), Ring::In(session)) => wanted == session,
            _ => true,
        }
    }

    /// Reads to the end of the log.
    async fn catch_up(&mut self, pipe: &Pipe) -> std::result::Result<(), Gone> {
        loop {
            match self.store.org(self.org).events_after(self.place, AT_ONCE).await {
                Ok(events) if events.is_empty() => return Ok(()),
                Ok(events) => {
                    for event in &events {
                        self.tell(pipe, event).await?;
                        self.place = event.cursor;
                    }
                }
                Err(StoreError::EventsPruned { go_on_from }) => {
                    self.place = go_on_from;
                    let (id, data) = (go_on_from.to_string(), go_on_from.to_string());
                    let event = Event::default().event(PRUNED).id(id);
                    pipe.send(event.data(write(&Pruned { go_on_from: data }))).await?;
                }
                Err(error) => {
                    tracing::warn!(%error, org = %self.org, "the event log cannot be read now");
                    tokio::time::sleep(AFTER_FAILURE).await;
                }
            }
        }
    }

    async fn tell(&self, pipe: &Pipe, event: &StoredEvent) -> std::result::Result<(), Gone> {
        if self.session.is_some() && session_of(event) != self.session {
            return Ok(());
        }
        let data = serde_json::from_str(&event.data);
        let data = data.unwrap_or_else(|_| serde_json::Value::String(event.data.clone()));
        let written = write(&Happened { at: event.at, data });
        let id = event.cursor.to_string();
        pipe.send(Event::default().event(&event.kind).id(id).data(written)).await
    }

    /// Shows what agents are writing, as far as it is.
    async fn show_drafts(&self, pipe: &Pipe, all: &Deltas) -> std::result::Result<(), Gone> {
        for draft in all.drafts(self.org) {
            self.show(pipe, &draft).await?;
        }
        Ok(())
    }

    /// Shows a piece of what an agent is writing; it has no id, because nobody
    /// can go on behind it.
    async fn show(&self, pipe: &Pipe, delta: &Delta) -> std::result::Result<(), Gone> {
        let wanted = self.session.is_none_or(|session| session == delta.session);
        if delta.org != self.org || !wanted {
            return Ok(());
        }
        pipe.send(Event::default().event(DELTA).data(write(delta))).await
    }
}

/// The next piece, if pieces are wanted; nothing if some were missed.
async fn next(deltas: &mut Option<(Deltas, Receiver<Delta>)>) -> Option<Delta> {
    match deltas {
        Some((_, deltas)) => match deltas.recv().await {
            Ok(delta) => Some(delta),
            Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

fn write<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
