//! Claims of many workers, made together.

use ostler_store::{
    Answers, Beginning, ClaimPolicy, Claimed, GiveBack, Store, StoreError, Together,
};

/// A conversation, and what its turn begins with.
type Begun = (Claimed, Beginning);
type Answer = Result<Option<Begun>, StoreError>;

/// Claims conversations. Cheap to clone.
#[derive(Clone)]
pub(super) struct Claims(Together<Look>);

impl Claims {
    pub(super) fn new(store: Store, policy: ClaimPolicy) -> Self {
        Self(Together::new(Look { store, policy }))
    }

    /// The next conversation in which something waits, if there is one.
    pub(super) async fn next(&self) -> Answer {
        let stopped = || StoreError::Unavailable("the program is stopping".into());
        self.0.ask(()).await.unwrap_or_else(|| Err(stopped()))
    }
}

/// A look through the database, for all who want a conversation.
struct Look {
    store: Store,
    policy: ClaimPolicy,
}

impl Answers for Look {
    type Question = ();
    type Answer = Answer;
    const MOST: usize = 64;

    async fn answer_all(&self, workers: Vec<()>) -> Vec<Answer> {
        match self.store.claim_and_begin(self.policy, workers.len()).await {
            Ok(begun) => {
                let mut begun = begun.into_iter();
                workers.iter().map(|()| Ok(begun.next())).collect()
            }
            Err(error) => {
                let why = error.to_string();
                workers.iter().map(|()| Err(StoreError::Unavailable(why.clone()))).collect()
            }
        }
    }

    async fn unwanted(&self, answer: Answer) {
        let Ok(Some((claimed, _))) = answer else { return };
        if let Err(error) = self.store.release_lease(claimed.lease, GiveBack::Untried).await {
            tracing::warn!(%error, "a conversation could not be given back; its lease will end");
        }
    }
}
