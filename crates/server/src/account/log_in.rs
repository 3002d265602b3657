//! Logging in and out with a password.
//!
//! A log-in with a wrong password, of an unknown account and of one without a password look
//! the same and take the same time.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::account::LoginRequest;
use ostler_api::problem::ProblemCode;
use ostler_domain::contact::normalize_email;
use ostler_domain::id::UserId;
use ostler_domain::login::attempts::attempt_counters;
use ostler_runtime::operations::LoginOrigin;
use sha2::{Digest, Sha256};

use super::cookie::CookieTransport;
use super::{own, same_site};
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::server::{ClientAddress, Server};

/// `POST /v1/login`.
pub(super) async fn log_in(
    State(server): State<Server>,
    address: ClientAddress,
    headers: HeaderMap,
    JsonBody(LoginRequest { email, password }): JsonBody<LoginRequest>,
) -> Result<Response> {
    same_site::check_origin(&headers, server.deps.public_url.as_deref())?;
    let ClientAddress(from) = address;
    let operations = &server.deps.operations;
    let (account, familiarity) = operations.login_candidate(&email, &from.to_string()).await?;
    let counters = attempt_counters(&email_hash(&email), from, familiarity);
    if !operations.count_login_attempt(counters).await? {
        tracing::warn!(address = %from, "log-in refused, too many attempts");
        let detail =
            "too many attempts to log in; wait for an hour, or ask for a new password link";
        return Err(ApiError::new(ProblemCode::TooMany, detail));
    }
    let hash = account.as_ref().and_then(|account| account.password.clone());
    let is_right = server.accounts.passwords.verify(password, hash).await?;
    let Some(account) = account.filter(|_| is_right) else {
        tracing::warn!(address = %from, "log-in refused, wrong e-mail address or password");
        let detail = "the e-mail address or the password is not right";
        return Err(ApiError::new(ProblemCode::Unauthorized, detail));
    };
    start(&server, &headers, address, account.user.id, "password").await
}

/// Starts a log-in of a user who proved who they are, and responds with who they are.
pub(super) async fn start(
    server: &Server,
    headers: &HeaderMap,
    address: ClientAddress,
    user: UserId,
    method: &str,
) -> Result<Response> {
    let transport = CookieTransport::of(server, headers);
    let token = start_token(server, headers, address, user, method).await?;
    let (login, account) = server.deps.store.login(&token).await?;
    let me = own::identity(server, &login, &account).await?;
    let mut response = axum::Json(me).into_response();
    response.headers_mut().insert(header::SET_COOKIE, transport.set(&token)?);
    Ok(response)
}

/// Starts a log-in and returns its token. The log-in that the browser had before ends.
pub(super) async fn start_token(
    server: &Server,
    headers: &HeaderMap,
    ClientAddress(from): ClientAddress,
    user: UserId,
    method: &str,
) -> Result<ostler_domain::login::secret::LoginToken> {
    let client = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let origin = LoginOrigin {
        method: method.to_owned(),
        address: from.to_string(),
        client: client.unwrap_or("unknown").to_owned(),
    };
    let before = CookieTransport::of(server, headers).read(headers);
    Ok(server.deps.operations.start_login(user, origin, before.as_ref()).await?)
}

/// `POST /v1/logout`: ends the log-in of the request.
pub(super) async fn log_out(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Result<Response> {
    let (login, account) = caller.user()?;
    server.deps.operations.end_own_login(account.user.id, login.id).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let cleared = CookieTransport::of(&server, &headers).clear()?;
    response.headers_mut().insert(header::SET_COOKIE, cleared);
    Ok(response)
}

/// Returns what stands for an e-mail address in counters.
fn email_hash(email: &str) -> String {
    let hash = Sha256::digest(normalize_email(email).unwrap_or_default());
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
