//! Requests that wait for a reply, and their deadlines.
//!
//! One task per bus expires all requests, instead of a timer for each: most
//! requests are answered long before their deadline, and a timer per request
//! would be a considerable part of its cost in memory. The task sleeps until
//! the earliest known deadline and then checks all pending requests.

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
/// The longest timeout (thirty years, as in tokio).
const MAX_TIMEOUT_MS: u64 = 30 * 365 * 86_400_000;
/// After checking all requests, the task sleeps this many times as long as the
/// check took, so that many pending requests do not keep a processor busy.
const REST_FACTOR: u32 = 20;

/// A hasher for message ids. Their low bits are a counter and need no hashing.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
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
struct PendingReply {
    sender: oneshot::Sender<Arc<Envelope>>,
    /// Milliseconds since [`DeadlineTimer::start`].
    deadline_ms: u64,
}

type Shard = HashMap<EnvelopeId, PendingReply, BuildHasherDefault<IdHasher>>;

/// The requests without a reply.
pub(crate) struct PendingReplies {
    shards: [Mutex<Shard>; SHARDS],
    timer: Arc<DeadlineTimer>,
}

/// The clock and wake-up state of the task that expires requests.
struct DeadlineTimer {
    start: Instant,
    /// When the task checks next, in milliseconds since `start`; [`NEVER`] if
    /// nothing is pending.
    next_ms: AtomicU64,
    /// Notified when there is an earlier deadline, or when the bus is dropped.
    wake: Notify,
    running: AtomicBool,
}

impl Default for PendingReplies {
    fn default() -> Self {
        let (next_ms, wake, running) =
            (AtomicU64::new(NEVER), Notify::new(), AtomicBool::new(false));
        let timer = Arc::new(DeadlineTimer { start: Instant::now(), next_ms, wake, running });
        Self { shards: Default::default(), timer }
    }
}

/// A pending request. Dropping it cancels the wait.
pub(crate) struct PendingRequest<'a> {
    replies: &'a PendingReplies,
    id: EnvelopeId,
    reply: oneshot::Receiver<Arc<Envelope>>,
    completed: bool,
}

impl PendingRequest<'_> {
    /// Waits for the reply; returns `None` if the deadline passes.
    pub(crate) async fn reply(mut self) -> Option<Arc<Envelope>> {
        let reply = (&mut self.reply).await.ok();
        // The entry was removed when the reply was delivered or expired.
        self.completed = true;
        reply
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if !self.completed {
            self.replies.shard(self.id).remove(&self.id);
        }
    }
}

impl PendingReplies {
    fn shard(&self, id: EnvelopeId) -> MutexGuard<'_, Shard> {
        let number = (id.as_u128() as usize) % SHARDS;
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request that waits for its reply for at most `timeout`.
    pub(crate) fn expect(
        self: &Arc<Self>,
        id: EnvelopeId,
        timeout: Duration,
    ) -> PendingRequest<'_> {
        let deadline_ms = self.timer.millis_at(Instant::now(), timeout);
        let (sender, reply) = oneshot::channel();
        self.shard(id).insert(id, PendingReply { sender, deadline_ms });
        if deadline_ms < self.timer.next_ms.load(Ordering::SeqCst) {
            self.timer.next_ms.fetch_min(deadline_ms, Ordering::SeqCst);
            self.timer.wake.notify_one();
        }
        if !self.timer.running.load(Ordering::SeqCst) {
            self.ensure_timer_runs();
        }
        PendingRequest { replies: self, id, reply, completed: false }
    }

    /// Passes a reply to its request. Returns `false` if no request is waiting.
    pub(crate) fn deliver(&self, envelope: Arc<Envelope>) -> bool {
        let Some(id) = envelope.context.parent_message else { return false };
        let pending = self.shard(id).remove(&id);
        pending.is_some_and(|pending| pending.sender.send(envelope).is_ok())
    }

    /// Starts the expiry task if it does not run: at the first request, and
    /// after the runtime that ran it has ended.
    fn ensure_timer_runs(self: &Arc<Self>) {
        if !self.timer.running.swap(true, Ordering::SeqCst) {
            tokio::spawn(expire_loop(Arc::downgrade(self), RunningGuard(Arc::clone(&self.timer))));
        }
    }

    /// Removes expired requests and computes when to check next.
    fn expire(&self) {
        // Requests added from here on lower `next_ms` themselves.
        self.timer.next_ms.store(NEVER, Ordering::SeqCst);
        let now = self.timer.millis_at(Instant::now(), Duration::ZERO);
        let mut earliest = NEVER;
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, pending| {
                let waits = pending.deadline_ms >= now;
                if waits {
                    earliest = earliest.min(pending.deadline_ms);
                }
                waits
            });
        }
        self.timer.next_ms.fetch_min(earliest, Ordering::SeqCst);
    }
}

impl Drop for PendingReplies {
    fn drop(&mut self) {
        self.timer.wake.notify_one();
    }
}

impl DeadlineTimer {
    /// Returns `moment + later` in milliseconds since `start`.
    fn millis_at(&self, moment: Instant, later: Duration) -> u64 {
        let since = moment.saturating_duration_since(self.start).saturating_add(later);
        u64::try_from(since.as_millis()).map_or(MAX_TIMEOUT_MS, |millis| millis.min(MAX_TIMEOUT_MS))
    }

    /// Returns when the next check is due, or when that time may have changed.
    async fn wait(&self) {
        let wake = self.wake.notified();
        match self.next_ms.load(Ordering::SeqCst) {
            NEVER => wake.await,
            next => {
                // One millisecond later, so that no request expires early.
                let next = self.start + Duration::from_millis(next + 1);
                tokio::select! {
                    () = tokio::time::sleep_until(next) => {}
                    () = wake => {}
                }
            }
        }
    }

    fn is_due(&self) -> bool {
        self.next_ms.load(Ordering::SeqCst) < self.millis_at(Instant::now(), Duration::ZERO)
    }
}

/// Marks the expiry task as ended when dropped.
struct RunningGuard(Arc<DeadlineTimer>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.running.store(false, Ordering::SeqCst);
    }
}

/// Expires requests until the bus is dropped.
async fn expire_loop(replies: Weak<PendingReplies>, guard: RunningGuard) {
    loop {
        guard.0.wait().await;
        let Some(replies) = replies.upgrade() else { return };
        if !guard.0.is_due() {
            continue;
        }
        let began = std::time::Instant::now();
        replies.expire();
        let took = began.elapsed();
        drop(replies);
        tokio::time::sleep(took * REST_FACTOR).await;
    }
}
