//! Routes for accounts on channels that belong to users. Users belong to no organization, so
//! these routes work in that of the platform only.

use axum::Json;
use ostler_api::account_link::{
    LinkCodeRequest, LinkedAccount, NewLinkCode, RevokeLinksRequest, UnlinkedAccount,
};
use ostler_api::page::Page;
use ostler_api::problem::ProblemCode;
use ostler_domain::org::account_link::{AccountLink, MAX_LINK_MINUTES};
use ostler_domain::org::permission::OrgPermission::ManagePeople;
use ostler_store::User;
use serde_json::json;

use super::OrgRequest;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, get, post};
use crate::shown_once::ShownOnce;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            ManagePeople,
            "/account-links",
            "listAccountLinks",
            "List the accounts on channels that belong to users, by e-mail address",
            list,
        ),
        post(
            ManagePeople,
            "/account-links/revoke",
            "revokeAccountLinks",
            "Unlink an account, or all accounts of a user",
            revoke,
        )
        .example(json!({"account": "ada@example.com"})),
        post(
            ManagePeople,
            "/link-codes",
            "createLinkCode",
            "Create a code that links an account to a user; it is shown only once",
            create,
        )
        .example(json!({"user": "ada@example.com", "minutes": 60})),
    ]
}

async fn list(request: OrgRequest) -> Result<Json<Page<LinkedAccount>>> {
    let found = request.hide_foreign_org(request.operations().account_links().await)?;
    Ok(Json(Page { items: found.into_iter().map(wire).collect(), next: None }))
}

async fn create(
    request: OrgRequest,
    JsonBody(body): JsonBody<LinkCodeRequest>,
) -> Result<ShownOnce<NewLinkCode>> {
    let LinkCodeRequest { user, minutes } = body;
    if !(1..=MAX_LINK_MINUTES).contains(&minutes) {
        let detail = format!("a code is valid for 1 to {MAX_LINK_MINUTES} minutes");
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    let created = request.operations().create_link_code(&user, minutes).await;
    let (user, code, expires_at) = request.hide_foreign_org(created)?;
    let code = code.expose().to_owned();
    Ok(ShownOnce(NewLinkCode { user: user.email, code, expires_at }))
}

async fn revoke(
    request: OrgRequest,
    JsonBody(RevokeLinksRequest { account }): JsonBody<RevokeLinksRequest>,
) -> Result<Json<Page<UnlinkedAccount>>> {
    let revoked = request.operations().revoke_account_links(&account).await;
    let items = request.hide_foreign_org(revoked)?.into_iter().map(|link| UnlinkedAccount {
        channel: link.account.channel,
        account: link.account.identifier,
    });
    Ok(Json(Page { items: items.collect(), next: None }))
}

fn wire((user, link): (User, AccountLink)) -> LinkedAccount {
    LinkedAccount {
        user: user.email,
        user_id: user.id,
        channel: link.account.channel,
        account: link.account.identifier,
        name: link.name,
        linked_at: link.linked_at,
    }
}
