//! Routes for messages to teams of agents on queues.

use std::time::Duration;

use axum::Json;
use ostler_api::problem::ProblemCode;
use ostler_api::team_message::{
    MAX_ANSWER_WAIT_MS, SentBroadcast, TeamAnswer, TeamAnswers, TeamBroadcast, TeamQuestion,
    UnreachedAgent,
};
use ostler_domain::org::permission::OrgPermission::Operate;
use ostler_domain::queue_agent::name::AgentName;
use ostler_runtime::operations::{MessageToTeam, TeamAudience};
use serde_json::json;

use super::teams::existing;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::orgs::{OrgRequest, PathId};
use crate::route::{Route, post};

/// The type of a message unless the request says otherwise.
const DEFAULT_TYPE: &str = "say";
/// How long answers are waited for unless the request says otherwise.
const DEFAULT_WAIT_MS: u64 = 30_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        post(
            Operate,
            "/queue-teams/{team}/questions",
            "askQueueTeam",
            "Ask the leader of a team, or all members at the same time, and wait for the answers",
            ask,
        )
        .example(json!({"text": "May we ship this?", "council": true, "timeout_ms": 1000})),
        post(
            Operate,
            "/queue-teams/{team}/messages",
            "broadcastToQueueTeam",
            "Send a message to every member of a team",
            broadcast,
        )
        .example(json!({"text": "We ship at noon", "type": "notice"})),
    ]
}

async fn ask(
    request: OrgRequest,
    PathId(team): PathId,
    JsonBody(body): JsonBody<TeamQuestion>,
) -> Result<Json<TeamAnswers>> {
    let TeamQuestion { text, kind, council, quorum, timeout_ms } = body;
    let message = message(text, kind.as_deref())?;
    let timeout_ms = timeout_ms.unwrap_or(DEFAULT_WAIT_MS);
    if !(1..=MAX_ANSWER_WAIT_MS).contains(&timeout_ms) {
        let detail = format!("answers are waited for up to {} s", MAX_ANSWER_WAIT_MS / 1000);
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    let quorum = quorum.map(|quorum| usize::try_from(quorum).unwrap_or(usize::MAX));
    let audience = if council { TeamAudience::Council { quorum } } else { TeamAudience::Leader };
    let (team, agents) = existing(&request, &team).await?;
    let timeout = Duration::from_millis(timeout_ms);
    let asked = request.operations().ask_team(&agents, &team, message, audience, timeout).await;
    let asked = request.hide_foreign_org(asked)?;
    let answers = asked.answers.into_iter().map(|answer| TeamAnswer {
        agent: answer.agent,
        kind: answer.kind.to_string(),
        payload: answer.payload,
    });
    Ok(Json(TeamAnswers {
        reference: asked.reference,
        asked: asked.asked as u64,
        millis: u64::try_from(asked.took.as_millis()).unwrap_or(u64::MAX),
        answers: answers.collect(),
        missing: asked.missing.into_iter().map(unreached).collect(),
    }))
}

async fn broadcast(
    request: OrgRequest,
    PathId(team): PathId,
    JsonBody(TeamBroadcast { text, kind }): JsonBody<TeamBroadcast>,
) -> Result<Json<SentBroadcast>> {
    let message = message(text, kind.as_deref())?;
    let (team, agents) = existing(&request, &team).await?;
    let sent = request.operations().broadcast_to_team(&agents, &team, message).await;
    let sent = request.hide_foreign_org(sent)?;
    Ok(Json(SentBroadcast {
        message: sent.message,
        reference: sent.reference,
        told: (sent.members - sent.missed.len()) as u64,
        missed: sent.missed.into_iter().map(unreached).collect(),
    }))
}

fn message(text: String, kind: Option<&str>) -> Result<MessageToTeam> {
    let invalid = |why: String| ApiError::new(ProblemCode::Invalid, why);
    if text.trim().is_empty() {
        return Err(invalid("`text` must not be empty".to_owned()));
    }
    let kind = kind.unwrap_or(DEFAULT_TYPE);
    let kind = kind.parse().map_err(|error| invalid(format!("`type`: {error}")))?;
    Ok(MessageToTeam { kind, text })
}

fn unreached((agent, why): (AgentName, String)) -> UnreachedAgent {
    UnreachedAgent { agent, why }
}
