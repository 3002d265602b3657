//! Distribution of events: a short ring in memory, behind which slow readers continue from
//! the store. Publishing never waits for a reader.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream};
use ostler_domain::id::ThreadId;
use tokio::sync::Notify;

use super::current::{CurrentEvents, Tracker};
use super::{EventDetails, EventKind, HarnessEvent};

/// How many events are kept in memory for readers that are behind.
const RING_SIZE: usize = 256;

/// Reads durable events of a thread that are no longer in memory.
pub(crate) trait EventReader: Send + Sync {
    /// Returns events after a number, in order; none if there are no more.
    fn events_after(&self, thread: ThreadId, after: i64) -> BoxFuture<'_, Vec<Arc<HarnessEvent>>>;
}

#[derive(Default)]
struct Ring {
    events: VecDeque<Slot>,
    /// The position of the first event of the ring.
    start: u64,
    /// Durable events that are not stored yet.
    unsaved: Vec<Arc<HarnessEvent>>,
    /// The number of the last durable event.
    last_id: i64,
    /// The thread of the harness, and the number before its first event here.
    thread: Option<(ThreadId, i64)>,
    tracker: Tracker,
}

/// The place of an event in the ring.
struct Slot {
    event: Arc<HarnessEvent>,
    state: SlotState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SlotState {
    Published,
    /// Readers wait here until the event is stored, so that events keep their order.
    Held,
    /// The event could not be stored.
    Withdrawn,
}

/// The events of a harness.
#[derive(Default)]
pub(crate) struct EventHub {
    ring: Mutex<Ring>,
    wake: Notify,
}

impl EventHub {
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Continues the numbers of a thread. Numbers of an earlier holder are lower, whether
    /// its last events were stored or not.
    pub(crate) fn begin_thread(&self, thread: ThreadId, lease_token: i64) {
        let mut ring = self.ring();
        ring.unsaved.clear();
        ring.tracker = Tracker::default();
        ring.last_id = lease_token << 32;
        ring.thread = Some((thread, ring.last_id));
    }

    /// Publishes an event.
    pub(crate) fn publish(&self, kind: EventKind, details: EventDetails) {
        let mut ring = self.ring();
        let event = number(&mut ring, kind, details);
        ring.tracker.see(&event);
        push(&mut ring, event, SlotState::Published);
        drop(ring);
        self.wake.notify_waiters();
    }

    /// Numbers an event that is published once it is stored. Later events wait for it.
    pub(crate) fn hold(self: &Arc<Self>, kind: EventKind, details: EventDetails) -> HeldEvent {
        let mut ring = self.ring();
        let event = number(&mut ring, kind, details);
        push(&mut ring, event.clone(), SlotState::Held);
        drop(ring);
        HeldEvent { hub: self.clone(), event: Some(event) }
    }

    fn settle(&self, event: &Arc<HarnessEvent>, state: SlotState) {
        let mut ring = self.ring();
        let slot = ring.events.iter_mut().rev().find(|slot| Arc::ptr_eq(&slot.event, event));
        if let Some(slot) = slot {
            slot.state = state;
        }
        if state == SlotState::Published {
            ring.tracker.see(event);
        }
        drop(ring);
        self.wake.notify_waiters();
    }

    /// Returns the durable events after a number that are not stored yet.
    pub(crate) fn unsaved_after(&self, after: i64) -> Vec<Arc<HarnessEvent>> {
        let ring = self.ring();
        let is_after = |event: &&Arc<HarnessEvent>| event.ext.id > Some(after);
        ring.unsaved.iter().filter(is_after).cloned().collect()
    }

    /// Forgets that events up to a number are not stored.
    pub(crate) fn mark_saved(&self, up_to: i64) {
        self.ring().unsaved.retain(|event| event.ext.id > Some(up_to));
    }

    /// Returns the position after the last event, and the thread with the number of its
    /// last event.
    fn end(&self) -> (u64, Option<(ThreadId, i64)>) {
        let ring = self.ring();
        let last = ring.thread.map(|(thread, _)| (thread, ring.last_id));
        (ring.start + ring.events.len() as u64, last)
    }

    /// Returns what is going on. Its number is that of the last event before one that is
    /// not published yet.
    pub(crate) fn current(&self) -> CurrentEvents {
        let ring = self.ring();
        let held = ring.events.iter().find(|slot| slot.state == SlotState::Held);
        let before = held.and_then(|slot| slot.event.ext.id).map(|id| id - 1);
        ring.tracker.current(before.unwrap_or(ring.last_id))
    }

    /// Returns the thread of the harness, and the number before its first event here.
    fn thread(&self) -> Option<(ThreadId, i64)> {
        self.ring().thread
    }

    /// Returns the next event at or after a position, and the position behind it; fails
    /// with the first available position if the event has left the ring.
    fn get(&self, at: u64) -> Result<Option<(Arc<HarnessEvent>, u64)>, u64> {
        let ring = self.ring();
        let Some(offset) = at.checked_sub(ring.start) else { return Err(ring.start) };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let slots = (at + 1..).zip(ring.events.iter().skip(offset));
        let next = slots.into_iter().find(|(_, slot)| slot.state != SlotState::Withdrawn);
        Ok(next.and_then(|(behind, slot)| {
            (slot.state == SlotState::Published).then(|| (slot.event.clone(), behind))
        }))
    }
}

fn number(ring: &mut Ring, kind: EventKind, mut details: EventDetails) -> Arc<HarnessEvent> {
    let durable = kind.is_durable() && details.thread_id.is_some();
    if durable {
        ring.last_id += 1;
        details.id = Some(ring.last_id);
    }
    let event = Arc::new(HarnessEvent { kind, ext: details });
    if durable {
        ring.unsaved.push(event.clone());
    }
    event
}

fn push(ring: &mut Ring, event: Arc<HarnessEvent>, state: SlotState) {
    if ring.events.len() == RING_SIZE {
        ring.events.pop_front();
        ring.start += 1;
    }
    ring.events.push_back(Slot { event, state });
}

/// An event that readers get once it is stored. Dropping it withdraws it, so that no reader
/// waits for an event that was not stored.
#[must_use]
pub(crate) struct HeldEvent {
    hub: Arc<EventHub>,
    /// Empty once the event was published.
    event: Option<Arc<HarnessEvent>>,
}

impl HeldEvent {
    /// Publishes the event.
    pub(crate) fn publish(mut self) {
        if let Some(event) = self.event.take() {
            self.hub.settle(&event, SlotState::Published);
        }
    }
}

impl Drop for HeldEvent {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            self.hub.ring().unsaved.retain(|unsaved| !Arc::ptr_eq(unsaved, &event));
            self.hub.settle(&event, SlotState::Withdrawn);
        }
    }
}

/// A reader of events. Dropping it unsubscribes.
pub struct Subscription {
    hub: Arc<EventHub>,
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
        let (at, last) = hub.end();
        let waiting = after.map(|(thread, id)| read_stored(reader.clone(), thread, id));
        Self { hub, reader, at, last: after.or(last), behind: VecDeque::new(), waiting }
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
            match self.hub.get(self.at) {
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
