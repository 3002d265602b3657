//! All threads that are open in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ostler_api::problem::ProblemCode;
use ostler_domain::id::ThreadId;
use ostler_harness::Harness;
use ostler_runtime::assembly::erasures::{ERASURE_POLL_INTERVAL, ErasureWatch};
use ostler_store::Store;
use tokio::sync::watch;

use super::slot::Slot;
use super::streams::OwnerStreams;
use super::{LiveThread, OpenStream, ThreadOptions, ThreadOwner};
use crate::error::{ApiError, Result};

/// How long turns that are at work may take after shutdown began.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How many threads are looked at to make room for another one.
const EVICTION_ATTEMPTS: usize = 16;

type Slots = HashMap<ThreadId, Arc<Slot>>;

/// The open threads of this process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LiveThreads(Arc<Inner>);

struct Inner {
    options: ThreadOptions,
    slots: Mutex<Slots>,
    streams: OwnerStreams,
    /// Counts openings and closings; streams look again when it changes.
    generation: watch::Sender<u64>,
}

impl std::fmt::Debug for LiveThreads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LiveThreads").field(&self.slots().len()).finish()
    }
}

impl LiveThreads {
    pub(crate) fn new(options: ThreadOptions) -> Self {
        let (slots, generation) = (Mutex::default(), watch::Sender::new(0));
        let streams = OwnerStreams::default();
        Self(Arc::new(Inner { options, slots, streams, generation }))
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an event stream of an owner. Fails if the owner has too many of them.
    pub(crate) fn open_stream(&self, owner: &ThreadOwner) -> Result<OpenStream> {
        self.0.streams.open(owner, self.0.options.max_streams_per_owner)
    }

    /// Returns a receiver that changes when threads are opened and closed.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.generation.subscribe()
    }

    /// Builds a harness that has no thread yet.
    pub(crate) async fn new_harness(&self, owner: &ThreadOwner) -> Result<Harness> {
        let harness = (self.0.options.build)(owner).map_err(|error| ApiError::internal(&error))?;
        harness.init().await?;
        Ok(harness)
    }

    /// Returns a thread that is open here.
    pub(crate) async fn live(&self, id: ThreadId) -> Option<LiveThread> {
        let slot = self.slots().get(&id).cloned()?;
        slot.current(id).await
    }

    /// Returns the open threads of an owner.
    pub(crate) async fn live_of(&self, owner: &ThreadOwner) -> Vec<LiveThread> {
        let own = |(id, slot): (&ThreadId, &Arc<Slot>)| {
            (slot.owner == *owner).then(|| (*id, slot.clone()))
        };
        let slots: Vec<_> = self.slots().iter().filter_map(own).collect();
        let mut live = Vec::new();
        for (id, slot) in slots {
            live.extend(slot.current(id).await);
        }
        live
    }

    /// Returns a thread of an owner, and opens it if it is not open here. Fails if another
    /// process works on it.
    pub(crate) async fn open(&self, owner: &ThreadOwner, id: ThreadId) -> Result<LiveThread> {
        let slot = self.slot(owner, id).await?;
        slot.touch();
        if let Some(live) = slot.current(id).await {
            return Ok(live);
        }
        let mut place = slot.live.lock().await;
        if let Some(live) = &*place {
            return Ok(live.clone());
        }
        let harness = self.new_harness(owner).await?;
        if let Err(error) = harness.switch_thread(id).await {
            drop(place);
            self.forget(id, &slot);
            return Err(error.into());
        }
        Ok(self.fill(&mut place, harness))
    }

    /// Keeps the harness of a thread that was just created.
    pub(crate) async fn keep(
        &self,
        owner: &ThreadOwner,
        id: ThreadId,
        harness: Harness,
    ) -> Result<()> {
        let slot = self.slot(owner, id).await?;
        let mut place = slot.live.lock().await;
        self.fill(&mut place, harness);
        Ok(())
    }

    fn fill(&self, place: &mut Option<LiveThread>, harness: Harness) -> LiveThread {
        let mut generation = 0;
        self.0.generation.send_modify(|count| {
            *count += 1;
            generation = *count;
        });
        let live = LiveThread { harness, generation };
        *place = Some(live.clone());
        live
    }

