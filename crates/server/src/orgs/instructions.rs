//! Routes for what project managers told the agents of their organization.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::hierarchy::Instruction;
use ostler_api::page::Page;
use ostler_domain::id::NoticeId;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_store::StoredNotice;
use serde_json::Value;

use super::{OrgRequest, PathId};
use crate::body::parse_id;
use crate::error::Result;
use crate::route::{Route, get, post};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/agents/{agent}/instructions",
            "listInstructions",
            "List the instructions that an agent follows, oldest first",
            list,
        ),
        post(
            Operate,
            "/instructions/{instruction}/withdraw",
            "withdrawInstruction",
            "Withdraw an instruction, so that its agent does not read it any more",
            withdraw,
        ),
    ]
}

async fn list(request: OrgRequest, PathId(agent): PathId) -> Result<Json<Page<Instruction>>> {
    let found = request.of_named_agent(request.operations().instructions(&agent).await)?;
    Ok(Json(Page { items: found.into_iter().map(wire).collect(), next: None }))
}

async fn withdraw(request: OrgRequest, PathId(id): PathId) -> Result<StatusCode> {
    let id: NoticeId = parse_id(&id, "instruction")?;
    request.hide_foreign_org(request.operations().withdraw_instruction(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

fn wire(stored: StoredNotice) -> Instruction {
    let StoredNotice { notice, created_at, .. } = stored;
    let data: Value = serde_json::from_str(&notice.data).unwrap_or_default();
    let text = data["instruction"].as_str().unwrap_or_default().to_owned();
    Instruction { id: notice.id, text, created_at }
}
