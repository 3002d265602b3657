//! Routes for the due times of schedules, and for removing schedules and definitions. The
//! other routes of both are those of resources.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::workflow::StartedWorkflow;
use ostler_api::workflow_schedule::{ScheduleStart, ScheduleTimes};
use ostler_domain::org::permission::OrgPermission::{Configure, Operate, View};
use ostler_runtime::operations::ScheduleStatus;
use ostler_runtime::operations::definitions::{ScheduleResource, WorkflowResource};

use super::resources::current;
use super::tagged::IfMatch;
use super::{OrgRequest, PathId};
use crate::error::Result;
use crate::route::{Route, delete, get, post};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/schedule-times",
            "listScheduleTimes",
            "List schedules with their next and last due time",
            list,
        ),
        get(
            View,
            "/schedules/{schedule}/times",
            "getScheduleTimes",
            "Show the next due times of a schedule, and what happened at the last ones",
            show,
        ),
        post(
            Operate,
            "/schedules/{schedule}/run",
            "runSchedule",
            "Start the workflow of a schedule now, besides its due times",
            run,
        ),
        delete(
            Configure,
            "/schedules/{schedule}",
            "removeSchedule",
            "Remove a schedule; workflows that it started go on",
            remove,
        ),
        delete(
            Configure,
            "/workflow-definitions/{definition}",
            "removeWorkflowDefinition",
            "Remove a workflow definition that no schedule starts",
            remove_definition,
        ),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Vec<ScheduleTimes>>> {
    let all = request.hide_foreign_org(request.operations().schedules().await)?;
    Ok(Json(all.into_iter().map(times).collect()))
}

async fn show(request: OrgRequest, PathId(name): PathId) -> Result<Json<ScheduleTimes>> {
    let found = request.hide_foreign_org(request.operations().schedule(&name).await)?;
    Ok(Json(times(found)))
}

async fn run(
    request: OrgRequest,
    PathId(name): PathId,
) -> Result<(StatusCode, Json<StartedWorkflow>)> {
    let id = request.hide_foreign_org(request.operations().run_schedule(&name).await)?;
    Ok((StatusCode::CREATED, Json(StartedWorkflow { id })))
}

async fn remove(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
) -> Result<StatusCode> {
    let _turn = based_on.turn(request.server()).await;
    based_on.check_current(current::<ScheduleResource>(&request, &name)).await?;
    request.hide_foreign_org(request.operations().remove_schedule(&name).await)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove_definition(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
) -> Result<StatusCode> {
    let _turn = based_on.turn(request.server()).await;
    based_on.check_current(current::<WorkflowResource>(&request, &name)).await?;
    let removed = request.operations().remove_workflow_definition(&name).await;
    request.hide_foreign_org(removed)?;
    Ok(StatusCode::NO_CONTENT)
}

fn times(status: ScheduleStatus) -> ScheduleTimes {
    let starts = status.starts.into_iter().map(|start| ScheduleStart {
        due_at: start.due_at,
        outcome: start.outcome.name().to_owned(),
        missed: start.missed,
        workflow: start.workflow,
        reason: start.reason,
    });
    ScheduleTimes {
        schedule: status.schedule,
        time_zone: status.time_zone,
        next: status.next,
        starts: starts.collect(),
    }
}
