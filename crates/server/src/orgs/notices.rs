//! Routes for notices to the owner.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::notice::Notice;
use ostler_api::page::{Page, PageQuery};
use ostler_domain::id::NoticeId;

use super::{OrgRequest, PathId};
use crate::body::{self, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use crate::wire;
use ostler_domain::org::permission::OrgPermission::{Operate, View};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/notices", "listNotices", "List unread notices", list),
        post(Operate, "/notices/{notice}/read", "readNotice", "Mark a notice as read", read),
    ]
}

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
    let id = request.notice_id(&id).await?;
    request.hide_foreign_org(request.operations().acknowledge_notice(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

impl OrgRequest {
    /// Returns the notice that a path names.
    async fn notice_id(&self, text: &str) -> Result<NoticeId> {
        super::find_id(text, "notice", async {
            let recent = self.operations().unread_notices(None, super::SEARCH_LIMIT).await;
            Ok(self.hide_foreign_org(recent)?.iter().map(|notice| notice.notice.id).collect())
        })
        .await
    }
}
