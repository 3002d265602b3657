//! What admins do for the log-in of a member: a new password link, and ending log-ins.

use axum::Json;
use ostler_api::account::{EndedLogins, LoginSession, PasswordLink};
use ostler_runtime::operations::NewPasswordCode;

use super::own;
use crate::error::Result;
use crate::orgs::{OrgRequest, PathId};
use crate::shown_once::ShownOnce;

/// `POST members/{member}/password-code`.
pub(super) async fn create_password_code(
    request: OrgRequest,
    PathId(member): PathId,
) -> Result<ShownOnce<PasswordLink>> {
    let created = request.operations().create_password_code(&member).await;
    Ok(ShownOnce(password_link(&request, request.hide_foreign_org(created)?)))
}

/// Returns the link of a one-time code to set a password.
pub(crate) fn password_link(request: &OrgRequest, created: NewPasswordCode) -> PasswordLink {
    let NewPasswordCode { code, user, expires_at } = created;
    let (code, link) = (code.expose().to_owned(), activation_link(request, code.expose()));
    PasswordLink { user: user.id, email: user.email, code, link, expires_at }
}

/// Returns the address that a person opens with a one-time code.
pub(crate) fn activation_link(request: &OrgRequest, code: &str) -> String {
    format!("{}/v1/activate?code={code}", request.public_url())
}

/// `GET members/{member}/logins`.
pub(super) async fn logins(
    request: OrgRequest,
    PathId(member): PathId,
) -> Result<Json<Vec<LoginSession>>> {
    let found = request.operations().logins_of(&member).await;
    let (_, logins) = request.hide_foreign_org(found)?;
    Ok(Json(logins.into_iter().map(|login| own::session(login, None)).collect()))
}

/// `DELETE members/{member}/logins`.
pub(super) async fn end_logins(
    request: OrgRequest,
    PathId(member): PathId,
) -> Result<Json<EndedLogins>> {
    let ended = request.operations().end_logins_of(&member).await;
    let (_, ended) = request.hide_foreign_org(ended)?;
    Ok(Json(EndedLogins { ended }))
}
