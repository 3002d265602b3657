//! Routes for teams of agents on queues.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::page::Page;
use ostler_api::queue_agent::{
    DissolvedTeam, NewQueueTeamRequest, QueueBacklog, TeamMemberRequest,
};
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_domain::queue_agent::name::TeamName;
use ostler_domain::queue_agent::team_lifecycle::Team;
use ostler_runtime::agents::AgentRuntime;
use ostler_runtime::operations::TeamRole;
use serde_json::json;

use super::records::parse_type;
use super::wire::parse_name;
use crate::body::JsonBody;
use crate::error::Result;
use crate::orgs::{OrgRequest, PathId, PathIds};
use crate::route::{Route, delete, get, post};

pub(super) fn routes() -> Vec<Route> {
    vec![
        get(View, "/queue-teams", "listQueueTeams", "List the teams of agents on queues", list),
        post(
            Configure,
            "/queue-teams",
            "createQueueTeam",
            "Create a team of agents; the first one leads it",
            create,
        )
        .example(json!({"name": "review", "members": ["legal", "style"]})),
        post(
            Configure,
            "/queue-teams/{team}/members",
            "addToQueueTeam",
            "Add an agent to a team, or make a member its leader",
            add,
        )
        .example(json!({"agent": "legal", "leader": true})),
        delete(
            Configure,
            "/queue-teams/{team}/members/{agent}",
            "removeFromQueueTeam",
            "Remove an agent from a team; it keeps running",
            remove,
        ),
        post(
            Configure,
            "/queue-teams/{team}/stop",
            "dissolveQueueTeam",
            "Dissolve a team and stop its agents",
            dissolve,
        ),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Page<Team>>> {
    let items = request.hide_foreign_org(request.operations().queue_teams().await)?;
    Ok(Json(Page { items, next: None }))
}

async fn create(
    request: OrgRequest,
    JsonBody(body): JsonBody<NewQueueTeamRequest>,
) -> Result<(StatusCode, Json<Team>)> {
    let NewQueueTeamRequest { name, members, register } = body;
    let (agents, register) = (request.connected_agents()?, register.map(parse_type));
    let created = request.operations().create_team(&agents, &name, members, register).await;
    Ok((StatusCode::CREATED, Json(request.hide_foreign_org(created)?)))
}

async fn add(
    request: OrgRequest,
    PathId(team): PathId,
    JsonBody(body): JsonBody<TeamMemberRequest>,
) -> Result<Json<Team>> {
    let (team, agents) = existing(&request, &team).await?;
    let role = if body.leader { TeamRole::Leader } else { TeamRole::Member };
    let changed = request.operations().add_to_team(&agents, &team, &body.agent, role).await;
    Ok(Json(request.hide_foreign_org(changed)?))
}

async fn remove(request: OrgRequest, PathIds(team, agent): PathIds) -> Result<Json<Team>> {
    let ((team, agents), agent) = (existing(&request, &team).await?, parse_name(&agent)?);
    let changed = request.operations().remove_from_team(&agents, &team, &agent).await;
    Ok(Json(request.hide_foreign_org(changed)?))
}

async fn dissolve(request: OrgRequest, PathId(team): PathId) -> Result<Json<DissolvedTeam>> {
    let (team, agents) = existing(&request, &team).await?;
    let dissolved = request.operations().dissolve_team(&agents, &team).await;
    let (team, waiting) = request.hide_foreign_org(dissolved)?;
    let waiting = waiting
        .into_iter()
        .map(|one| QueueBacklog { queue: one.queue.to_string(), waiting: one.waiting });
    Ok(Json(DissolvedTeam { team, waiting: waiting.collect() }))
}

/// Returns the name of a team that exists, and the agents on the bus.
pub(super) async fn existing(request: &OrgRequest, name: &str) -> Result<(TeamName, AgentRuntime)> {
    let name = parse_name(name)?;
    request.hide_foreign_org(request.operations().check_queue_team(&name).await)?;
    Ok((name, request.connected_agents()?))
}
