//! Claims of many workers, made together: while one look through the database is
//! under way, whoever else wants a conversation waits for the next, and that one
//! is for all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ostler_store::{Beginning, ClaimPolicy, Claimed, GiveBack, Store, StoreError};
use tokio::sync::oneshot;

/// A conversation, and what its turn begins with.
type Begun = (Claimed, Beginning);
type Answer = Result<Option<Begun>, StoreError>;

/// The most conversations of one look.
const MOST: usize = 64;

/// Claims conversations. Cheap to clone.
#[derive(Clone)]
pub(super) struct Claims(Arc<Inner>);

struct Inner {
    store: Store,
    policy: ClaimPolicy,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// Whether somebody looks and will answer them.
    looking: bool,
    workers: Vec<oneshot::Sender<Answer>>,
}

impl Claims {
    pub(super) fn new(store: Store, policy: ClaimPolicy) -> Self {
        Self(Arc::new(Inner { store, policy, waiting: Mutex::default() }))
    }

    /// The next conversation in which something waits, if there is one.
    pub(super) async fn next(&self) -> Answer {
        let (answer, answered) = oneshot::channel();
        let looking = {
            let mut waiting = self.0.lock();
            waiting.workers.push(answer);
            std::mem::replace(&mut waiting.looking, true)
        };
        if !looking {
            // In a task of its own: a worker may be stopped at any time, and
            // others wait for this, too.
            let inner = self.0.clone();
            tokio::spawn(async move { while inner.look().await {} });
        }
        let stopped = || StoreError::Unavailable("the program is stopping".into());
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks once, for all who wait; says whether there was anybody.
    async fn look(&self) -> bool {
        let workers: Vec<_> = {
            let mut waiting = self.lock();
            let some = waiting.workers.len().min(MOST);
            waiting.looking = some > 0;
            waiting.workers.drain(..some).collect()
        };
        if workers.is_empty() {
            return false;
        }
        match self.store.claim_and_begin(self.policy, workers.len()).await {
            Ok(begun) => self.hand_out(begun, workers).await,
            Err(error) => fail(&error, workers),
        }
        true
    }

    async fn hand_out(&self, begun: Vec<Begun>, workers: Vec<oneshot::Sender<Answer>>) {
        let mut begun = begun.into_iter();
        let mut unwanted = Vec::new();
        for worker in workers {
            if let Err(Ok(Some((claimed, _)))) = worker.send(Ok(begun.next())) {
                unwanted.push(claimed.lease);
            }
        }
        for lease in unwanted {
            if let Err(error) = self.store.release_lease(lease, GiveBack::Untried).await {
                tracing::warn!(%error, "a conversation could not be given back; its lease will end");
            }
        }
    }
}

/// Tells everybody that it failed.
fn fail(error: &StoreError, workers: Vec<oneshot::Sender<Answer>>) {
    for worker in workers {
        // Whoever does not wait any more need not know.
        let _ = worker.send(Err(StoreError::Unavailable(error.to_string())));
    }
}
