//! Checks that every active agent has a model that can answer.

use ostler_store::{HealthCheck, Store};

use super::{failed, join_problems, ok, warning};
use crate::installation::Installation;
use crate::{agent_models, model_catalogue};

const NAME: &str = "models";

pub(super) async fn check(
    installation: &Installation,
    store: &Store,
) -> anyhow::Result<HealthCheck> {
    let catalogue = match model_catalogue::build(installation) {
        Ok(catalogue) => catalogue,
        Err(error) => return Ok(failed(NAME, format!("{error:#}."))),
    };
    let (without, with) = agent_models::find(store, &catalogue).await?;
    if without.is_empty() {
        let agents = match with {
            1 => "The one active agent has".to_owned(),
            _ => format!("All {with} active agents have"),
        };
        let message = format!("{agents} a model with its key; `ostler model test` tries one.");
        return Ok(ok(NAME, message));
    }
    Ok(warning(NAME, join_problems(&agent_models::describe(&without))))
}
