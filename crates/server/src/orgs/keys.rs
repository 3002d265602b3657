//! Routes for API keys.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::key::{CreatedKey, ListedKey, NewKeyRequest};
use ostler_api::page::{Page, PageQuery};
use ostler_api::problem::ProblemCode;
use ostler_domain::id::KeyId;
use ostler_domain::org::new_key::KeyLifetime;
use ostler_domain::org::permission::OrgPermission::ManagePeople;
use ostler_runtime::operations::{self, NewKey};
use ostler_store::ApiKey;
use serde_json::json;

use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::{ApiError, Result};
use crate::route::{Route, delete, get, post};
use crate::shown_once::ShownOnce;

pub(crate) fn routes() -> Vec<Route> {
    let summary = "List API keys, oldest first, also revoked ones";
    let new = json!({"name": "importer", "role": "admin", "scopes": ["knowledge:write"],
        "days": 30});
    vec![
        get(ManagePeople, "/keys", "listKeys", summary, list),
        post(ManagePeople, "/keys", "createKey", "Create an API key; it is shown once", create)
            .example(new),
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

async fn create(
    request: OrgRequest,
    JsonBody(body): JsonBody<NewKeyRequest>,
) -> Result<ShownOnce<CreatedKey>> {
    let NewKeyRequest { name, role, scopes, days, never_expires } = body;
    let lifetime = match (days, never_expires) {
        (None, false) => KeyLifetime::Usual,
        (Some(days), false) => KeyLifetime::Days(days),
        (None, true) => KeyLifetime::Unlimited,
        (Some(_), true) => {
            let detail = "name either the `days` of the key or `never_expires`";
            return Err(ApiError::new(ProblemCode::Invalid, detail));
        }
    };
    let new = NewKey { name, role, scopes, lifetime };
    let created = request.hide_foreign_org(request.operations().create_key(new).await)?;
    let operations::CreatedKey { key, secret } = created;
    Ok(ShownOnce(CreatedKey { key: wire(key), secret: secret.expose().to_owned() }))
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