    /// Returns the place of a thread, and makes one if there is room.
    async fn slot(&self, owner: &ThreadOwner, id: ThreadId) -> Result<Arc<Slot>> {
        for attempt in 0..2 {
            {
                let mut slots = self.slots();
                if let Some(slot) = slots.get(&id) {
                    return if slot.owner == *owner {
                        Ok(slot.clone())
                    } else {
                        Err(ApiError::not_found("thread"))
                    };
                }
                if self.has_room(&slots, owner) {
                    let slot = Arc::new(Slot::new(owner.clone()));
                    slots.insert(id, slot.clone());
                    return Ok(slot);
                }
            }
            if attempt == 0 {
                self.make_room(owner).await;
            }
        }
        let detail = "too many threads are at work; try again when one of them has finished";
        Err(ApiError::new(ProblemCode::TooMany, detail))
    }

    fn has_room(&self, slots: &Slots, owner: &ThreadOwner) -> bool {
        let of_org = slots.values().filter(|slot| slot.owner.org == owner.org).count();
        slots.len() < self.0.options.max_in_all && of_org < self.0.options.max_per_org
    }

    /// Lets go of the thread that has not been used for the longest time: of the org, if it
    /// has reached its limit, or else of all.
    async fn make_room(&self, owner: &ThreadOwner) {
        let mut candidates: Vec<(ThreadId, Arc<Slot>)> = {
            let slots = self.slots();
            let all_full = slots.len() >= self.0.options.max_in_all;
            let concerns = |slot: &Slot| all_full || slot.owner.org == owner.org;
            let concerned = slots.iter().filter(|(_, slot)| concerns(slot));
            concerned.map(|(id, slot)| (*id, slot.clone())).collect()
        };
        candidates.sort_by_key(|(_, slot)| std::cmp::Reverse(slot.idle_time()));
        for (id, slot) in candidates.into_iter().take(EVICTION_ATTEMPTS) {
            if slot.close_if_idle().await {
                return self.forget(id, &slot);
            }
        }
    }

    /// Removes the place of a thread.
    fn forget(&self, id: ThreadId, slot: &Arc<Slot>) {
        let mut slots = self.slots();
        if slots.get(&id).is_some_and(|known| Arc::ptr_eq(known, slot)) {
            slots.remove(&id);
        }
        drop(slots);
        self.0.generation.send_modify(|count| *count += 1);
    }

    /// Removes a thread that was deleted, without touching what is stored.
    pub(crate) fn remove(&self, id: ThreadId) {
        self.slots().remove(&id);
        self.0.generation.send_modify(|count| *count += 1);
    }

    fn all(&self) -> Vec<(ThreadId, Arc<Slot>)> {
        self.slots().iter().map(|(id, slot)| (*id, slot.clone())).collect()
    }

    /// Lets go of threads that nobody uses, and after an erasure of all that were opened
    /// before, because they may name the person; until the server stops.
    pub(crate) async fn run(&self, store: Store, mut stop: watch::Receiver<bool>) {
        let idle_timeout = self.0.options.idle_timeout;
        let mut erasures = ErasureWatch::new(store);
        let mut opened_before: Vec<(ThreadId, Arc<Slot>)> = Vec::new();
        loop {
            match erasures.has_news().await {
                Ok(true) => opened_before = self.all(),
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "erasures not read, will retry"),
            }
            let mut at_work = Vec::new();
            for (id, slot) in opened_before {
                if slot.close_if_idle().await {
                    self.forget(id, &slot);
                } else {
                    at_work.push((id, slot));
                }
            }
            opened_before = at_work;
            for (id, slot) in self.all() {
                if slot.idle_time() >= idle_timeout && slot.close_if_idle().await {
                    self.forget(id, &slot);
                }
            }
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                () = tokio::time::sleep(ERASURE_POLL_INTERVAL.min(idle_timeout / 4)) => {}
            }
        }
    }

    /// Lets go of all threads. Turns that are at work may finish for a while; others go on
    /// in the process that opens their thread next.
    pub(crate) async fn drain(&self) {
        let deadline = Instant::now() + DRAIN_TIMEOUT;
        let closing = self.all().into_iter().map(async |(id, slot)| {
            slot.drain(deadline).await;
            self.forget(id, &slot);
        });
        futures_util::future::join_all(closing).await;
    }
}
