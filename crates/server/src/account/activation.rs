//! Setting a first or new password with a one-time code, from a link that an admin gives to
//! the person. Opening the link changes nothing, so programs that look at links in mails do
//! not use it up.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::account::{
    ActivateRequest, Activated, Activation, ActivationKind, ActivationQuery,
};
use ostler_api::problem::ProblemCode;
use ostler_domain::id::UserId;
use ostler_domain::login::attempts::{AddressFamiliarity, attempt_counters};
use ostler_domain::login::check_password;
use ostler_domain::login::secret::PasswordCode;
use ostler_domain::secret::{InvitationCode, PasswordHash};
use ostler_store::{Invitation, StoreError};

use super::cookie::CookieTransport;
use super::{log_in, same_site};
use crate::body::{JsonBody, QueryParams};
use crate::error::{ApiError, Result};
use crate::server::{ClientAddress, Server};

/// A code of one of the two kinds.
enum OneTimeCode {
    Password(PasswordCode),
    Invitation(InvitationCode),
}

impl OneTimeCode {
    fn parse(text: &str) -> Result<Self> {
        if let Ok(code) = text.parse() {
            return Ok(Self::Password(code));
        }
        text.parse().map(Self::Invitation).map_err(|_| {
            ApiError::new(ProblemCode::Invalid, "this is not a whole code; copy the link again")
        })
    }
}

/// `GET /v1/activate`: says what a code is for. A browser is sent to the dashboard, which
/// asks for it again.
pub(super) async fn show(
    State(server): State<Server>,
    headers: HeaderMap,
    ClientAddress(from): ClientAddress,
    QueryParams(ActivationQuery { code }): QueryParams<ActivationQuery>,
) -> Result<Response> {
    if wants_page(&headers) {
        let page = format!("../#/activate/{code}");
        let location = HeaderValue::try_from(page)
            .map_err(|_| ApiError::new(ProblemCode::Invalid, "this is not a whole code"))?;
        return Ok((StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response());
    }
    count(&server, from).await?;
    let operations = &server.deps.operations;
    let activation = match OneTimeCode::parse(&code)? {
        OneTimeCode::Password(code) => {
            let (account, expires_at) = operations.password_code(&code).await?;
            Activation {
                kind: ActivationKind::Password,
                email: account.user.email,
                org: None,
                role: None,
                expires_at,
                needs_password: true,
                next: next_step(&["code", "password"]),
            }
        }
        OneTimeCode::Invitation(code) => {
            let (org, Invitation { email, role, expires_at, .. }) =
                operations.invitation(&code).await?;
            let needs_password = needs_password(&server, &email).await?;
            let fields: &[&str] =
                if needs_password { &["code", "name", "password"] } else { &["code", "name"] };
            let org = server.deps.store.org(org).org().await?.name;
            Activation {
                kind: ActivationKind::Invitation,
                email,
                org: Some(org),
                role: Some(role),
                expires_at,
                needs_password,
                next: next_step(fields),
            }
        }
    };
    let mut response = Json(activation).into_response();
    let no_referrer = HeaderValue::from_static("no-referrer");
    response.headers_mut().insert(header::REFERRER_POLICY, no_referrer);
    Ok(response)
}

/// Returns whether a person opens the link, and not a program.
fn wants_page(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

fn next_step(fields: &[&str]) -> String {
    format!("POST /v1/activate as JSON with: {}", fields.join(", "))
}

/// `POST /v1/activate`: uses a code up.
pub(super) async fn activate(
    State(server): State<Server>,
    address: ClientAddress,
    headers: HeaderMap,
    JsonBody(request): JsonBody<ActivateRequest>,
) -> Result<Response> {
    same_site::check_origin(&headers, server.deps.public_url.as_deref())?;
    count(&server, address.0).await?;
    let ActivateRequest { code, password, name } = request;
    let operations = &server.deps.operations;
    let (user, email, has_new_password) = match OneTimeCode::parse(&code)? {
        OneTimeCode::Password(code) => {
            let (account, _) = operations.password_code(&code).await?;
            let hash = new_password(&server, password, &account.user.email).await?;
            let user = operations.use_password_code(&code, &hash).await?;
            (user, account.user.email, true)
        }
        OneTimeCode::Invitation(code) => {
            let (_, Invitation { email, .. }) = operations.invitation(&code).await?;
            let hash = match needs_password(&server, &email).await? {
                true => Some(new_password(&server, password, &email).await?),
                false => None,
            };
            let is_new = hash.is_some();
            let name = name.as_deref().unwrap_or(&email);
            let (_, member) = operations.accept_invitation(&code, name, hash).await?;
            (member.user.id, email, is_new)
        }
    };
    respond(&server, &headers, address, user, email, has_new_password).await
}

async fn respond(
    server: &Server,
    headers: &HeaderMap,
    address: ClientAddress,
    user: UserId,
    email: String,
    logged_in: bool,
) -> Result<Response> {
    let mut response = Json(Activated { user, email, logged_in }).into_response();
    if logged_in {
        let token = log_in::start_token(server, headers, address, user, "code").await?;
        let cookie = CookieTransport::of(server, headers).set(&token)?;
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Checks and hashes a password that somebody chose.
pub(super) async fn new_password(
    server: &Server,
    password: Option<String>,
    email: &str,
) -> Result<PasswordHash> {
    let missing = || ApiError::new(ProblemCode::Invalid, "choose a `password`");
    let password = password.ok_or_else(missing)?;
    check_password(&password, email)
        .map_err(|error| ApiError::new(ProblemCode::Invalid, error.to_string()))?;
    server.accounts.passwords.hash(password).await
}

/// Returns whether the account with this e-mail address, if there is one, has no password.
async fn needs_password(server: &Server, email: &str) -> Result<bool> {
    match server.deps.store.user_account_by_email(email).await {
        Ok(account) => Ok(account.password.is_none()),
        Err(StoreError::NotFound(_)) => Ok(true),
        Err(other) => Err(other.into()),
    }
}

/// Counts a code as an attempt of its address.
async fn count(server: &Server, from: std::net::IpAddr) -> Result<()> {
    let mut counters = attempt_counters("code", from, AddressFamiliarity::Known);
    // Only the limit of the address is meant.
    counters.remove(0);
    if server.deps.operations.count_login_attempt(counters).await? {
        return Ok(());
    }
    Err(ApiError::new(ProblemCode::TooMany, "too many codes from this address; wait for an hour"))
}
