//! Routes for notices to the owner.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::notice::Notice;
use ostler_api::page::{Page, PageQuery};

use super::{OrgRequest, PathId};
use crate::body::{self, QueryParams};
use crate::error::Result;
use crate::wire;

pub(crate) async fn list(
    request: OrgRequest,
    QueryParams(turn): QueryParams<PageQuery>,
) -> Result<Json<Page<Notice>>> {
    let limit = turn.page_size();
    let after = body::parse_cursor(turn.cursor.as_deref())?;
    let found =
        request.hide_foreign_org(request.operations().unread_notices(after, limit).await)?;
    let found = found.into_iter().map(wire::notice).collect();
    Ok(Json(Page::from_items(found, limit, |item: &Notice| item.id.to_string())))
}

pub(crate) async fn read(request: OrgRequest, PathId(id): PathId) -> Result<StatusCode> {
    let id = body::parse_id(&id, "notice")?;
    request.hide_foreign_org(request.operations().acknowledge_notice(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}
