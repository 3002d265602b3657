//! Routes for the resources of an installation as a whole: what lives, what a change would do,
//! and making it. World files are applied by them, and commands change single resources.

pub(crate) mod request;
pub(crate) mod wire;

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use ostler_api::page::Page;
use ostler_api::problem::ProblemCode;
use ostler_api::resource::{AppliedPlan, LiveResource, PlanRequest, ResourcePlan};
use ostler_runtime::operations::definitions::{Resources, without_own_secrets, world_file};
use ostler_runtime::operations::version_of;
use ostler_runtime::operations::world::{CheckedPlan, RefusedPlan};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::body::{BodyPlace, QueryParams, parse};
use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::route::describe::schema_of;
use crate::route::{Access, Route, get, post};
use crate::server::Server;

/// Limit of a plan's body over the network: the files of an organization and room around them.
/// The operator at the machine has none.
pub(crate) const MAX_BYTES: usize = 30 * 1024 * 1024;
/// The media type of world files.
const TOML: &str = "application/toml";

/// Returns the limit of the body of a request that changes something.
pub(crate) fn max_body(caller: &Caller, path: &str) -> usize {
    let ends = ["/resources/apply", "/import", "/contact-messages"];
    let is_large = ends.iter().any(|end| path.ends_with(end));
    if is_large { max_plan(caller) } else { crate::body::MAX_BYTES }
}

/// Returns the limit of the body of a plan.
const fn max_plan(caller: &Caller) -> usize {
    match caller {
        Caller::Terminal => usize::MAX,
        Caller::Key { .. } | Caller::User { .. } => MAX_BYTES,
    }
}

pub(crate) fn routes() -> Vec<Route> {
    let change = json!({"resources": {"agent bella/gia": {"org": "bella", "slug": "gia",
        "name": "Gia", "subtype": "customer_service", "autonomy": "supervised"}}});
    vec![
        get(
            Access::Caller,
            "/resources",
            "listResources",
            "List the resources that the caller may view, with every field",
            list,
        )
        .fails_with(&[404]),
        get(
            Access::Caller,
            "/resources/export",
            "exportResources",
            "Write the resources that the caller may view as a world file",
            export,
        )
        .returns_content(TOML)
        .fails_with(&[404]),
        get(
            Access::Caller,
            "/resources/schema",
            "getResourceSchema",
            "Get the JSON Schema of world files",
            schema,
        ),
        post(
            Access::Caller,
            "/resources/plan",
            "planResources",
            "Show what a change would do, also to the tool calls of the last days; it needs the \
             right to make the change, and changes nothing",
            plan,
        )
        .takes(schema_of::<PlanRequest>)
        .fails_with(&[404, 412])
        .example(change.clone())
        .runs_again(),
        post(
            Access::Caller,
            "/resources/apply",
            "applyResources",
            "Make a change. Each organization is changed as a whole or not at all, agencies \
             before their clients",
            apply,
        )
        .takes(schema_of::<PlanRequest>)
        .fails_with(&[404, 412])
        .example(change),
    ]
}

#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct ResourcesQuery {
    /// One organization, by its slug.
    org: Option<String>,
}

async fn list(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<ResourcesQuery>,
) -> Result<Json<Page<LiveResource>>> {
    let live = live(&server, &caller, &query).await?;
    let items = live.into_iter().map(|(address, resource)| LiveResource {
        resource: address.to_string(),
        version: version_of(resource.value()),
        value: resource.value().clone(),
    });
    Ok(Json(Page { items: items.collect(), next: None }))
}

async fn export(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    QueryParams(query): QueryParams<ResourcesQuery>,
) -> Result<Response> {
    let mut live = live(&server, &caller, &query).await?;
    if query.org.is_some() {
        live.retain(|address, _| !address.org.is_empty());
    }
    without_own_secrets(&mut live);
    let headers = [(axum::http::header::CONTENT_TYPE, TOML)];
    Ok((headers, world_file(&live)).into_response())
}

