//! Routes for dead letters.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::dead_letter::{AbandonRequest, DeadLetter};
use ostler_api::page::{Page, PageQuery};
use ostler_store::DeadLetterId;

use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};
use crate::wire;
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/dead-letters", "listDeadLetters", "List dead letters", list),
        get(View, "/dead-letters/{letter}", "getDeadLetter", "Show a dead letter", show),
        post(
            Operate,
            "/dead-letters/{letter}/replay",
            "replayDeadLetter",
            "Try a dead letter again",
            replay,
        ),
        post(
            Operate,
            "/dead-letters/{letter}/abandon",
            "abandonDeadLetter",
            "Give a dead letter up",
            abandon,
        )
        .example(json!({"why": "The customer has called meanwhile"})),
    ]
}

pub(crate) async fn list(
    request: OrgRequest,
    QueryParams(turn): QueryParams<PageQuery>,
) -> Result<Json<Page<DeadLetter>>> {
    let limit = turn.page_size();
    let after = turn.cursor.as_deref().map(parse_dead_letter_id).transpose()?;
    let found = request.hide_foreign_org(request.operations().dead_letters(after, limit).await)?;
    let found = found.iter().map(wire::dead_letter).collect();
    Ok(Json(Page::from_items(found, limit, |item: &DeadLetter| item.id.clone())))
}

pub(crate) async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<DeadLetter>> {
    let id = request.dead_letter_id(&id).await?;
    Ok(Json(wire::dead_letter(
        &request.hide_foreign_org(request.operations().dead_letter(id).await)?,
    )))
}

pub(crate) async fn replay(request: OrgRequest, PathId(id): PathId) -> Result<StatusCode> {
    let id = request.dead_letter_id(&id).await?;
    request.hide_foreign_org(request.operations().replay_dead_letter(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn abandon(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(abandon): JsonBody<AbandonRequest>,
) -> Result<StatusCode> {
    let id = request.dead_letter_id(&id).await?;
    request.hide_foreign_org(request.operations().abandon_dead_letter(id, &abandon.why).await)?;
    Ok(StatusCode::NO_CONTENT)
}

fn parse_dead_letter_id(text: &str) -> Result<DeadLetterId> {
    let inbox = body::parse_id(text, "dead letter").map(DeadLetterId::Inbox);
    inbox.or_else(|_: ApiError| body::parse_id(text, "dead letter").map(DeadLetterId::Outbox))
}

impl OrgRequest {
    /// Returns the dead letter that a path names.
    async fn dead_letter_id(&self, text: &str) -> Result<DeadLetterId> {
        if let Ok(id) = parse_dead_letter_id(text) {
            return Ok(id);
        }
        let recent = self.operations().dead_letters(None, super::SEARCH_LIMIT).await;
        let recent = self.hide_foreign_org(recent)?;
        let names = recent.iter().map(|letter| wire::dead_letter(letter).id);
        parse_dead_letter_id(&super::match_id(text, names, "dead letter")?)
    }
}
