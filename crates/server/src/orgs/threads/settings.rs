//! Mode, model, state, permissions, tasks and memory of a thread.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::problem::ProblemCode;
use ostler_api::thread::{
    ModeChange, ModelChange, ModelChangeScope, PermissionChange, ThreadChoices, ThreadGrants,
    ThreadPermissions, ThreadState,
};
use ostler_harness::memory::OmStatus;
use ostler_harness::{Harness, ModelScope, TaskItem};
use ostler_runtime::operations::ThreadAccess;
use serde::Serialize;
use serde_json::Value;

use super::super::tagged::{IfMatch, Versioned};
use super::super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, get, patch, put};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use serde_json::json;

pub(super) fn routes() -> Vec<Route> {
    vec![
        put(Operate, "/threads/{thread}/mode", "setThreadMode", "Change the mode", set_mode)
            .example(json!({"modeId": "plan"})),
        put(Operate, "/threads/{thread}/model", "setThreadModel", "Change the model", set_model)
            .example(json!({"modelId": "gpt-5", "scope": "thread"})),
        get(
            View,
            "/threads/{thread}/state",
            "getThreadState",
            "Show the state, which the caller's threads share",
            state,
        ),
        patch(
            Operate,
            "/threads/{thread}/state",
            "changeThreadState",
            "Change fields of the state",
            change_state,
        )
        .example(json!({"language": "it"})),
        get(
            View,
            "/threads/{thread}/permissions",
            "getThreadPermissions",
            "Show stored rules and grants",
            permissions,
        ),
        patch(
            Operate,
            "/threads/{thread}/permissions",
            "changeThreadPermissions",
            "Replace stored rules, and add grants until the thread is closed",
            change_permissions,
        )
        .example(json!({"grants": {"categories": ["read"]}})),
        get(
            View,
            "/thread-choices",
            "getThreadChoices",
            "List the modes and models that threads can use",
            choices,
        ),
        get(View, "/threads/{thread}/tasks", "listThreadTasks", "Show the task list", tasks),
        get(
            View,
            "/threads/{thread}/memory",
            "getThreadMemory",
            "Show the state of the memory",
            memory,
        ),
    ]
}

/// Largest state, as JSON.
const MAX_STATE: usize = 64 * 1024;

pub(crate) async fn set_mode(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(ModeChange { mode_id }): JsonBody<ModeChange>,
) -> Result<StatusCode> {
    let (_, _, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    live.harness.switch_mode(&mode_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn set_model(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(ModelChange { model_id, scope }): JsonBody<ModelChange>,
) -> Result<StatusCode> {
    let scope = match scope {
        ModelChangeScope::Thread => ModelScope::Thread,
        ModelChangeScope::Mode => ModelScope::Mode,
    };
    let (_, _, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    live.harness.switch_model(&model_id, scope).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn state(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Versioned<ThreadState>> {
    let (_, _, live) = request.open_thread(ThreadAccess::Read, &id).await?;
    Ok(versioned(live.harness.state_json()))
}

/// Returns a value whose version is the whole of it.
fn versioned<T: Serialize>(value: T) -> Versioned<T> {
    Versioned { basis: json!(value), value }
}

/// Changes fields of the state, which all threads of the caller share.
pub(crate) async fn change_state(
    request: OrgRequest,
    PathId(id): PathId,
    based_on: IfMatch,
    JsonBody(changes): JsonBody<ThreadState>,
) -> Result<Versioned<ThreadState>> {
    let (owner, _, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    let _turn = based_on.turn(&request.server).await;
    based_on.check(&json!(live.harness.state_json()))?;
    let mut after = live.harness.state_json();
    after.extend(changes.clone());
    if serde_json::to_string(&after).is_ok_and(|text| text.len() > MAX_STATE) {
        let detail = format!("the state has at most {MAX_STATE} bytes");
        return Err(ApiError::new(ProblemCode::TooLarge, detail));
    }
    let changes = Value::Object(changes);
    live.harness.set_state(changes.clone()).await?;
    for other in request.server.threads.live_of(&owner).await {
        if other.generation != live.generation {
            other.harness.set_state(shared(&changes)).await?;
        }
    }
    Ok(versioned(live.harness.state_json()))
}

/// Returns the changes that concern all threads: tasks and model belong to one.
fn shared(changes: &Value) -> Value {
    let mut changes = changes.clone();
    if let Some(fields) = changes.as_object_mut() {
        fields.remove("tasks");
        fields.remove("currentModelId");
    }
    changes
}

pub(crate) async fn permissions(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Versioned<ThreadPermissions>> {
    let (_, _, live) = request.open_thread(ThreadAccess::Read, &id).await?;
    Ok(versioned(permissions_of(&live.harness)))
}

/// Replaces the stored rules, which hold for all threads of the caller, and adds grants.
pub(crate) async fn change_permissions(
    request: OrgRequest,
    PathId(id): PathId,
    based_on: IfMatch,
    JsonBody(change): JsonBody<PermissionChange>,
) -> Result<Versioned<ThreadPermissions>> {
    let (owner, _, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    let _turn = based_on.turn(&request.server).await;
    based_on.check(&json!(permissions_of(&live.harness)))?;
    if let Some(rules) = change.rules {
        live.harness.set_permission_rules(rules.clone()).await?;
        for other in request.server.threads.live_of(&owner).await {
            other.harness.set_permission_rules(rules.clone()).await?;
        }
    }
    let ThreadGrants { tools, categories } = change.grants.unwrap_or_default();
    tools.into_iter().for_each(|tool| live.harness.grant_session_tool(tool));
    categories.into_iter().for_each(|category| live.harness.grant_session_category(category));
    Ok(versioned(permissions_of(&live.harness)))
}

fn permissions_of(harness: &Harness) -> ThreadPermissions {
    let grants = harness.session_grants();
    ThreadPermissions {
        rules: harness.permission_rules(),
        grants: ThreadGrants {
            tools: grants.tools.into_iter().collect(),
            categories: grants.categories.into_iter().collect(),
        },
    }
}

pub(crate) async fn tasks(request: OrgRequest, PathId(id): PathId) -> Result<Json<Vec<TaskItem>>> {
    let (_, _, live) = request.open_thread(ThreadAccess::Read, &id).await?;
    Ok(Json(live.harness.tasks()))
}

/// Returns the modes and models that threads can have.
pub(crate) async fn choices(request: OrgRequest) -> Result<Json<ThreadChoices>> {
    request.thread_owner(ThreadAccess::Read).await?;
    Ok(Json((request.server.deps.threads.choices)()))
}

/// Returns what the event `om_status` has.
pub(crate) async fn memory(request: OrgRequest, PathId(id): PathId) -> Result<Json<OmStatus>> {
    let (_, _, live) = request.open_thread(ThreadAccess::Read, &id).await?;
    let status = live.harness.memory_status().await;
    let status = status.ok_or_else(|| {
        ApiError::new(ProblemCode::NotNow, "threads have no memory in this installation")
    })?;
    Ok(Json(status))
}
