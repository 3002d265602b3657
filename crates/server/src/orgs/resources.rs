//! Routes for what world files describe: the org itself, its agents, channels, integrations,
//! HTTP tools and MCP servers. All are read, created and changed in the same way.

use std::borrow::Cow;
use std::marker::PhantomData;

use axum::http::StatusCode;
use ostler_api::page::Page;
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use ostler_domain::tool::org_tools::OrgToolKind;
use ostler_runtime::operations::definitions::{
    AgentDefinition, ChannelDefinition, HttpToolDefinition, IntegrationDefinition,
    McpServerDefinition, OrgDefinition, ScheduleResource, Spec, WorkflowResource,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use super::tagged::{IfMatch, Tagged};
use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::Result;
use crate::route::describe::schema_of;
use crate::route::{Route, delete, get, patch, post};

/// The names of a kind of resource in the API.
struct Names {
    /// Below the org, such as `/agents`.
    list: &'static str,
    /// One of them, such as `/agents/{agent}`.
    one: &'static str,
    /// The operations: list, show, create and change.
    ids: [&'static str; 4],
    summaries: [&'static str; 4],
}

pub(crate) fn org_routes() -> Vec<Route> {
    let schema = schema_of::<OrgDefinition>;
    vec![
        get(View, "", "getOrg", "Show every field of the organization", show_org).returns(schema),
        patch(
            Configure,
            "",
            "changeOrg",
            "Change fields by a JSON merge patch; licence fields need a platform admin",
            change_org,
        )
        .takes(schema_of::<Patch<OrgDefinition>>)
        .returns(schema)
        .example(json!({"time_zone": "Europe/Berlin"})),
    ]
}

pub(crate) fn agent_routes() -> Vec<Route> {
    let names = Names {
        list: "/agents",
        one: "/agents/{agent}",
        ids: ["listAgents", "getAgent", "createAgent", "changeAgent"],
        summaries: [
            "List agents",
            "Show every field of an agent",
            "Create an agent",
            "Change fields of an agent by a JSON merge patch, also its soul, tools and status",
        ],
    };
    let new = json!({"slug": "sofia", "name": "Sofia", "subtype": "customer_service",
        "autonomy": "semi_autonomous"});
    routes::<AgentDefinition>(&names, new, json!({"autonomy": "supervised"}))
}

pub(crate) fn channel_routes() -> Vec<Route> {
    let names = Names {
        list: "/channels",
        one: "/channels/{channel}",
        ids: ["listChannels", "getChannel", "createChannel", "changeChannel"],
        summaries: [
            "List channels",
            "Show every field of a channel",
            "Connect a channel",
            "Change fields of a channel by a JSON merge patch; `enabled` opens and closes it",
        ],
    };
    let new = json!({"name": "shop", "kind": "webchat", "agent": "gia"});
    routes::<ChannelDefinition>(&names, new, json!({"enabled": false}))
}

pub(crate) fn tool_routes() -> Vec<Route> {
    let names = Names {
        list: "/tools",
        one: "/tools/{tool}",
        ids: ["listHttpTools", "getHttpTool", "createHttpTool", "changeHttpTool"],
        summaries: [
            "List the organization's HTTP tools",
            "Show an HTTP tool",
            "Define an HTTP tool",
            "Change fields of an HTTP tool by a JSON merge patch",
        ],
    };
    let new = json!({"name": "find_order", "description": "Finds an order by its number.",
        "url": "https://shop.example/orders/{number}", "risk": "read",
        "input": {"type": "object", "properties": {"number": {"type": "string"}},
            "required": ["number"]}});
    let mut routes = routes::<HttpToolDefinition>(&names, new, json!({"timeout_secs": 10}));
    let (id, summary) = ("removeHttpTool", "Remove an HTTP tool");
    routes.push(delete(Configure, "/tools/{tool}", id, summary, remove_http_tool));
    routes
}

pub(crate) fn mcp_server_routes() -> Vec<Route> {
    let names = Names {
        list: "/mcp-servers",
        one: "/mcp-servers/{server}",
        ids: ["listMcpServers", "getMcpServer", "createMcpServer", "changeMcpServer"],
        summaries: [
            "List the organization's MCP servers",
            "Show an MCP server",
            "Define an MCP server",
            "Change fields of an MCP server by a JSON merge patch",
        ],
    };
    let new = json!({"name": "shop", "url": "https://shop.example/mcp"});
    let mut routes = routes::<McpServerDefinition>(&names, new, json!({}));
    let (id, summary) = ("removeMcpServer", "Remove an MCP server");
    routes.push(delete(Configure, "/mcp-servers/{server}", id, summary, remove_mcp_server));
    routes
}

pub(crate) fn integration_routes() -> Vec<Route> {
    let names = Names {
        list: "/integrations",
        one: "/integrations/{integration}",
        ids: ["listIntegrations", "getIntegration", "createIntegration", "changeIntegration"],
        summaries: [
            "List integrations, also disconnected ones",
            "Show an integration",
            "Connect a service that tools use",
            "Change fields of an integration by a JSON merge patch",
        ],
    };
    let new = json!({"service": "payments", "secret": "file:payments"});
    routes::<IntegrationDefinition>(&names, new, json!({}))
}

pub(crate) fn workflow_routes() -> Vec<Route> {
    let names = Names {
        list: "/workflow-definitions",
        one: "/workflow-definitions/{definition}",
        ids: [
            "listWorkflowDefinitions",
            "getWorkflowDefinition",
            "createWorkflowDefinition",
            "changeWorkflowDefinition",
        ],
        summaries: [
            "List the workflow definitions that the organization keeps",
            "Show a workflow definition",
            "Keep a workflow definition, for schedules and other workflows",
            "Change fields of a workflow definition by a JSON merge patch",
        ],
    };
    let new = json!({"name": "ask", "step": [{"id": "size", "ask": "How large?"}]});
    let change = json!({"step": [{"id": "size", "ask": "Which size?"}]});
    let mut routes = routes::<WorkflowResource>(&names, new, change);
    let names = Names {
        list: "/schedules",
        one: "/schedules/{schedule}",
        ids: ["listSchedules", "getSchedule", "createSchedule", "changeSchedule"],
        summaries: [
            "List schedules of workflows",
            "Show a schedule",
            "Start a workflow at the times of a cron expression",
            "Change fields of a schedule by a JSON merge patch; `paused` stops and continues it",
        ],
    };
    let new = json!({"name": "morning", "workflow": "ask", "cron": "30 8 * * MON-FRI",
        "time_zone": "Europe/Berlin"});
    routes.extend(self::routes::<ScheduleResource>(&names, new, json!({"paused": true})));
    routes
}

fn routes<S: Spec + 'static>(names: &Names, new: Value, change: Value) -> Vec<Route> {
    let Names { list: all, one, ids, summaries } = names;
    let schema = schema_of::<S>;
    vec![
        get(View, all, ids[0], summaries[0], list::<S>).returns(schema_of::<Page<S>>),
        get(View, one, ids[1], summaries[1], show::<S>).returns(schema),
        post(Configure, all, ids[2], summaries[2], create::<S>)
            .takes(schema)
            .returns(schema)
            .example(new),
        patch(Configure, one, ids[3], summaries[3], modify::<S>)
            .takes(schema_of::<Patch<S>>)
            .returns(schema)
            .example(change),
    ]
}

/// Lists all resources of a kind by name. They are few enough for one page.
async fn list<S: Spec>(request: OrgRequest) -> Result<axum::Json<Page<Value>>> {
    let items = request.hide_foreign_org(request.operations().resources(S::KIND).await)?;
    Ok(axum::Json(Page { items, next: None }))
}

async fn show<S: Spec>(request: OrgRequest, PathId(name): PathId) -> Result<Tagged> {
    let found = request.operations().resource(S::KIND, &name).await;
    Ok(Tagged(request.hide_foreign_org(found)?))
}

async fn create<S: Spec>(
    request: OrgRequest,
    JsonBody(fields): JsonBody<Value>,
) -> Result<(StatusCode, Tagged)> {
    let host = request.host();
    let created = request.operations().create_resource(S::KIND, &fields, host).await;
    Ok((StatusCode::CREATED, Tagged(request.hide_foreign_org(created)?)))
}

async fn modify<S: Spec>(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
    JsonBody(patch): JsonBody<Value>,
) -> Result<Tagged> {
    change::<S>(&request, &name, &based_on, &patch).await
}

async fn change<S: Spec>(
    request: &OrgRequest,
    name: &str,
    based_on: &IfMatch,
    patch: &Value,
) -> Result<Tagged> {
    let operations = request.operations();
    let version = based_on.version();
    let changed = operations.change_resource(S::KIND, name, patch, version, request.host()).await;
    Ok(Tagged(request.hide_foreign_org(changed)?))
}

async fn show_org(request: OrgRequest) -> Result<Tagged> {
    let found = request.operations().resource(OrgDefinition::KIND, "").await;
    Ok(Tagged(request.hide_foreign_org(found)?))
}

async fn change_org(
    request: OrgRequest,
    based_on: IfMatch,
    JsonBody(patch): JsonBody<Value>,
) -> Result<Tagged> {
    change::<OrgDefinition>(&request, "", &based_on, &patch).await
}

async fn remove_http_tool(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
) -> Result<StatusCode> {
    remove::<HttpToolDefinition>(&request, OrgToolKind::Http, &name, &based_on).await
}

async fn remove_mcp_server(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
) -> Result<StatusCode> {
    remove::<McpServerDefinition>(&request, OrgToolKind::Mcp, &name, &based_on).await
}

/// Returns a resource, for changes that are based on a version of it.
pub(crate) async fn current<S: Spec>(request: &OrgRequest, name: &str) -> Result<Value> {
    request.hide_foreign_org(request.operations().resource(S::KIND, name).await)
}

async fn remove<S: Spec>(
    request: &OrgRequest,
    kind: OrgToolKind,
    name: &str,
    based_on: &IfMatch,
) -> Result<StatusCode> {
    let _turn = based_on.turn(request.server()).await;
    based_on.check_current(current::<S>(request, name)).await?;
    request.hide_foreign_org(request.operations().remove_tool(kind, name).await)?;
    Ok(StatusCode::NO_CONTENT)
}

/// A JSON merge patch of a resource: what is absent stays, and `null` resets a field.
struct Patch<S>(PhantomData<S>);

impl<S: JsonSchema> JsonSchema for Patch<S> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Patch", S::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = S::json_schema(generator);
        schema.remove("required");
        schema
    }
}
