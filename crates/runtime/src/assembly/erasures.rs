//! What a process remembers of conversations is forgotten after an erasure in any process, and
//! what was not used for long by itself.

use std::time::Duration;

use ostler_domain::time::Timestamp;
use ostler_store::{Store, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;

use super::services::Services;

/// How often a process looks for erasures.
pub const ERASURE_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How long a thread that is not used is remembered, at most twice as long.
const UNUSED_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Notices erasures, of this process and of others.
#[derive(Debug)]
pub struct ErasureWatch {
    store: Store,
    /// Unset until the first look.
    last: Option<Option<Timestamp>>,
}

impl ErasureWatch {
    /// Creates a watch that notices what ends from its first look on.
    pub const fn new(store: Store) -> Self {
        Self { store, last: None }
    }

    /// Returns whether an erasure has ended since the last call.
    pub async fn has_news(&mut self) -> Result<bool, StoreError> {
        let found = self.store.last_erasure().await?;
        let known = self.last.replace(found);
        Ok(known.is_some_and(|known| known != found))
    }
}

/// Forgets what may name people who are deleted, until stopped.
pub(crate) async fn forget_erased(services: &Services, mut stop: watch::Receiver<bool>) {
    let mut erasures = ErasureWatch::new(services.deps.store.clone());
    let mut next_rotation = Instant::now() + UNUSED_TIMEOUT;
    while !*stop.borrow() {
        match erasures.has_news().await {
            Ok(true) => services.thread_cache.clear(),
            Ok(false) => {}
            // What cannot be looked up may have happened. The worker logs the outage.
            Err(error) => {
                tracing::debug!(%error, "erasures not read, cached messages are forgotten");
                services.thread_cache.clear();
            }
        }
        if Instant::now() >= next_rotation {
            services.thread_cache.forget_unused();
            next_rotation = Instant::now() + UNUSED_TIMEOUT;
        }
        tokio::select! {
            () = tokio::time::sleep(ERASURE_POLL_INTERVAL) => {}
            changed = stop.changed() => if changed.is_err() { return },
        }
    }
}
