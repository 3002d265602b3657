//! What admins do for the log-in of a member: a new password link, and ending log-ins.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::account::{EndedLogins, LoginSession, PasswordLink};
use ostler_runtime::operations::NewPasswordCode;

use super::own;
use crate::error::Result;
use crate::orgs::{OrgRequest, PathId};

/// `POST members/{member}/password-code`.
pub(super) async fn create_password_code(
    request: OrgRequest,
    PathId(member): PathId,
) -> Result<(StatusCode, Json<PasswordLink>)> {
    let created = request.operations().create_password_code(&member).await;
    let NewPasswordCode { code, user, expires_at } = request.hide_foreign_org(created)?;
    let code = code.expose().to_owned();
    let link = format!("{}/v1/activate?code={code}", request.public_url());
    let link = PasswordLink { user: user.id, email: user.email, code, link, expires_at };
    Ok((StatusCode::CREATED, Json(link)))
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
