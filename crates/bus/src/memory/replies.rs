//! Who waits for which reply, and until when.
//!
//! Deadlines are looked after by one task for all requests, and not by a timer
//! for each: most are answered long before, and a timer that never fires would
//! be a good part of what a request costs. The task sleeps until the nearest
//! deadline that it knows of, and then looks at all who wait.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use ostler_domain::id::EnvelopeId;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::envelope::Envelope;

const SHARDS: usize = 16;
/// No deadline is known.
const NEVER: u64 = u64::MAX;
/// The longest wait, in milliseconds: thirty years, as tokio has it.
const LONGEST: u64 = 30 * 365 * 86_400_000;
/// The task rests so many times as long as it looked, so that a great many who
/// wait do not keep a processor busy.
const REST: u32 = 20;

/// The low bits of an id are a counter; they need no hashing.
#[derive(Default)]
pub(crate) struct ById(u64);

impl Hasher for ById {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, bits: u128) {
        self.0 = (bits as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A request without a reply.
struct Waiting {
    tell: oneshot::Sender<Arc<Envelope>>,
    /// In milliseconds of the watch.
    until: u64,
}

type Shard = HashMap<EnvelopeId, Waiting, BuildHasherDefault<ById>>;

/// The requests without a reply.
pub(crate) struct Replies {
    shards: [Mutex<Shard>; SHARDS],
    watch: Arc<Watch>,
}

/// The clock of the task that looks after deadlines.
struct Watch {
    start: Instant,
    /// When it looks next.
    next: AtomicU64,
    /// It has to look sooner, or everything is over.
    sooner: Notify,
    runs: AtomicBool,
}

impl Default for Replies {
    fn default() -> Self {
        let (next, sooner, runs) = (AtomicU64::new(NEVER), Notify::new(), AtomicBool::new(false));
        let watch = Arc::new(Watch { start: Instant::now(), next, sooner, runs });
        Self { shards: Default::default(), watch }
    }
}

/// A request that waits. Dropped, it waits no longer.
pub(crate) struct Pending<'a> {
    replies: &'a Replies,
    id: EnvelopeId,
    reply: oneshot::Receiver<Arc<Envelope>>,
    over: bool,
}

impl Pending<'_> {
    /// The reply; nothing if none came in time.
    pub(crate) async fn reply(mut self) -> Option<Arc<Envelope>> {
        let reply = (&mut self.reply).await.ok();
        // Whoever told or gave up has taken it off the list.
        self.over = true;
        reply
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.replies.shard(self.id).remove(&self.id);
        }
    }
}

impl Replies {
    fn shard(&self, id: EnvelopeId) -> MutexGuard<'_, Shard> {
        let number = (id.as_u128() as usize) % SHARDS;
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a request wait so long for its reply.
    pub(crate) fn expect(self: &Arc<Self>, id: EnvelopeId, patience: Duration) -> Pending<'_> {
        let until = self.watch.at(Instant::now(), patience);
        let (tell, reply) = oneshot::channel();
        self.shard(id).insert(id, Waiting { tell, until });
        if until < self.watch.next.load(Ordering::SeqCst) {
            self.watch.next.fetch_min(until, Ordering::SeqCst);
            self.watch.sooner.notify_one();
        }
        if !self.watch.runs.load(Ordering::SeqCst) {
            self.look_after();
        }
        Pending { replies: self, id, reply, over: false }
    }

    /// Gives a reply to whoever waits for it; false if nobody does.
    pub(crate) fn deliver(&self, envelope: Arc<Envelope>) -> bool {
        let Some(id) = envelope.context.parent_message else { return false };
        let waiting = self.shard(id).remove(&id);
        waiting.is_some_and(|waiting| waiting.tell.send(envelope).is_ok())
    }

    /// Has somebody look after deadlines, if nobody does: at the first request,
    /// and when the reactor that did it ended.
    fn look_after(self: &Arc<Self>) {
        if !self.watch.runs.swap(true, Ordering::SeqCst) {
            tokio::spawn(look(Arc::downgrade(self), Round(Arc::clone(&self.watch))));
        }
    }

    /// Gives up those whose time is over, and says when to look next.
    fn give_up(&self) {
        // Whoever comes from here on says for itself when to look.
        self.watch.next.store(NEVER, Ordering::SeqCst);
        let now = self.watch.at(Instant::now(), Duration::ZERO);
        let mut nearest = NEVER;
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, waiting| {
                let waits = waiting.until >= now;
                if waits {
                    nearest = nearest.min(waiting.until);
                }
                waits
            });
        }
        self.watch.next.fetch_min(nearest, Ordering::SeqCst);
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.watch.sooner.notify_one();
    }
}

impl Watch {
    /// A moment by the watch, so long after this one.
    fn at(&self, moment: Instant, later: Duration) -> u64 {
        let since = moment.saturating_duration_since(self.start).saturating_add(later);
        u64::try_from(since.as_millis()).map_or(LONGEST, |millis| millis.min(LONGEST))
    }

    /// Returns when it is time to look, or when that may have changed.
    async fn wait(&self) {
        let sooner = self.sooner.notified();
        match self.next.load(Ordering::SeqCst) {
            NEVER => sooner.await,
            next => {
                // Behind the millisecond, so that none is given up too soon.
                let next = self.start + Duration::from_millis(next + 1);
                tokio::select! {
                    () = tokio::time::sleep_until(next) => {}
                    () = sooner => {}
                }
            }
        }
    }

    fn is_time(&self) -> bool {
        self.next.load(Ordering::SeqCst) < self.at(Instant::now(), Duration::ZERO)
    }
}

/// Says that nobody looks after deadlines any more, however it ended.
struct Round(Arc<Watch>);

impl Drop for Round {
    fn drop(&mut self) {
        self.0.runs.store(false, Ordering::SeqCst);
    }
}

/// Looks after deadlines as long as the bus is there.
async fn look(replies: Weak<Replies>, round: Round) {
    loop {
        round.0.wait().await;
        let Some(replies) = replies.upgrade() else { return };
        if !round.0.is_time() {
            continue;
        }
        let began = std::time::Instant::now();
        replies.give_up();
        let took = began.elapsed();
        drop(replies);
        tokio::time::sleep(took * REST).await;
    }
}
