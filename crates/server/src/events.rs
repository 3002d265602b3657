//! `/v1/events`: the event log of an org, and optionally streamed text.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::Response;
use axum::response::sse::Event;
use ostler_api::event::{
    DELTA_EVENT, EventData, EventsPruned, EventsQuery, OPEN_EVENT, PRUNED_EVENT,
};
use ostler_api::problem::ProblemCode;
use ostler_domain::id::{OrgId, SessionId};
use ostler_domain::org::permission::OrgPermission;
use ostler_runtime::deltas::{Delta, Deltas};
use ostler_runtime::operations::OperationError;
use ostler_store::{EventCursor, Store, StoreError, StoredEvent};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::body::QueryParams;
use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::event_tail::{LogSignal, session_of};
use crate::route::Access;
use crate::route::{Route, get};
use crate::server::{ClientAddress, Server};
use crate::stream::{self, Disconnected, EventSink, StreamHolder};

pub(crate) fn routes() -> Vec<Route> {
    let summary = "Follow the events of the caller's organization";
    let follow = get(Access::Caller, "/events", "followEvents", summary, follow);
    vec![follow.returns_content("text/event-stream")]
}

/// The last event that a reconnecting client has seen.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Events per read.
const BATCH: u32 = 200;
/// Pause after a failed read.
const RETRY_DELAY: std::time::Duration = std::time::Duration::from_secs(1);

pub(crate) async fn follow(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    Extension(client): Extension<ClientAddress>,
    QueryParams(query): QueryParams<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let org = find_org(&server, &caller, query.org.as_deref()).await?;
    let store = server.deps.store.org(org);
    if let Some(session) = query.session {
        store.session(session).await?;
    }
    // Subscribe before the first read, so that no event is missed.
    let (signals, deltas) = (server.tails.subscribe(org), server.deps.deltas.follow());
    let seen = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let start = match seen.filter(|seen| !seen.is_empty()).or(query.after.as_deref()) {
        Some(text) => text.parse::<EventCursor>().map_err(|error| {
            ApiError::new(ProblemCode::BadRequest, format!("{error}; send the id of an event"))
        })?,
        None => store.end_of_events().await?,
    };
    let reader = EventReader {
        store: server.deps.store.clone(),
        org,
        session: query.session,
        cursor: start,
    };
    let deltas = query.deltas.then(|| (server.deps.deltas.clone(), deltas));
    let revoked = caller.revoked(server.clone(), org);
    let holders = [StreamHolder::address(client), StreamHolder::Org(org)];
    stream::open(&server, holders, revoked, |sink| reader.follow(sink, signals, deltas))
}

/// Returns the org that a query names, or else the only one of the caller.
async fn find_org(server: &Server, caller: &Caller, name: Option<&str>) -> Result<OrgId> {
    let org = match (name, caller.only_org()) {
        (Some(name), _) => crate::orgs::find_org(server, name).await?,
        (None, Some(only)) => only,
        (None, None) => {
            let detail = "say which organization's events with org=…; `/v1/me` lists yours";
            return Err(ApiError::new(ProblemCode::BadRequest, detail));
        }
    };
    let may_view =
        server.deps.operations.as_actor(caller.actor(), org).check(OrgPermission::View).await;
    match may_view {
        Err(OperationError::Forbidden { .. }) if !caller.is_of(org) => {
            Err(ApiError::not_found("organization"))
        }
        other => other.map(|()| org).map_err(ApiError::from),
    }
}

struct EventReader {
    store: Store,
    org: OrgId,
    session: Option<SessionId>,
    cursor: EventCursor,
}

impl EventReader {
    async fn follow(
        mut self,
        sink: EventSink,
        mut signals: Receiver<LogSignal>,
        mut deltas: Option<(Deltas, Receiver<Delta>)>,
    ) -> std::result::Result<(), Disconnected> {
        // A client that is disconnected before the first event can resume here.
        sink.send(Event::default().event(OPEN_EVENT).id(self.cursor.to_string()).data("{}"))
            .await?;
        if let Some((all, _)) = &deltas {
            self.send_drafts(&sink, all).await?;
        }
        loop {
            self.catch_up(&sink).await?;
            loop {
                tokio::select! {
                    signal = signals.recv() => match signal {
                        Ok(signal) if !self.concerns(signal) => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => break,
                        Err(RecvError::Closed) => return Ok(()),
                    },
                    delta = next_delta(&mut deltas) => match (delta, &deltas) {
                        (Some(delta), _) => self.send_delta(&sink, &delta).await?,
                        (None, Some((all, _))) => self.send_drafts(&sink, all).await?,
                        (None, None) => {}
                    },
                }
            }
        }
    }

    /// Returns whether the signal may concern this stream.
    fn concerns(&self, signal: LogSignal) -> bool {
        match (self.session, signal) {
            (Some(query), LogSignal::Session(session)) => query == session,
            _ => true,
        }
    }

    /// Sends all events up to the end of the log.
    async fn catch_up(&mut self, sink: &EventSink) -> std::result::Result<(), Disconnected> {
        loop {
            match self.store.org(self.org).events_after(self.cursor, BATCH).await {
                Ok(events) if events.is_empty() => return Ok(()),
                Ok(events) => {
                    for event in &events {
                        self.send_event(sink, event).await?;
                        self.cursor = event.cursor;
                    }
                }
                Err(StoreError::EventsPruned { go_on_from }) => {
                    self.cursor = go_on_from;
                    let (id, data) = (go_on_from.to_string(), go_on_from.to_string());
                    let event = Event::default().event(PRUNED_EVENT).id(id);
                    sink.send(event.data(to_json(&EventsPruned { go_on_from: data }))).await?;
                }
                Err(error) => {
                    tracing::warn!(%error, org = %self.org, "event log not read, will retry");
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn send_event(
        &self,
        sink: &EventSink,
        event: &StoredEvent,
    ) -> std::result::Result<(), Disconnected> {
        if self.session.is_some() && session_of(event) != self.session {
            return Ok(());
        }
        let data = serde_json::from_str(&event.data);
        let data = data.unwrap_or_else(|_| serde_json::Value::String(event.data.clone()));
        let body = to_json(&EventData { at: event.at, data });
        let id = event.cursor.to_string();
        sink.send(Event::default().event(&event.kind).id(id).data(body)).await
    }

    /// Sends the drafts so far.
    async fn send_drafts(
        &self,
        sink: &EventSink,
        all: &Deltas,
    ) -> std::result::Result<(), Disconnected> {
        for draft in all.drafts(self.org) {
            self.send_delta(sink, &draft).await?;
        }
        Ok(())
    }

    /// Sends streamed text. It has no id, because a stream cannot resume after it.
    async fn send_delta(
        &self,
        sink: &EventSink,
        delta: &Delta,
    ) -> std::result::Result<(), Disconnected> {
        let query = self.session.is_none_or(|session| session == delta.session);
        if delta.org != self.org || !query {
            return Ok(());
        }
        sink.send(Event::default().event(DELTA_EVENT).data(to_json(delta))).await
    }
}

/// Returns the next delta if deltas are query, and nothing if some were missed.
async fn next_delta(deltas: &mut Option<(Deltas, Receiver<Delta>)>) -> Option<Delta> {
    match deltas {
        Some((_, deltas)) => match deltas.recv().await {
            Ok(delta) => Some(delta),
            Err(RecvError::Lagged(_)) => None,
            Err(RecvError::Closed) => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
