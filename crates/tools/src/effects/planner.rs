//! The planner that turns the effects of a turn into changes for its commit.

use futures_util::future::{BoxFuture, FutureExt};
use ostler_domain::id::OrgId;
use ostler_engine::outcome::ToolEffect;
use ostler_store::{RecordChange, Store, StoreError};

use super::{EffectError, KIND, StoreEffect, plan};

/// Returns a function that plans the store effects of a turn and ignores effects of
/// other kinds. It fails with [`StoreError::StaleChanges`] if the records have changed
/// in a way that rules an effect out.
pub fn effect_planner(
    store: Store,
) -> impl Fn(OrgId, Vec<ToolEffect>) -> BoxFuture<'static, Result<Vec<RecordChange>, StoreError>> {
    move |org, effects| {
        let store = store.clone();
        async move {
            let store_effects = effects.iter().filter(|effect| effect.kind == KIND);
            let planned = store_effects.map(StoreEffect::try_from).collect::<Result<Vec<_>, _>>();
            let planned = planned.map_err(|error| StoreError::Conflict(error.to_string()))?;
            plan(&store.org(org), &planned).await.map_err(as_store_error)
        }
        .boxed()
    }
}

fn as_store_error(error: EffectError) -> StoreError {
    match error {
        EffectError::Store(error @ (StoreError::Conflict(_) | StoreError::NotFound(_))) => {
            StoreError::StaleChanges(error.into())
        }
        EffectError::Store(error) => error,
        other => StoreError::StaleChanges(StoreError::Conflict(other.to_string()).into()),
    }
}
