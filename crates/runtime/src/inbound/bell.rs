//! Doorbells: what wakes workers when something waits in an inbox, in this
//! process and, over a bus, in others.
//!
//! A bell is a hint and never the truth: the inbox is. A ring that is lost costs
//! a little time, since workers look by themselves; one too many finds nothing
//! to do. On a bus, conversations share a few doors, `inbound.{shard}`, and at a
//! door at most one ring is outstanding.

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

/// How many doors there are.
const DOORS: u16 = 16;
/// How long a ring is outstanding that nobody hears.
const HEARD_WITHIN: Duration = Duration::from_secs(5);
/// What a ring and the answer to it are.
const RING: &str = "ostler.ring";
const HEARD: &str = "ostler.heard";

/// The bell that wakes workers. It may be rung too often, and need not be heard:
/// workers look by themselves from time to time. A copy is the same bell.
#[derive(Clone, Default)]
pub struct Doorbell {
    rings: Rings,
    street: Arc<OnceLock<Arc<Street>>>,
}

impl Doorbell {
    /// Wakes a worker of this process, for nothing in particular.
    pub fn ring(&self) {
        self.rings.ring();
    }

    /// Whether others hear it too.
    pub(crate) fn is_on_a_bus(&self) -> bool {
        self.street.get().is_some()
    }

    /// Wakes a worker for a conversation.
    pub(crate) fn ring_for(&self, key: &ConversationKey) {
        self.rings.ring();
        if self.is_on_a_bus() {
            self.ring_at(shard(&format!("{}/{}", key.org, key.text()), DOORS));
        }
    }

    /// Has it ring on a bus too, for workers of other processes. It is called
    /// within a runtime, and the first bus stays.
    pub fn connect(&self, bus: Arc<dyn MessageBus>) {
        let (runtime, doors) = (Handle::current(), Default::default());
        self.street.get_or_init(|| Arc::new(Street { bus, runtime, doors }));
    }

    /// Wakes the workers of this process when it rings on a bus, until what is
    /// returned is closed or dropped.
    pub async fn listen(&self, bus: &Arc<dyn MessageBus>) -> Result<Vec<Consumer>, BusError> {
        let mut ears = Vec::with_capacity(usize::from(DOORS));
        for door in 0..DOORS {
            let (rings, replies) = (self.rings.clone(), Arc::clone(bus));
            let handler = move |delivery: Delivery| {
                rings.ring_all();
                heard(Arc::clone(&replies), delivery)
            };
            let (queue, options) = (QueueName::inbound(door), ConsumeOptions::default());
            ears.push(bus.consume(&queue, options, Arc::new(handler)).await?);
        }
        Ok(ears)
    }

    pub(crate) const fn rings(&self) -> &Rings {
        &self.rings
    }

    fn ring_at(&self, door: u16) {
        let Some(street) = self.street.get() else { return };
        let begins = street.door(door).is_some_and(Door::rung);
        if begins {
            street.runtime.spawn(Arc::clone(street).ring(door));
        }
    }
}

impl std::fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doorbell").field("on_a_bus", &self.is_on_a_bus()).finish()
    }
}

/// Says that a ring was heard.
async fn heard(bus: Arc<dyn MessageBus>, delivery: Delivery) -> ostler_bus::Verdict {
    if let Some(to) = &delivery.envelope.context.reply_to {
        let reply = delivery.envelope.reply(HEARD, Value::Null);
        if let Err(error) = bus.publish(to, Arc::new(reply)).await {
            tracing::debug!(%error, "whoever rang does not wait any more");
        }
    }
    ostler_bus::Verdict::Done
}

/// The doors on a bus.
struct Street {
    bus: Arc<dyn MessageBus>,
    runtime: Handle,
    doors: [Door; DOORS as usize],
}

/// Whether a ring is outstanding at a door.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Rung {
    #[default]
    No,
    Once,
    /// And somebody rang since, who may have come too late for that one.
    Again,
}

#[derive(Default)]
struct Door {
    rung: Mutex<Rung>,
    /// The last ring was not heard, and may be waiting there.
    unheard: AtomicBool,
}

impl Door {
    fn lock(&self) -> MutexGuard<'_, Rung> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody rings; says whether nothing was outstanding.
    fn rung(&self) -> bool {
        let mut rung = self.lock();
        let quiet = *rung == Rung::No;
        *rung = if quiet { Rung::Once } else { Rung::Again };
        quiet
    }

    /// The ring is over; says whether it has to ring again.
    fn over(&self) -> bool {
        let mut rung = self.lock();
        let again = *rung == Rung::Again;
        *rung = if again { Rung::Once } else { Rung::No };
        again
    }
}

impl Street {
    fn door(&self, number: u16) -> Option<&Door> {
        self.doors.get(usize::from(number))
    }

    /// Rings until nobody has rung since.
    async fn ring(self: Arc<Self>, number: u16) {
        let Some(door) = self.door(number) else { return };
        let queue = QueueName::inbound(number);
        loop {
            if let Err(error) = self.ring_once(door, &queue).await {
                door.unheard.store(true, Ordering::SeqCst);
                tracing::debug!(%error, %queue, "nobody heard the bell");
            }
            if !door.over() {
                return;
            }
        }
    }

    async fn ring_once(&self, door: &Door, queue: &QueueName) -> Result<(), BusError> {
        // One ring that waits is enough for whoever comes.
        let unheard = door.unheard.swap(false, Ordering::SeqCst);
        if unheard && self.bus.depth(queue).await?.total() > 0 {
            door.unheard.store(true, Ordering::SeqCst);
            return Ok(());
        }
        let code = ReferenceCode::new(ostler_bus::now().utc_day(), 0);
        let ring = Envelope::new(RING, Value::Null, code);
        self.bus.request(queue, ring, HEARD_WITHIN).await.map(drop)
    }
}

/// What wakes workers of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rings(Arc<Notify>);

impl Rings {
    pub(crate) async fn notified(&self) {
        self.0.notified().await;
    }

    fn ring(&self) {
        self.0.notify_one();
    }

    /// One ring may stand for many conversations.
    fn ring_all(&self) {
        self.0.notify_waiters();
        self.0.notify_one();
    }
}
