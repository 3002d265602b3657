//! Routes for API keys. They are created at the machine only.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::key::ListedKey;
use ostler_api::page::{Page, PageQuery};
use ostler_domain::id::KeyId;
use ostler_domain::org::permission::OrgPermission::ManagePeople;
use ostler_store::ApiKey;

use super::{OrgRequest, PathId};
use crate::body::{self, QueryParams};
use crate::error::Result;
use crate::route::{Route, delete, get};

pub(crate) fn routes() -> Vec<Route> {
    let summary = "List API keys, oldest first, also revoked ones";
    vec![
        get(ManagePeople, "/keys", "listKeys", summary, list),
        delete(ManagePeople, "/keys/{key}", "revokeKey", "Revoke an API key", revoke),
    ]
}

async fn list(
    request: OrgRequest,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Page<ListedKey>>> {
    let limit = page.page_size();
    let after: Option<KeyId> = body::parse_cursor(page.cursor.as_deref())?;
    let found = request.hide_foreign_org(request.operations().keys(after, limit).await)?;
    let items = found.into_iter().map(wire).collect();
    Ok(Json(Page::from_items(items, limit, |item: &ListedKey| item.id.to_string())))
}

async fn revoke(request: OrgRequest, PathId(id): PathId) -> Result<StatusCode> {
    let id: KeyId = body::parse_id(&id, "key")?;
    request.hide_foreign_org(request.operations().revoke_key(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

fn wire(key: ApiKey) -> ListedKey {
    let ApiKey { id, name, role, scopes, prefix, created_at, expires_at, revoked_at, last_used_at } =
        key;
    ListedKey { id, name, role, scopes, prefix, created_at, expires_at, revoked_at, last_used_at }
}
