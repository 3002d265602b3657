//! Routes for runs: how messages were answered, and what agents may call.

use axum::Json;
use ostler_api::page::Page;
use ostler_api::run::{
    ExplainedTool, MissingTool, ReplayPlan, ReplayRequest, RunDetail, RunHarness, RunReplay,
    RunStep, StoredRun, ToolExplanation, TurnHarness,
};
use ostler_domain::gate::{DenyReason, GateDecision};
use ostler_domain::id::{RunId, SessionId};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_domain::scope::ScopedTool;
use ostler_runtime::operations::explain::SessionScope;
use ostler_runtime::operations::{DecidedCall, OperationError, ReplayChange};
use ostler_store::StoreError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{OrgRequest, PathId};
use crate::body::{JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use crate::transcript::decision_rule;
use crate::wire;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/runs",
            "findRuns",
            "Find a run by its id, or recent runs by the end of their ids",
            find,
        ),
        get(View, "/runs/{run}", "getRun", "Show a run with its steps and decisions", show),
        get(
            View,
            "/runs/{run}/harness",
            "getRunHarness",
            "Show the harness of each turn of a run",
            harness,
        ),
        get(
            View,
            "/runs/{run}/record",
            "getRunRecord",
            "Show the whole record of a run, with the souls that its agents used",
            record,
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
        .example(json!({"policy": {"allow": [], "deny": ["refund_payment"]}}))
        .waits_for_answer(),
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

#[derive(Deserialize, JsonSchema)]
pub(crate) struct RunsQuery {
    /// The id of a run, or its end.
    id: String,
}

/// Finds runs without a refusal where there are none, because clients look in several orgs.
async fn find(
    request: OrgRequest,
    QueryParams(RunsQuery { id }): QueryParams<RunsQuery>,
) -> Result<Json<Page<RunId>>> {
    let operations = request.operations();
    let items = match id.parse() {
        Ok(id) => match operations.run_with_souls(id).await {
            Err(OperationError::Store(StoreError::NotFound(_))) => Vec::new(),
            found => request.hide_foreign_org(found).map(|_| vec![id])?,
        },
        Err(_) => {
            let end = id.rsplit('…').next().unwrap_or(&id);
            let mut recent = request.hide_foreign_org(operations.recent_runs().await)?;
            recent.retain(|run| end.len() >= 2 && run.to_string().ends_with(end));
            recent
        }
    };
    Ok(Json(Page { items, next: None }))
}

async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<RunDetail>> {
    let id = request.run_id(&id).await?;
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
    let id = request.run_id(&id).await?;
    let (run, _) = request.hide_foreign_org(request.operations().run(id).await)?;
    let turns = run.turns.iter().map(|turn| TurnHarness {
        agent: turn.agent,
        harness: serde_json::to_value(&turn.harness).unwrap_or_default(),
    });
    Ok(Json(RunHarness { run: id, turns: turns.collect() }))
}

async fn record(request: OrgRequest, PathId(id): PathId) -> Result<Json<StoredRun>> {
    let id = request.run_id(&id).await?;
    let found = request.hide_foreign_org(request.operations().run_with_souls(id).await)?;
    let (run, souls) = found;
    Ok(Json(StoredRun { record: json!(run), souls }))
}

impl OrgRequest {
    /// Returns the run that a path names.
    async fn run_id(&self, text: &str) -> Result<RunId> {
        super::find_id(text, "run", async {
            self.hide_foreign_org(self.operations().recent_runs().await)
        })
        .await
    }
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
    let id = request.run_id(&id).await?;
    let change = ReplayChange { model: query.model, policy: None };
    let plan = request.operations().plan_replay(id, &change).await;
    Ok(Json(wire::replay_plan(&request.hide_foreign_org(plan)?)))
}

async fn replay(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(wanted): JsonBody<ReplayRequest>,
) -> Result<Json<RunReplay>> {
    let id = request.run_id(&id).await?;
    let change = ReplayChange { model: wanted.model, policy: wanted.policy };
    let replayed = request.operations().replay_run(id, &change).await;
    Ok(Json(wire::replay(request.hide_foreign_org(replayed)?)))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AgentToolsQuery {
    /// Also finds the setting behind each decision, and who set it.
    #[serde(default)]
    settings: bool,
}

async fn agent_tools(
    request: OrgRequest,
    PathId(agent): PathId,
    QueryParams(query): QueryParams<AgentToolsQuery>,
) -> Result<Json<ToolExplanation>> {
    let scope = request.of_named_agent(request.operations().agent_tools(&agent).await)?;
    Ok(Json(request.explanation(&scope, None, query.settings).await?))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SessionToolsQuery {
    /// The agent that answers, unless another is named by id, slug or subtype.
    agent: Option<String>,
    /// Also finds the setting behind each decision, and who set it.
    #[serde(default)]
    settings: bool,
}

async fn session_tools(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(query): QueryParams<SessionToolsQuery>,
) -> Result<Json<ToolExplanation>> {
    let id = request.session_id(&id).await?;
    let scope = request.operations().session_tools(id, query.agent.as_deref()).await;
    let scope = request.hide_foreign_org(scope)?;
    Ok(Json(request.explanation(&scope, Some(id), query.settings).await?))
}

impl OrgRequest {
    async fn explanation(
        &self,
        scope: &SessionScope,
        session: Option<SessionId>,
        with_settings: bool,
    ) -> Result<ToolExplanation> {
        let position = scope.agent.position.facing(scope.session.audience());
        let mut tools: Vec<ExplainedTool> =
            scope.scope.tools().iter().map(|tool| explained(scope, tool)).collect();
        if with_settings {
            let mut sources = self.hide_foreign_org(self.operations().rule_sources().await)?;
            for tool in &mut tools {
                let call = DecidedCall {
                    agent: &scope.agent.agent,
                    tool: &tool.name,
                    decision: &tool.verdict,
                    arguments: &Value::Null,
                    approval: None,
                    at: None,
                };
                let rule = self.hide_foreign_org(sources.find(&call).await)?;
                tool.setting = decision_rule(rule).setting;
            }
        }
        let unavailable = scope.unavailable.iter();
        Ok(ToolExplanation {
            agent: scope.agent.agent.id,
            agent_name: scope.agent.agent.display_name.clone(),
            business_layer: position.business_layer,
            guarded_as_business_layer: position.guardrail_layer,
            session,
            tools,
            unavailable: unavailable
                .map(|one| MissingTool { name: one.name.clone(), reason: one.reason.clone() })
                .collect(),
        })
    }
}

fn explained(scope: &SessionScope, tool: &ScopedTool) -> ExplainedTool {
    let name = tool.spec.name.to_string();
    let verdict = match &tool.removed {
        Some(removal) => GateDecision::Deny(DenyReason::OutOfScope(removal.clone())),
        None => scope.verdict(&name),
    };
    ExplainedTool {
        risk: tool.spec.risk.name().to_owned(),
        in_scope: tool.removed.is_none(),
        decision: wire::decision(&verdict).to_owned(),
        why: tool.removed.as_ref().map_or_else(|| verdict.to_string(), ToString::to_string),
        spec: tool.spec.clone(),
        removal: tool.removed.clone(),
        setting: None,
        verdict,
        name,
    }
}
