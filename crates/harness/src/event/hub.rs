//! Distribution of events: a short ring in memory, behind which slow readers continue from
//! the store. Publishing never waits for a reader.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use ostler_domain::id::ThreadId;
use tokio::sync::Notify;

use super::current::{CurrentEvents, Tracker};
use super::{EventDetails, EventKind, HarnessEvent};

/// How many events are kept in memory for readers that are behind.
const RING_SIZE: usize = 256;
/// A ring that was longer and is empty again gives its memory back.
const IDLE_CAPACITY: usize = 16;

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
    /// The position that each reader has come to.
    readers: Vec<(ReaderId, u64)>,
    last_reader: ReaderId,
    /// Durable events that are not stored yet.
    unsaved: Vec<Arc<HarnessEvent>>,
    /// The number of the last durable event.
    last_id: i64,
    /// The thread of the harness, and the number before its first event here.
    thread: Option<(ThreadId, i64)>,
    tracker: Tracker,
}

pub(super) type ReaderId = u64;

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
    pub(super) wake: Notify,
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
        ring.forget_read();
        drop(ring);
        self.wake.notify_waiters();
    }

    /// Adds a reader of the events from now on. Returns its id and position, and the thread
    /// with the number of its last event.
    pub(super) fn add_reader(&self) -> (ReaderId, u64, Option<(ThreadId, i64)>) {
        let mut ring = self.ring();
        let at = ring.end();
        ring.last_reader += 1;
        let id = ring.last_reader;
        ring.readers.push((id, at));
        (id, at, ring.thread.map(|(thread, _)| (thread, ring.last_id)))
    }

    pub(super) fn remove_reader(&self, reader: ReaderId) {
        let mut ring = self.ring();
        ring.readers.retain(|(id, _)| *id != reader);
        ring.forget_read();
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

    /// Returns what is going on. Its number is that of the last event before one that is
    /// not published yet.
    pub(crate) fn current(&self) -> CurrentEvents {
        let ring = self.ring();
        let held = ring.events.iter().find(|slot| slot.state == SlotState::Held);
        let before = held.and_then(|slot| slot.event.ext.id).map(|id| id - 1);
        ring.tracker.current(before.unwrap_or(ring.last_id))
    }

    /// Returns the thread of the harness, and the number before its first event here.
    pub(super) fn thread(&self) -> Option<(ThreadId, i64)> {
        self.ring().thread
    }

    /// Returns the next event at or after the position that a reader has come to, and the
    /// position behind it; fails with the first available position if the event has left the
    /// ring.
    pub(super) fn get(
        &self,
        reader: ReaderId,
        at: u64,
    ) -> Result<Option<(Arc<HarnessEvent>, u64)>, u64> {
        let mut ring = self.ring();
        if let Some(known) = ring.readers.iter_mut().find(|(id, _)| *id == reader) {
            known.1 = at;
        }
        ring.forget_read();
        let Some(offset) = at.checked_sub(ring.start) else { return Err(ring.start) };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let slots = (at + 1..).zip(ring.events.iter().skip(offset));
        let next = slots.into_iter().find(|(_, slot)| slot.state != SlotState::Withdrawn);
        Ok(next.and_then(|(behind, slot)| {
            (slot.state == SlotState::Published).then(|| (slot.event.clone(), behind))
        }))
    }
}

impl Ring {
    /// Returns the position after the last event.
    fn end(&self) -> u64 {
        self.start + self.events.len() as u64
    }

    /// Drops events that no reader will ask for, so that a session whose readers have caught
    /// up keeps none.
    fn forget_read(&mut self) {
        let read_by_all = self.readers.iter().map(|(_, at)| *at).min().unwrap_or(u64::MAX);
        let is_read = |slot: &mut Slot| slot.state != SlotState::Held;
        while self.start < read_by_all && self.events.pop_front_if(is_read).is_some() {
            self.start += 1;
        }
        if self.events.is_empty() && self.events.capacity() > IDLE_CAPACITY {
            self.events.shrink_to(IDLE_CAPACITY);
        }
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
    ring.forget_read();
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ostler_domain::time::Timestamp;
    use serde_json::Map;

    use super::EventHub;
    use crate::event::{EventDetails, EventKind, TurnLifeEvent};

    fn event() -> (EventKind, EventDetails) {
        let details = EventDetails {
            id: None,
            at: Timestamp::from_millis(1),
            thread_id: None,
            turn_id: None,
            path: Vec::new(),
            more: Map::new(),
        };
        (TurnLifeEvent::AgentStart {}.into(), details)
    }

    /// M39: events stay in memory only for readers that have not read them, and while they
    /// are not stored.
    #[test]
    fn m39_events_that_all_readers_have_read_are_forgotten() {
        let hub = Arc::new(EventHub::default());
        let publish = || {
            let (kind, details) = event();
            hub.publish(kind, details);
        };
        let kept = || hub.ring().events.len();
        publish();
        assert_eq!(kept(), 0, "nobody reads");
        let (slow, at, _) = hub.add_reader();
        let (quick, ..) = hub.add_reader();
        (0..3).for_each(|_| publish());
        assert!(hub.get(quick, at + 3).unwrap().is_none());
        assert_eq!(kept(), 3);
        let (_, behind) = hub.get(slow, at).unwrap().unwrap();
        assert!(hub.get(slow, behind).unwrap().is_some());
        assert_eq!(kept(), 2);
        hub.remove_reader(slow);
        assert_eq!(kept(), 0);
        let (kind, details) = event();
        let held = hub.hold(kind, details);
        publish();
        hub.remove_reader(quick);
        assert_eq!(kept(), 2, "the second waits for the first");
        held.publish();
        assert_eq!(kept(), 0);
    }
}
