//! One queue in memory: what waits, in which order, and who is woken.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_domain::time::Timestamp;
use tokio::sync::Notify;

use crate::bus::Depth;
use crate::envelope::Envelope;
use crate::queue::QueueName;

/// A message that waits.
pub(super) struct Waiting {
    pub(super) envelope: Arc<Envelope>,
    /// How often it was delivered.
    pub(super) attempts: u32,
    arrival: u64,
}

/// The messages of one class. Those with a deadline go first, the nearest
/// before the others; the rest in the order of arrival.
#[derive(Default)]
struct Class {
    dated: BTreeMap<(Timestamp, u64), Waiting>,
    plain: VecDeque<Waiting>,
}

impl Class {
    fn len(&self) -> usize {
        self.dated.len() + self.plain.len()
    }

    fn put(&mut self, waiting: Waiting) {
        if let Some(deadline) = waiting.envelope.sla_deadline {
            self.dated.insert((deadline, waiting.arrival), waiting);
        } else if self.plain.back().is_none_or(|last| last.arrival < waiting.arrival) {
            self.plain.push_back(waiting);
        } else {
            let place = self.plain.partition_point(|other| other.arrival < waiting.arrival);
            self.plain.insert(place, waiting);
        }
    }

    fn take(&mut self) -> Option<Waiting> {
        let dated = self.dated.pop_first().map(|(_, waiting)| waiting);
        dated.or_else(|| self.plain.pop_front())
    }
}

#[derive(Default)]
struct State {
    classes: [Class; 4],
    arrivals: u64,
    /// It was taken off the bus.
    ended: bool,
}

/// Why a message is not in the queue.
pub(super) enum NotIn {
    /// The queue is full.
    Full,
    /// There is another queue of its name by now, or none.
    Ended,
}

pub(super) struct Queue {
    pub(super) name: QueueName,
    state: Mutex<State>,
    /// Something waits.
    pub(super) ready: Notify,
    /// There is room again in a class.
    room: [Notify; 4],
    /// How many wait for room.
    crowd: AtomicU32,
    pub(super) consumers: AtomicU32,
}

impl Queue {
    pub(super) fn new(name: QueueName) -> Self {
        let (ready, room) = (Notify::new(), Default::default());
        let (crowd, consumers) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { name, state: Mutex::default(), ready, room, crowd, consumers }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, envelope: &Arc<Envelope>, length: usize) -> Result<(), NotIn> {
        {
            let mut state = self.state();
            if state.ended {
                return Err(NotIn::Ended);
            }
            let arrival = state.arrivals;
            let class = &mut state.classes[envelope.priority.rank()];
            if class.len() >= length {
                return Err(NotIn::Full);
            }
            class.put(Waiting { envelope: Arc::clone(envelope), attempts: 0, arrival });
            state.arrivals += 1;
        }
        self.ready.notify_one();
        Ok(())
    }

    /// Puts a message into the queue as soon as there is room; false if the
    /// queue ended meanwhile.
    pub(super) async fn push_later(&self, envelope: &Arc<Envelope>, length: usize) -> bool {
        let _one_of_many = Waits::new(&self.crowd);
        loop {
            let room = self.room[envelope.priority.rank()].notified();
            match self.push(envelope, length) {
                Ok(()) => return true,
                Err(NotIn::Ended) => return false,
                Err(NotIn::Full) => room.await,
            }
        }
    }

    /// Ends the queue, if nothing waits in it and nobody consumes it.
    pub(super) fn end(&self) -> bool {
        let mut state = self.state();
        let empty = state.classes.iter().all(|class| class.len() == 0);
        state.ended |= empty && self.consumers.load(Ordering::SeqCst) == 0;
        let ended = state.ended;
        drop(state);
        if ended {
            self.room.iter().for_each(Notify::notify_waiters);
        }
        ended
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state().ended
    }

    /// Puts a message back to where it was; there is always room for it.
    pub(super) fn put_back(&self, waiting: Waiting) {
        self.state().classes[waiting.envelope.priority.rank()].put(waiting);
        self.ready.notify_one();
    }

    /// The next message.
    pub(super) fn take(&self) -> Option<Waiting> {
        let (taken, more) = {
            let mut state = self.state();
            let taken = state.classes.iter_mut().find_map(Class::take)?;
            (taken, state.classes.iter().any(|class| class.len() > 0))
        };
        // Two messages that came before anybody waited left one wake-up.
        if more {
            self.ready.notify_one();
        }
        // Who found the queue full before this was counted before that.
        if self.crowd.load(Ordering::SeqCst) > 0 {
            self.room[taken.envelope.priority.rank()].notify_one();
        }
        Some(taken)
    }

    pub(super) fn depth(&self) -> Depth {
        let state = self.state();
        let waiting = std::array::from_fn(|rank| state.classes[rank].len() as u64);
        Depth { waiting, consumers: self.consumers.load(Ordering::Relaxed) }
    }
}

/// Somebody who waits for room, as long as this is there.
struct Waits<'a>(&'a AtomicU32);

impl<'a> Waits<'a> {
    fn new(crowd: &'a AtomicU32) -> Self {
        crowd.fetch_add(1, Ordering::SeqCst);
        Self(crowd)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
