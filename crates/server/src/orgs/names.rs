//! Names of agents and people, by the ids in other responses.

use axum::Json;
use ostler_api::names::{ActorNames, NamedAgent, NamedPerson};
use ostler_domain::org::permission::OrgPermission::View;

use super::OrgRequest;
use crate::error::Result;
use crate::route::{Route, get};

pub(crate) fn routes() -> Vec<Route> {
    vec![get(View, "/names", "listNames", "List the names of agents and people, by id", list)]
}

async fn list(request: OrgRequest) -> Result<Json<ActorNames>> {
    let found = request.hide_foreign_org(request.operations().actor_names().await)?;
    let agents = found.agents.into_iter().map(|(id, name)| NamedAgent { id, name });
    let people = found.people.into_iter().map(|(id, name)| NamedPerson { id, name });
    Ok(Json(ActorNames { agents: agents.collect(), people: people.collect() }))
}
