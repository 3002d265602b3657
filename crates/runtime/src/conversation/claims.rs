//! Claims conversations for many workers with one query.

use ostler_store::{
    BatchHandler, Batcher, ClaimPolicy, ClaimedConversation, ReleaseReason, Store, StoreError,
    TurnStart,
};

type ClaimResult = Result<Option<(ClaimedConversation, TurnStart)>, StoreError>;

/// Claims conversations. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ClaimBatcher(Batcher<ClaimHandler>);

impl ClaimBatcher {
    pub(crate) fn new(store: Store, policy: ClaimPolicy) -> Self {
        Self(Batcher::new(ClaimHandler { store, policy }))
    }

    /// Claims the next conversation with pending entries, if there is one.
    pub(crate) async fn next(&self) -> ClaimResult {
        let stopped = || StoreError::Unavailable("the program is stopping".into());
        self.0.submit(()).await.unwrap_or_else(|| Err(stopped()))
    }
}

struct ClaimHandler {
    store: Store,
    policy: ClaimPolicy,
}

impl BatchHandler for ClaimHandler {
    type Request = ();
    type Response = ClaimResult;
    const MAX_BATCH: usize = 64;

    async fn handle_batch(&self, workers: Vec<()>) -> Vec<ClaimResult> {
        match self.store.claim_turns(self.policy, workers.len()).await {
            Ok(claimed) => {
                let mut claimed = claimed.into_iter();
                workers.iter().map(|()| Ok(claimed.next())).collect()
            }
            Err(error) => {
                let why = error.to_string();
                workers.iter().map(|()| Err(StoreError::Unavailable(why.clone()))).collect()
            }
        }
    }

    /// Releases a conversation whose worker does not wait for it any more.
    async fn discard(&self, response: ClaimResult) {
        let Ok(Some((claimed, _))) = response else { return };
        if let Err(error) = self.store.release_lease(claimed.lease, ReleaseReason::Untried).await {
            tracing::warn!(%error, "lease not released, it will expire");
        }
    }
}
