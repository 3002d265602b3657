//! Agents as models. In the only org of a caller their names are slugs, elsewhere `ORG/SLUG`.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use ostler_api::completion::{CompletionModel, CompletionModels};
use ostler_api::problem::ProblemCode;
use ostler_domain::agent::Agent;
use ostler_domain::id::OrgId;
use ostler_domain::org::Org;
use ostler_runtime::operations::OperationError;

use super::error::ChatError;
use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::orgs::find_org;
use crate::server::Server;

pub(super) async fn list(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<CompletionModels>> {
    let mut data = Vec::new();
    for id in caller.orgs() {
        let org = server.deps.store.org(id).org().await?;
        let operations = server.deps.operations.as_actor(caller.actor(), id);
        for agent in operations.answering_agents().await? {
            let name = match caller.only_org() {
                Some(_) => agent.slug.clone(),
                None => format!("{}/{}", org.slug, agent.slug),
            };
            data.push(model(name, &org, &agent));
        }
    }
    Ok(Json(CompletionModels { object: "list".to_owned(), data }))
}

pub(super) async fn show(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Result<Json<CompletionModel>> {
    let missing = || ApiError::not_found("agent");
    let found = find(&server, &caller, &name).await;
    let (id, slug) = found.map_err(|_| missing())?;
    let org = server.deps.store.org(id).org().await?;
    let operations = server.deps.operations.as_actor(caller.actor(), id);
    let agents = operations.answering_agents().await?;
    let agent = agents.iter().find(|one| one.slug == slug).ok_or_else(missing)?;
    Ok(Json(model(name, &org, agent)))
}

fn model(id: String, org: &Org, agent: &Agent) -> CompletionModel {
    CompletionModel {
        id,
        object: "model".to_owned(),
        created: agent.created_at.as_millis() / 1000,
        owned_by: org.slug.clone(),
        name: agent.display_name.clone(),
    }
}

/// Returns the org and the slug of the agent that a name means. An agent of an org that the
/// caller may not see does not exist.
pub(super) async fn find(
    server: &Server,
    caller: &Caller,
    name: &str,
) -> std::result::Result<(OrgId, String), ChatError> {
    let (org, agent) = match name.split_once('/') {
        Some((org, agent)) => (find_org(server, org).await, agent),
        None => {
            let detail = "you are in several organizations; name the agent as `ORG/SLUG`";
            let only = caller.only_org();
            let only = only.ok_or_else(|| ApiError::new(ProblemCode::Invalid, detail));
            (only, name)
        }
    };
    let org = match org {
        Err(error) if error.0.code == ProblemCode::NotFound => {
            return Err(ChatError::no_model(name));
        }
        other => other?,
    };
    let operations = server.deps.operations.as_actor(caller.actor(), org);
    let agents = match operations.answering_agents().await {
        Err(OperationError::Forbidden { .. }) if !caller.is_of(org) => {
            return Err(ChatError::no_model(name));
        }
        other => other.map_err(ApiError::from)?,
    };
    let named = |one: &&Agent| one.slug == agent || one.id.to_string() == agent;
    let found = agents.iter().find(named).ok_or_else(|| ChatError::no_model(name))?;
    Ok((org, found.slug.clone()))
}
