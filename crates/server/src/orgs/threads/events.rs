//! `threads/ID/events`: the events of a thread. Those with a number are stored: a client
//! that was away continues after the last number that it has seen.
//!
//! While the thread is open in this process, events come from its harness, with what is
//! being written. Otherwise they are read from the store.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::response::sse::Event;
use ostler_api::problem::ProblemCode;
use ostler_api::thread::{DELETED_EVENT, SNAPSHOT_EVENT};
use ostler_domain::id::ThreadId;
use ostler_harness::{HarnessEvent, HarnessThread, read_events};
use ostler_runtime::operations::ThreadAccess;
use ostler_store::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::watch;

use super::super::{OrgRequest, PathId};
use super::snapshot;
use crate::body::QueryParams;
use crate::error::{ApiError, Result};
use crate::events::LAST_EVENT_ID;
use crate::server::{ClientAddress, Server};
use crate::stream::{self, Disconnected, EventSink, StreamHolder};
use crate::threads::{LiveThread, OpenStream, ThreadOwner};

/// Bounds of the polling delay, which doubles while nothing happens.
const MIN_DELAY: Duration = Duration::from_millis(25);
const MAX_DELAY: Duration = Duration::from_millis(400);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ThreadEventsQuery {
    /// As `Last-Event-ID`; 0 begins with the first event.
    after: Option<String>,
}

pub(crate) async fn follow(
    request: OrgRequest,
    Extension(client): Extension<ClientAddress>,
    PathId(id): PathId,
    QueryParams(query): QueryParams<ThreadEventsQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let (owner, thread) = request.find_thread(ThreadAccess::Read, &id).await?;
    let server = request.server.clone();
    let changes = server.threads.changes();
    let seen = headers.get(LAST_EVENT_ID).and_then(|value| value.to_str().ok());
    let seen = seen.filter(|seen| !seen.is_empty()).or(query.after.as_deref());
    let seen = seen.map(str::parse::<i64>).transpose().map_err(|_| {
        ApiError::new(ProblemCode::BadRequest, "send the id of an event of this thread")
    })?;
    // A question of a process that is gone is asked again by this.
    match server.threads.open(&owner, thread.id).await {
        Ok(_) => {}
        Err(error) if error.0.code == ProblemCode::InUse => {}
        Err(other) => return Err(other),
    }
    let counted = server.threads.open_stream(&owner)?;
    let holders = [StreamHolder::address(client), StreamHolder::Org(owner.org)];
    let reader = ThreadReader {
        server: server.clone(),
        owner,
        id: thread.id,
        changes,
        seen: 0,
        _counted: counted,
    };
    let revoked = request.caller.revoked(server.clone(), request.org);
    stream::open(&server, holders, revoked, |sink| reader.run(sink, thread, seen))
}

struct ThreadReader {
    server: Server,
    owner: ThreadOwner,
    id: ThreadId,
    changes: watch::Receiver<u64>,
    /// The number of the last event that was sent.
    seen: i64,
    /// Counts the stream until it ends.
    _counted: OpenStream,
}

type Sent = std::result::Result<(), Disconnected>;

impl ThreadReader {
    async fn run(mut self, sink: EventSink, thread: HarnessThread, seen: Option<i64>) -> Sent {
        match seen {
            Some(seen) => {
                self.seen = seen;
                self.send_stored(&sink).await?;
            }
            None => self.seen = self.last_number().await,
        }
        self.send_snapshot(&sink, thread).await?;
        loop {
            self.changes.mark_unchanged();
            match self.server.threads.live(self.id).await {
                Some(live) => self.follow_live(&sink, &live).await?,
                None => self.follow_store(&sink).await?,
            }
            if self.is_deleted().await {
                return sink.send(Event::default().event(DELETED_EVENT).data("{}")).await;
            }
        }
    }

    async fn last_number(&self) -> i64 {
        if let Some(live) = self.server.threads.live(self.id).await {
            return live.harness.current_events().last_id;
        }
        let stored = self.server.deps.store.org(self.owner.org).end_of_thread_events(self.id).await;
        stored.unwrap_or_default()
    }

    async fn is_deleted(&self) -> bool {
        let stored = self.server.deps.store.org(self.owner.org).thread(self.id).await;
        matches!(stored, Ok(None) | Err(StoreError::NotFound(_)))
    }

    /// Says what is going on. The id lets a client that is disconnected now resume here.
    async fn send_snapshot(&self, sink: &EventSink, thread: HarnessThread) -> Sent {
        let snapshot = match self.server.threads.live(self.id).await {
            Some(live) => snapshot::of_live(&live, thread).await,
            None => snapshot::stored(&thread),
        };
        let event = Event::default().event(SNAPSHOT_EVENT).id(self.seen.to_string());
        sink.send(event.data(snapshot::json(&snapshot).to_string())).await
    }

    /// Sends events as they come, until the thread is opened again or closed here.
    async fn follow_live(&mut self, sink: &EventSink, live: &LiveThread) -> Sent {
        let mut events = live.harness.subscribe_after(self.id, self.seen);
        loop {
            tokio::select! {
                biased;
                event = events.next() => self.send(sink, &event).await?,
                changed = self.changes.changed() => {
                    let now = self.server.threads.live(self.id).await;
                    let is_same = now.is_some_and(|now| now.generation == live.generation);
                    if changed.is_err() || !is_same {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Sends events as they are stored, until the thread is opened here or deleted.
    async fn follow_store(&mut self, sink: &EventSink) -> Sent {
        let mut delay = MIN_DELAY;
        loop {
            let before = self.seen;
            self.send_stored(sink).await?;
            if self.seen != before {
                delay = MIN_DELAY;
            } else if self.is_deleted().await {
                return Ok(());
            }
            tokio::select! {
                _ = self.changes.changed() => return Ok(()),
                () = tokio::time::sleep(delay) => delay = MAX_DELAY.min(delay * 2),
            }
        }
    }

    /// Sends all stored events after the last one that was sent.
    async fn send_stored(&mut self, sink: &EventSink) -> Sent {
        loop {
            let store = self.server.deps.store.org(self.owner.org);
            let events = match read_events(store, self.id, self.seen).await {
                Ok(events) => events,
                Err(error) => {
                    tracing::warn!(%error, thread = %self.id, "events not read, will retry");
                    return Ok(());
                }
            };
            if events.is_empty() {
                return Ok(());
            }
            for event in &events {
                self.send(sink, event).await?;
            }
        }
    }

    async fn send(&mut self, sink: &EventSink, event: &Arc<HarnessEvent>) -> Sent {
        if event.ext.thread_id.is_some_and(|thread| thread != self.id) {
            return Ok(());
        }
        let body = snapshot::json(event);
        let mut sent = Event::default().data(body.to_string());
        if let Some(name) = body["type"].as_str() {
            sent = sent.event(name);
        }
        if let Some(id) = event.ext.id {
            self.seen = id;
            sent = sent.id(id.to_string());
        }
        sink.send(sent).await
    }
}