async fn live(server: &Server, caller: &Caller, query: &ResourcesQuery) -> Result<Resources> {
    let operations = &server.deps.operations;
    Ok(operations.live_resources(caller.actor(), query.org.as_deref()).await?)
}

async fn schema() -> Json<Value> {
    Json(ostler_runtime::operations::definitions::world_schema().clone())
}

async fn plan(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    body: Request<Body>,
) -> Result<Json<ResourcePlan>> {
    let (body, _place) = read::<PlanRequest>(&server, &caller, body).await?;
    let window = request::window(&body)?;
    let planned = planned(&server, &caller, body).await?;
    let mut shown = match &planned {
        Err(RefusedPlan(broken)) => return Ok(Json(wire::refused(broken))),
        Ok(plan) => wire::plan(plan),
    };
    if let Ok(plan) = &planned {
        let operations = &server.deps.operations;
        let replayed = operations.replay_policy(caller.actor(), plan, window).await?;
        shown.what_if = replayed.map(|replay| wire::replay(&replay, window));
        shown.notes = server.deps.host.0.plan_notes(&plan.plan);
    }
    Ok(Json(shown))
}

async fn apply(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    body: Request<Body>,
) -> Result<Json<AppliedPlan>> {
    let (body, _place) = read::<PlanRequest>(&server, &caller, body).await?;
    let (version, keep) = (body.version.clone(), body.keep);
    let plan = match planned(&server, &caller, body).await? {
        Ok(plan) => plan,
        Err(RefusedPlan(broken)) => {
            return Err(ApiError::new(ProblemCode::Invalid, wire::sentences(&broken)));
        }
    };
    let shown = wire::plan(&plan);
    if version.is_some_and(|version| version != shown.version) {
        return Err(changed_meanwhile());
    }
    request::check_complete(&plan, keep)?;
    let (operations, host) = (&server.deps.operations, &*server.deps.host.0);
    let applied = operations.apply_requested(caller.actor(), &plan, host).await;
    let notes = applied.map_err(request::as_changed)?;
    Ok(Json(AppliedPlan { version: shown.version, notes }))
}

async fn planned(
    server: &Server,
    caller: &Caller,
    body: PlanRequest,
) -> Result<std::result::Result<CheckedPlan, RefusedPlan>> {
    let based_on = body.based_on.clone();
    let change = request::change(body)?;
    let planned = server.deps.operations.plan_requested(caller.actor(), change).await?;
    check_versions(server, caller, &based_on).await?;
    Ok(planned)
}

/// Fails if a resource has another version than a change is based on. What is unchanged after
/// the plan was made is what the plan has read.
async fn check_versions(
    server: &Server,
    caller: &Caller,
    based_on: &BTreeMap<String, String>,
) -> Result<()> {
    if based_on.is_empty() {
        return Ok(());
    }
    let live = live(server, caller, &ResourcesQuery::default()).await?;
    for (name, expected) in based_on {
        let current = live.get(&request::address(name)?).map(|one| version_of(one.value()));
        if current.as_ref() != Some(expected) {
            return Err(changed_meanwhile());
        }
    }
    Ok(())
}

/// Reads a body that may be as large as a plan, and returns it with its place among the large
/// ones, which is kept while it is planned and applied.
pub(crate) async fn read<T: DeserializeOwned + Send + 'static>(
    server: &Server,
    caller: &Caller,
    body: Request<Body>,
) -> Result<(T, BodyPlace)> {
    let body = server.bodies.read_request(body, max_plan(caller)).await?;
    let (bytes, place) = body.into_parts();
    let parsed = parse(bytes).await.map_err(|error| {
        ApiError::new(ProblemCode::BadRequest, format!("the body is not valid: {error}"))
    })?;
    Ok((parsed, place))
}

/// Returns the problem of a plan that is another one by now.
fn changed_meanwhile() -> ApiError {
    let detail = "somebody else changed the configuration; look at the new plan and apply again";
    ApiError::new(ProblemCode::Changed, detail)
}
