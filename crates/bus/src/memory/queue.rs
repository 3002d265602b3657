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
}

/// The queue is full.
pub(super) struct Full;

pub(super) struct Queue {
    pub(super) name: QueueName,
    state: Mutex<State>,
    /// Something waits.
    pub(super) ready: Notify,
    /// There is room again.
    pub(super) room: Notify,
    pub(super) consumers: AtomicU32,
}

impl Queue {
    pub(super) fn new(name: QueueName) -> Self {
        let (ready, room) = (Notify::new(), Notify::new());
        Self { name, state: Mutex::default(), ready, room, consumers: AtomicU32::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, envelope: &Arc<Envelope>, length: usize) -> Result<(), Full> {
        {
            let mut state = self.state();
            let arrival = state.arrivals;
            let class = &mut state.classes[envelope.priority.rank()];
            if class.len() >= length {
                return Err(Full);
            }
            class.put(Waiting { envelope: Arc::clone(envelope), attempts: 0, arrival });
            state.arrivals += 1;
        }
        self.ready.notify_one();
        Ok(())
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
        self.room.notify_one();
        Some(taken)
    }

    pub(super) fn depth(&self) -> Depth {
        let state = self.state();
        let waiting = std::array::from_fn(|rank| state.classes[rank].len() as u64);
        Depth { waiting, consumers: self.consumers.load(Ordering::Relaxed) }
    }
}
