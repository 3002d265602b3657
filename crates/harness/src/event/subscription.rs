//! Readers of events: from memory as long as they keep up, else from the store.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream};
use ostler_domain::id::ThreadId;

use super::HarnessEvent;
use super::hub::{EventHub, EventReader, ReaderId};

/// A reader of events. Dropping it unsubscribes.
pub struct Subscription {
    hub: Arc<EventHub>,
    id: ReaderId,
    reader: Arc<dyn EventReader>,
    /// The position of the next event.
    at: u64,
    /// The thread and number of the last durable event that was returned.
    last: Option<(ThreadId, i64)>,
    /// Events read from the store that are to be returned first.
    behind: VecDeque<Arc<HarnessEvent>>,
    waiting: Option<BoxFuture<'static, Next>>,
}

/// What a reader that had no event in memory waits for.
enum Next {
    /// There may be new events.
    Look,
    /// Events from the store; none if it has no more.
    Stored(Vec<Arc<HarnessEvent>>),
}

impl Subscription {
    pub(crate) fn new(
        hub: Arc<EventHub>,
        reader: Arc<dyn EventReader>,
        after: Option<(ThreadId, i64)>,
    ) -> Self {
        let (id, at, last) = hub.add_reader();
        let waiting = after.map(|(thread, id)| read_stored(reader.clone(), thread, id));
        Self { hub, id, reader, at, last: after.or(last), behind: VecDeque::new(), waiting }
    }

    /// Waits for the next event.
    pub async fn next(&mut self) -> Arc<HarnessEvent> {
        std::future::poll_fn(|cx| self.poll(cx)).await
    }

    /// Returns an event that has already arrived.
    pub fn try_next(&mut self) -> Option<Arc<HarnessEvent>> {
        self.next().now_or_never()
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Arc<HarnessEvent>> {
        loop {
            if let Some(event) = self.behind.pop_front()
                && let Some(event) = self.unless_seen(event)
            {
                return Poll::Ready(event);
            }
            if let Some(waiting) = &mut self.waiting {
                let Poll::Ready(next) = waiting.poll_unpin(cx) else { return Poll::Pending };
                self.waiting = None;
                if let Next::Stored(events) = next
                    && !events.is_empty()
                {
                    self.behind.extend(events);
                    // There may be more.
                    if let Some((thread, id)) = last_durable(&self.behind).or(self.last) {
                        self.waiting = Some(read_stored(self.reader.clone(), thread, id));
                    }
                }
                continue;
            }
            // Listen first, so that an event that comes in between wakes the reader.
            let hub = self.hub.clone();
            let mut listening = Box::pin(async move {
                hub.wake.notified().await;
                Next::Look
            });
            let first_poll = listening.poll_unpin(cx);
            match self.hub.get(self.id, self.at) {
                Ok(Some((event, behind))) => {
                    self.at = behind;
                    if let Some(event) = self.unless_seen(event) {
                        return Poll::Ready(event);
                    }
                }
                Ok(None) => {
                    if first_poll.is_pending() {
                        self.waiting = Some(listening);
                        return Poll::Pending;
                    }
                }
                Err(start) => {
                    self.at = start;
                    // The rest of a thread that the harness has left is not read.
                    let current = self.hub.thread();
                    let seen = self.last.filter(|(thread, _)| {
                        current.is_none_or(|(current, _)| current == *thread)
                    });
                    if let Some((thread, id)) = seen.or(current) {
                        self.waiting = Some(read_stored(self.reader.clone(), thread, id));
                    }
                }
            }
        }
    }

    /// Returns the event, unless it was returned before.
    fn unless_seen(&mut self, event: Arc<HarnessEvent>) -> Option<Arc<HarnessEvent>> {
        let (Some(thread), Some(id)) = (event.ext.thread_id, event.ext.id) else {
            return Some(event);
        };
        if self.last.is_some_and(|(last, seen)| last == thread && id <= seen) {
            return None;
        }
        self.last = Some((thread, id));
        Some(event)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.remove_reader(self.id);
    }
}

fn last_durable(events: &VecDeque<Arc<HarnessEvent>>) -> Option<(ThreadId, i64)> {
    events.iter().rev().find_map(|event| Some((event.ext.thread_id?, event.ext.id?)))
}

fn read_stored(
    reader: Arc<dyn EventReader>,
    thread: ThreadId,
    after: i64,
) -> BoxFuture<'static, Next> {
    async move { Next::Stored(reader.events_after(thread, after).await) }.boxed()
}

impl Stream for Subscription {
    type Item = Arc<HarnessEvent>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(cx).map(Some)
    }
}
