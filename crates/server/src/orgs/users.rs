//! Routes for the user accounts of the whole installation, in the platform's organization only.

use std::collections::BTreeMap;

use axum::Json;
use ostler_api::page::{Page, PageQuery};
use ostler_api::user::{User, UserMembership, UserPatch};
use ostler_domain::id::{OrgId, UserId};
use ostler_domain::org::permission::OrgPermission::ManagePeople;
use ostler_store::UserAccount;
use serde_json::json;

use super::tagged::{IfMatch, Versioned};
use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, patch};

pub(crate) fn routes() -> Vec<Route> {
    let summary = "List the user accounts of all organizations; for the platform";
    vec![
        get(ManagePeople, "/users", "listUsers", summary, list),
        get(ManagePeople, "/users/{user}", "getUser", "Show a user account with its roles", show),
        patch(
            ManagePeople,
            "/users/{user}",
            "changeUser",
            "Change the name or e-mail address of a user account",
            change,
        )
        .example(json!({"name": "Ada Rossi"})),
    ]
}

async fn list(
    request: OrgRequest,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Page<User>>> {
    let limit = page.page_size();
    let after: Option<UserId> = body::parse_cursor(page.cursor.as_deref())?;
    let found = request.hide_foreign_org(request.operations().users(after, limit).await)?;
    let slugs = request.slugs().await?;
    let items = found.into_iter().map(|account| wire(account, &slugs)).collect();
    Ok(Json(Page::from_items(items, limit, |item: &User| item.id.to_string())))
}

async fn show(request: OrgRequest, PathId(name): PathId) -> Result<Versioned<User>> {
    request.user(&name).await.map(versioned)
}

async fn change(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
    JsonBody(UserPatch { name: new_name, email }): JsonBody<UserPatch>,
) -> Result<Versioned<User>> {
    let _turn = based_on.turn(request.server()).await;
    let before = request.user(&name).await?;
    based_on.check(&json!(before))?;
    let id = before.id.to_string();
    let (operations, name) = (request.operations(), new_name.as_deref());
    let changed = operations.change_user(&id, name, email.as_deref()).await;
    request.hide_foreign_org(changed)?;
    request.user(&id).await.map(versioned)
}

impl OrgRequest {
    /// Returns the account that a path names, by e-mail address or id.
    async fn user(&self, name: &str) -> Result<User> {
        let account = self.hide_foreign_org(self.operations().user(name).await)?;
        Ok(wire(account, &self.slugs().await?))
    }

    /// Returns the slugs of all organizations, for callers who may see all accounts.
    async fn slugs(&self) -> Result<BTreeMap<OrgId, String>> {
        let orgs = self.server().deps.store.orgs().await?;
        Ok(orgs.into_iter().map(|org| (org.id, org.slug)).collect())
    }
}

fn versioned(value: User) -> Versioned<User> {
    let basis = json!(value);
    Versioned { value, basis }
}

fn wire(account: UserAccount, slugs: &BTreeMap<OrgId, String>) -> User {
    let UserAccount { user, password, memberships } = account;
    let memberships = memberships.into_iter().map(|one| UserMembership {
        org: slugs.get(&one.org).cloned().unwrap_or_else(|| one.org.to_string()),
        org_id: one.org,
        role: one.role,
    });
    User {
        id: user.id,
        email: user.email,
        name: user.name,
        can_log_in: password.is_some(),
        memberships: memberships.collect(),
    }
}
