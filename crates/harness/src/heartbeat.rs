//! Heartbeats: work that is repeated in the background. They do not keep a program alive.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;

type Work = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// Work that is repeated in the background.
#[derive(Clone)]
pub struct HeartbeatHandler {
    pub id: String,
    pub interval: Duration,
    /// Whether it runs at once when it is registered.
    pub immediate: bool,
    work: Work,
    shutdown: Option<Work>,
}

impl HeartbeatHandler {
    /// Creates a heartbeat that runs at once and then in an interval.
    pub fn new<F, O>(id: impl Into<String>, interval: Duration, work: F) -> Self
    where
        F: Fn() -> O + Send + Sync + 'static,
        O: Future<Output = Result<(), String>> + Send + 'static,
    {
        let work: Work = Arc::new(move || work().boxed());
        Self { id: id.into(), interval, immediate: true, work, shutdown: None }
    }

    /// Sets what is done once when the heartbeat is removed or stopped.
    #[must_use]
    pub fn on_shutdown<F, O>(self, shutdown: F) -> Self
    where
        F: Fn() -> O + Send + Sync + 'static,
        O: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self { shutdown: Some(Arc::new(move || shutdown().boxed())), ..self }
    }

    /// Makes the heartbeat wait for its interval before it runs for the first time.
    #[must_use]
    pub fn after_interval(self) -> Self {
        Self { immediate: false, ..self }
    }
}

impl fmt::Debug for HeartbeatHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeartbeatHandler")
            .field("id", &self.id)
            .field("interval", &self.interval)
            .field("immediate", &self.immediate)
            .finish_non_exhaustive()
    }
}

struct Running {
    task: JoinHandle<()>,
    shutdown: Option<Work>,
}

/// The running heartbeats of a harness.
#[derive(Default)]
pub(crate) struct Heartbeats(Mutex<BTreeMap<String, Running>>);

impl Heartbeats {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a heartbeat. Returns false if there is one of this id.
    pub(crate) fn start(&self, handler: &HeartbeatHandler) -> bool {
        let mut running = self.lock();
        if running.contains_key(&handler.id) {
            return false;
        }
        let task = tokio::spawn(beat(handler.clone()));
        running.insert(handler.id.clone(), Running { task, shutdown: handler.shutdown.clone() });
        true
    }

    /// Stops a heartbeat. Returns false if there is none of this id.
    pub(crate) async fn stop(&self, id: &str) -> bool {
        let stopped = self.lock().remove(id);
        match stopped {
            Some(running) => {
                end(id, running).await;
                true
            }
            None => false,
        }
    }

    /// Stops all heartbeats.
    pub(crate) async fn stop_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        for (id, running) in all {
            end(&id, running).await;
        }
    }
}

impl Drop for Heartbeats {
    fn drop(&mut self) {
        self.lock().values().for_each(|running| running.task.abort());
    }
}

async fn end(id: &str, Running { task, shutdown }: Running) {
    task.abort();
    // The beat that was running has ended before the shutdown begins.
    let _ = task.await;
    if let Some(shutdown) = shutdown {
        report(id, shutdown().catch_unwind_safe().await);
    }
}

async fn beat(HeartbeatHandler { id, interval, immediate, work, .. }: HeartbeatHandler) {
    let interval = interval.max(Duration::from_millis(1));
    let first = tokio::time::Instant::now() + if immediate { Duration::ZERO } else { interval };
    let mut ticks = tokio::time::interval_at(first, interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        report(&id, work().catch_unwind_safe().await);
    }
}

fn report(id: &str, result: Result<(), String>) {
    if let Err(error) = result {
        tracing::warn!(heartbeat = id, error, "a heartbeat failed");
    }
}

trait CatchUnwindSafe {
    /// Turns a panic into an error.
    fn catch_unwind_safe(self) -> impl Future<Output = Result<(), String>> + Send;
}

impl CatchUnwindSafe for BoxFuture<'static, Result<(), String>> {
    async fn catch_unwind_safe(self) -> Result<(), String> {
        let caught = std::panic::AssertUnwindSafe(self).catch_unwind().await;
        caught.unwrap_or_else(|_| Err("the handler panicked".into()))
    }
}
