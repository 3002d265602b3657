//! Routes for runs: how messages were answered, and what agents may call.

use axum::Json;
use ostler_api::run::{
    ExplainedTool, MissingTool, ReplayPlan, ReplayRequest, RunDetail, RunHarness, RunReplay,
    RunStep, ToolExplanation, TurnHarness,
};
use ostler_domain::gate::{DenyReason, GateDecision};
use ostler_domain::id::{RunId, SessionId};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_domain::scope::ScopedTool;
use ostler_runtime::operations::ReplayChange;
use ostler_runtime::operations::explain::SessionScope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use crate::wire;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/runs/{run}", "getRun", "Show a run with its steps and decisions", show),
        get(
            View,
            "/runs/{run}/harness",
            "getRunHarness",
            "Show the harness of each turn of a run",
            harness,
        ),
        get(
            Operate,
            "/runs/{run}/replay",
            "planRunReplay",
            "Show what running a run again would cost",
            plan_replay,
        ),
        post(
            Operate,
            "/runs/{run}/replay",
            "replayRun",
            "Run a run again with recorded tool results and without effects, and compare",
            replay,
        )
        .example(json!({"policy": {"allow": [], "deny": ["refund_payment"]}})),
        get(
            View,
            "/agents/{agent}/tools",
            "explainAgentTools",
            "Explain why an agent has each tool or lacks it, in a new conversation",
            agent_tools,
        ),
        get(
            View,
            "/sessions/{session}/tools",
            "explainSessionTools",
            "Explain why an agent has each tool or lacks it, in the next turn of a session",
            session_tools,
        ),
    ]
}

async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<RunDetail>> {
    let id: RunId = body::parse_id(&id, "run")?;
    let (run, messages) = request.hide_foreign_org(request.operations().run(id).await)?;
    let steps = run.steps.iter().map(|step| RunStep {
        step: step.step.to_string(),
        name: step.name.to_string(),
        took_us: step.took_us,
    });
    Ok(Json(RunDetail {
        steps: steps.collect(),
        session: run.session,
        input: run.input.clone(),
        run: wire::run(&run, &messages),
    }))
}

async fn harness(request: OrgRequest, PathId(id): PathId) -> Result<Json<RunHarness>> {
    let id: RunId = body::parse_id(&id, "run")?;
    let (run, _) = request.hide_foreign_org(request.operations().run(id).await)?;
    let turns = run.turns.iter().map(|turn| TurnHarness {
        agent: turn.agent,
        harness: serde_json::to_value(&turn.harness).unwrap_or_default(),
    });
    Ok(Json(RunHarness { run: id, turns: turns.collect() }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReplayQuery {
    /// The model of all agents, instead of those of the run.
    model: Option<String>,
}

async fn plan_replay(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(query): QueryParams<ReplayQuery>,
) -> Result<Json<ReplayPlan>> {
    let id: RunId = body::parse_id(&id, "run")?;
    let change = ReplayChange { model: query.model, policy: None };
    let plan = request.operations().plan_replay(id, &change).await;
    Ok(Json(wire::replay_plan(&request.hide_foreign_org(plan)?)))
}

async fn replay(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(wanted): JsonBody<ReplayRequest>,
) -> Result<Json<RunReplay>> {
    let id: RunId = body::parse_id(&id, "run")?;
    let change = ReplayChange { model: wanted.model, policy: wanted.policy };
    let replayed = request.operations().replay_run(id, &change).await;
    Ok(Json(wire::replay(request.hide_foreign_org(replayed)?)))
}

async fn agent_tools(request: OrgRequest, PathId(agent): PathId) -> Result<Json<ToolExplanation>> {
    let scope = request.of_named_agent(request.operations().agent_tools(&agent).await)?;
    Ok(Json(explanation(&scope, None)))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SessionToolsQuery {
    /// The agent that answers, unless another is named by id, slug or subtype.
    agent: Option<String>,
}

async fn session_tools(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(query): QueryParams<SessionToolsQuery>,
) -> Result<Json<ToolExplanation>> {
    let id = request.session_id(&id).await?;
    let scope = request.operations().session_tools(id, query.agent.as_deref()).await;
    Ok(Json(explanation(&request.hide_foreign_org(scope)?, Some(id))))
}

fn explanation(scope: &SessionScope, session: Option<SessionId>) -> ToolExplanation {
    let unavailable = scope.unavailable.iter();
    ToolExplanation {
        agent: scope.agent.agent.id,
        session,
        tools: scope.scope.tools().iter().map(|tool| explained(scope, tool)).collect(),
        unavailable: unavailable
            .map(|one| MissingTool { name: one.name.clone(), reason: one.reason.clone() })
            .collect(),
    }
}

fn explained(scope: &SessionScope, tool: &ScopedTool) -> ExplainedTool {
    let name = tool.spec.name.to_string();
    let decision = match &tool.removed {
        Some(removal) => GateDecision::Deny(DenyReason::OutOfScope(removal.clone())),
        None => scope.verdict(&name),
    };
    ExplainedTool {
        risk: tool.spec.risk.name().to_owned(),
        in_scope: tool.removed.is_none(),
        decision: wire::decision(&decision).to_owned(),
        why: tool.removed.as_ref().map_or_else(|| decision.to_string(), ToString::to_string),
        name,
    }
}
