//! A queue in memory: waiting messages, their order, and wake-ups.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::time::Timestamp;
use tokio::sync::Notify;

use crate::bus::QueueDepth;
use crate::envelope::Envelope;
use crate::queue::QueueName;

/// A waiting message.
pub(super) struct QueuedMessage {
    pub(super) envelope: Arc<Envelope>,
    /// Number of deliveries.
    pub(super) attempts: u32,
    arrival: u64,
}

/// The messages of one priority class. Messages with a deadline come first, by
/// deadline; the others follow in order of arrival.
#[derive(Default)]
struct Class {
    with_deadline: BTreeMap<(Timestamp, u64), QueuedMessage>,
    without_deadline: VecDeque<QueuedMessage>,
}

impl Class {
    fn len(&self) -> usize {
        self.with_deadline.len() + self.without_deadline.len()
    }

    fn put(&mut self, message: QueuedMessage) {
        if let Some(deadline) = message.envelope.sla_deadline {
            self.with_deadline.insert((deadline, message.arrival), message);
        } else if self.without_deadline.back().is_none_or(|last| last.arrival < message.arrival) {
            self.without_deadline.push_back(message);
        } else {
            let position =
                self.without_deadline.partition_point(|other| other.arrival < message.arrival);
            self.without_deadline.insert(position, message);
        }
    }

    fn take(&mut self) -> Option<QueuedMessage> {
        let with_deadline = self.with_deadline.pop_first().map(|(_, message)| message);
        with_deadline.or_else(|| self.without_deadline.pop_front())
    }
}

#[derive(Default)]
struct State {
    classes: [Class; 4],
    arrivals: u64,
    /// The queue was removed from the bus.
    deleted: bool,
}

/// Why a message was not queued.
pub(super) enum PushError {
    Full,
    /// The queue was deleted; the bus may have a new one of the same name.
    Deleted,
}

pub(super) struct Queue {
    pub(super) name: QueueName,
    state: Mutex<State>,
    /// Notified when a message is waiting.
    pub(super) ready: Notify,
    /// Notified when there is room, by priority class.
    room: [Notify; 4],
    /// Number of publishers waiting for room.
    room_waiters: AtomicU32,
    pub(super) consumers: AtomicU32,
}

impl Queue {
    pub(super) fn new(name: QueueName) -> Self {
        let (ready, room) = (Notify::new(), Default::default());
        let (room_waiters, consumers) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { name, state: Mutex::default(), ready, room, room_waiters, consumers }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, envelope: &Arc<Envelope>, length: usize) -> Result<(), PushError> {
        {
            let mut state = self.state();
            if state.deleted {
                return Err(PushError::Deleted);
            }
            let arrival = state.arrivals;
            let class = &mut state.classes[envelope.priority.rank()];
            if class.len() >= length {
                return Err(PushError::Full);
            }
            class.put(QueuedMessage { envelope: Arc::clone(envelope), attempts: 0, arrival });
            state.arrivals += 1;
        }
        self.ready.notify_one();
        Ok(())
    }

    /// Queues a message as soon as there is room; returns `false` if the queue
    /// was deleted meanwhile.
    pub(super) async fn push_when_room(&self, envelope: &Arc<Envelope>, length: usize) -> bool {
        let _waiter = RoomWaiter::new(&self.room_waiters);
        loop {
            let room = self.room[envelope.priority.rank()].notified();
            match self.push(envelope, length) {
                Ok(()) => return true,
                Err(PushError::Deleted) => return false,
                Err(PushError::Full) => room.await,
            }
        }
    }

    /// Deletes the queue if it has no messages and no consumers. Returns
    /// whether it is deleted.
    pub(super) fn delete_if_empty(&self) -> bool {
        let mut state = self.state();
        let empty = state.classes.iter().all(|class| class.len() == 0);
        state.deleted |= empty && self.consumers.load(Ordering::SeqCst) == 0;
        let deleted = state.deleted;
        drop(state);
        if deleted {
            self.room.iter().for_each(Notify::notify_waiters);
        }
        deleted
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.state().deleted
    }

    /// Returns a message to its old position, regardless of the limit.
    pub(super) fn put_back(&self, message: QueuedMessage) {
        self.state().classes[message.envelope.priority.rank()].put(message);
        self.ready.notify_one();
    }

    /// Removes and returns the next message.
    pub(super) fn take(&self) -> Option<QueuedMessage> {
        let (taken, more) = {
            let mut state = self.state();
            let taken = state.classes.iter_mut().find_map(Class::take)?;
            (taken, state.classes.iter().any(|class| class.len() > 0))
        };
        // Two messages queued while no worker was waiting leave only one
        // wake-up.
        if more {
            self.ready.notify_one();
        }
        // A publisher that found the queue full is counted before it waits.
        if self.room_waiters.load(Ordering::SeqCst) > 0 {
            self.room[taken.envelope.priority.rank()].notify_one();
        }
        Some(taken)
    }

    pub(super) fn depth(&self) -> QueueDepth {
        let state = self.state();
        let waiting = std::array::from_fn(|rank| state.classes[rank].len() as u64);
        QueueDepth { waiting, consumers: self.consumers.load(Ordering::Relaxed) }
    }
}

/// Counts a publisher waiting for room until dropped.
struct RoomWaiter<'a>(&'a AtomicU32);

impl<'a> RoomWaiter<'a> {
    fn new(room_waiters: &'a AtomicU32) -> Self {
        room_waiters.fetch_add(1, Ordering::SeqCst);
        Self(room_waiters)
    }
}

impl Drop for RoomWaiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
