//! What effects of tools on the store come to, for whoever commits a turn.

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::id::OrgId;
use ostler_engine::outcome::Effect;
use ostler_store::{Change, Store, StoreError};

use crate::effects::{EffectError, KIND, StoreEffect, plan};

/// Works out the changes that effects come to at this moment. Effects of other
/// kinds are left out; what others were faster with is outdated.
pub fn planner(
    store: Store,
) -> impl Fn(OrgId, Vec<Effect>) -> BoxFuture<'static, Result<Vec<Change>, StoreError>> {
    move |org, effects| {
        let store = store.clone();
        async move {
            let ours = effects.iter().filter(|effect| effect.kind == KIND);
            let ours = ours.map(StoreEffect::try_from).collect::<Result<Vec<_>, _>>();
            let ours = ours.map_err(|error| StoreError::Conflict(error.to_string()))?;
            plan(&store.org(org), &ours).await.map_err(as_store_error)
        }
        .boxed()
    }
}

fn as_store_error(error: EffectError) -> StoreError {
    match error {
        EffectError::Store(error @ (StoreError::Conflict(_) | StoreError::NotFound(_))) => {
            StoreError::Outdated(error.into())
        }
        EffectError::Store(error) => error,
        other => StoreError::Outdated(StoreError::Conflict(other.to_string()).into()),
    }
}
