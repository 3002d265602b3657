//! Doorbells wake workers when an inbox has a new entry: in this process and, over a bus,
//! in others.
//!
//! A ring is a hint; the inbox is the truth. A lost ring costs a little time, because
//! workers also poll; one too many finds nothing to do. On a bus, conversations share a few
//! queues, `inbound.{shard}`, and each shard has at most one ring outstanding.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ostler_bus::{BusError, ConsumeOptions, Consumer, Delivery, Envelope, MessageBus, QueueName};
use ostler_domain::reference::ReferenceCode;
use ostler_domain::session::key::ConversationKey;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::ids::shard;

const SHARDS: u16 = 16;
/// How long a ring is outstanding that no process answers.
const RING_TIMEOUT: Duration = Duration::from_secs(5);
/// The types of a ring and of its reply.
const RING: &str = "ostler.ring";
const RING_HEARD: &str = "ostler.heard";

/// A bell that wakes workers. Cheap to clone; a clone is the same bell.
#[derive(Clone, Default)]
pub struct Doorbell {
    local: LocalBell,
    bus: Arc<OnceLock<Arc<DoorbellBus>>>,
}

impl Doorbell {
    /// Wakes a worker of this process.
    pub fn ring(&self) {
        self.local.ring();
    }

    /// Returns whether other processes hear it too.
    pub(crate) fn is_on_bus(&self) -> bool {
        self.bus.get().is_some()
    }

    /// Wakes a worker for a conversation, in this process and on the bus.
    pub(crate) fn ring_for(&self, key: &ConversationKey) {
        self.local.ring();
        if self.is_on_bus() {
            self.ring_shard(shard(&format!("{}/{}", key.org, key.to_text()), SHARDS));
        }
    }

    /// Also rings on a bus from now on. Must be called within a Tokio runtime; only the
    /// first bus is used.
    pub fn connect(&self, bus: Arc<dyn MessageBus>) {
        let (runtime, shards) = (Handle::current(), Default::default());
        self.bus.get_or_init(|| Arc::new(DoorbellBus { bus, runtime, shards }));
    }

    /// Wakes the workers of this process when another process rings on the bus, until the
    /// returned consumers are closed or dropped.
    pub async fn listen(&self, bus: &Arc<dyn MessageBus>) -> Result<Vec<Consumer>, BusError> {
        let mut consumers = Vec::with_capacity(usize::from(SHARDS));
        for number in 0..SHARDS {
            let (local, replies) = (self.local.clone(), Arc::clone(bus));
            let handler = move |delivery: Delivery| {
                local.ring_all();
                acknowledge(Arc::clone(&replies), delivery)
            };
            let (queue, options) = (QueueName::inbound(number), ConsumeOptions::default());
            consumers.push(bus.consume(&queue, options, Arc::new(handler)).await?);
        }
        Ok(consumers)
    }

    pub(crate) const fn local(&self) -> &LocalBell {
        &self.local
    }

    fn ring_shard(&self, number: u16) {
        let Some(bus) = self.bus.get() else { return };
        if bus.shard(number).is_some_and(DoorbellShard::begin_ring) {
            bus.runtime.spawn(Arc::clone(bus).ring(number));
        }
    }
}

impl std::fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doorbell").field("on_bus", &self.is_on_bus()).finish()
    }
}

/// Replies to a ring.
async fn acknowledge(bus: Arc<dyn MessageBus>, delivery: Delivery) -> ostler_bus::Disposition {
    if let Some(to) = &delivery.envelope.context.reply_to {
        let reply = delivery.envelope.reply(RING_HEARD, Value::Null);
        if let Err(error) = bus.publish(to, Arc::new(reply)).await {
            tracing::debug!(%error, "doorbell reply not delivered");
        }
    }
    ostler_bus::Disposition::Done
}

/// The shards of a doorbell on a bus.
struct DoorbellBus {
    bus: Arc<dyn MessageBus>,
    runtime: Handle,
    shards: [DoorbellShard; SHARDS as usize],
}

/// Whether a ring of a shard is outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum RingState {
    #[default]
    Idle,
    Outstanding,
    /// Rung again since; the outstanding ring may have been too early for that one.
    Repeated,
}

#[derive(Default)]
struct DoorbellShard {
    state: Mutex<RingState>,
    /// The last ring was not answered and may still be in the queue.
    unanswered: AtomicBool,
}

impl DoorbellShard {
    fn lock(&self) -> MutexGuard<'_, RingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a ring and returns whether none was outstanding.
    fn begin_ring(&self) -> bool {
        let mut state = self.lock();
        let idle = *state == RingState::Idle;
        *state = if idle { RingState::Outstanding } else { RingState::Repeated };
        idle
    }

    /// Ends a ring and returns whether it has to ring again.
    fn end_ring(&self) -> bool {
        let mut state = self.lock();
        let again = *state == RingState::Repeated;
        *state = if again { RingState::Outstanding } else { RingState::Idle };
        again
    }
}

impl DoorbellBus {
    fn shard(&self, number: u16) -> Option<&DoorbellShard> {
        self.shards.get(usize::from(number))
    }

    /// LocalBell until nobody has rung since.
    async fn ring(self: Arc<Self>, number: u16) {
        let Some(shard) = self.shard(number) else { return };
        let queue = QueueName::inbound(number);
        loop {
            if let Err(error) = self.ring_once(shard, &queue).await {
                shard.unanswered.store(true, Ordering::SeqCst);
                tracing::debug!(%error, %queue, "doorbell not answered");
            }
            if !shard.end_ring() {
                return;
            }
        }
    }

    async fn ring_once(&self, shard: &DoorbellShard, queue: &QueueName) -> Result<(), BusError> {
        // One ring in the queue is enough.
        let unanswered = shard.unanswered.swap(false, Ordering::SeqCst);
        if unanswered && self.bus.depth(queue).await?.total() > 0 {
            shard.unanswered.store(true, Ordering::SeqCst);
            return Ok(());
        }
        let code = ReferenceCode::new(ostler_bus::now().utc_day(), 0);
        let ring = Envelope::new(RING, Value::Null, code);
        self.bus.request(queue, ring, RING_TIMEOUT).await.map(drop)
    }
}

/// The bell of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalBell(Arc<Notify>);

impl LocalBell {
    pub(crate) async fn notified(&self) {
        self.0.notified().await;
    }

    fn ring(&self) {
        self.0.notify_one();
    }

    /// Wakes all workers: a ring on the bus may stand for many conversations.
    fn ring_all(&self) {
        self.0.notify_waiters();
        self.0.notify_one();
    }
}
