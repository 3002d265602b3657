//! The two requests of a log-in with an identity provider: the browser is sent there, and
//! comes back with a code.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::account::LoginProvider;
use ostler_api::problem::ProblemCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::OidcError;
use super::attempt::LoginAttempt;
use super::provider::Provider;
use crate::account::cookie::{CookieTransport, is_local_host};
use crate::account::log_in;
use crate::body::QueryParams;
use crate::error::{ApiError, Result};
use crate::orgs::PathId;
use crate::server::{ClientAddress, Server};

/// Where a browser goes after the log-in: the dashboard.
const LANDING: &str = "/";

/// `GET /v1/login`: the identity providers.
pub(in crate::account) async fn list(State(server): State<Server>) -> Json<Vec<LoginProvider>> {
    let names = server.accounts.providers.names();
    Json(
        names
            .map(|name| LoginProvider { name: name.to_owned(), url: format!("/v1/login/{name}") })
            .collect(),
    )
}

/// `GET /v1/login/{provider}`: sends the browser to the provider.
pub(in crate::account) async fn begin(
    State(server): State<Server>,
    headers: HeaderMap,
    PathId(name): PathId,
) -> Result<Response> {
    let provider = find(&server, &name)?;
    let attempt = LoginAttempt::random()?;
    let redirect = redirect_uri(&server, &headers, &name)?;
    let url = provider.authorization_url(&attempt, &redirect).await;
    let url = url.map_err(|error| failed(&name, &error))?;
    let mut response = see_other(url.as_str())?;
    let cookie = attempt.set(CookieTransport::of(&server, &headers))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

/// What a provider sends back.
#[derive(Deserialize, JsonSchema)]
pub(in crate::account) struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
}

/// `GET /v1/login/{provider}/callback`: logs the browser in.
pub(in crate::account) async fn finish(
    State(server): State<Server>,
    address: ClientAddress,
    headers: HeaderMap,
    PathId(name): PathId,
    QueryParams(query): QueryParams<CallbackQuery>,
) -> Result<Response> {
    let provider = find(&server, &name)?;
    let transport = CookieTransport::of(&server, &headers);
    let attempt = LoginAttempt::read(transport, &headers);
    let attempt = attempt.filter(|attempt| query.state.as_deref() == Some(&attempt.state));
    let (Some(attempt), Some(code)) = (attempt, query.code) else {
        let detail = match query.error {
            Some(_) => "the identity provider has refused the log-in; try again",
            None => "this log-in was not begun in this browser, or too long ago; begin again",
        };
        return Err(ApiError::new(ProblemCode::Unauthorized, detail));
    };
    let redirect = redirect_uri(&server, &headers, &name)?;
    let claims = provider.exchange(&code, &attempt, &redirect).await;
    let claims = claims.map_err(|error| failed(&name, &error))?;
    let (issuer, email) = (provider.issuer(), claims.verified_email());
    let user = server.deps.operations.user_of_identity(issuer, &claims.sub, email).await?;
    let token = log_in::start_token(&server, &headers, address, user, &name).await?;
    let mut response = see_other(LANDING)?;
    let cookies = response.headers_mut();
    cookies.append(header::SET_COOKIE, LoginAttempt::clear(transport)?);
    cookies.append(header::SET_COOKIE, transport.set(&token)?);
    Ok(response)
}

fn find<'s>(server: &'s Server, name: &str) -> Result<&'s Provider> {
    server.accounts.providers.find(name).ok_or_else(|| ApiError::not_found("identity provider"))
}

/// Returns the URL to which the provider sends the browser back.
fn redirect_uri(server: &Server, headers: &HeaderMap, name: &str) -> Result<String> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let base = match (&server.deps.public_url, host) {
        (Some(url), _) => url.trim_end_matches('/').to_owned(),
        (None, Some(host)) if is_local_host(host) => format!("http://{host}"),
        (None, _) => {
            let detail = "log-in with an identity provider needs `public_url` in ostler.toml";
            return Err(ApiError::new(ProblemCode::Unavailable, detail));
        }
    };
    Ok(format!("{base}/v1/login/{name}/callback"))
}

/// The cause is for the log; the browser learns what to do.
fn failed(provider: &str, error: &OidcError) -> ApiError {
    tracing::warn!(provider, %error, "log-in with an identity provider failed");
    let (code, detail) = match error {
        OidcError::Unreachable(_) | OidcError::Refused(_) | OidcError::Unreadable(_) => (
            ProblemCode::Unavailable,
            "the identity provider did not complete the log-in; try again, or see the server's log",
        ),
        OidcError::OtherIssuer(_)
        | OidcError::Token(_)
        | OidcError::Key
        | OidcError::OtherLogin => (
            ProblemCode::Unauthorized,
            "the identity provider's answer is not valid; begin again, or see the server's log",
        ),
    };
    ApiError::new(code, detail)
}

fn see_other(url: &str) -> Result<Response> {
    let location = HeaderValue::try_from(url).map_err(|error| ApiError::internal(&error))?;
    let mut response = StatusCode::SEE_OTHER.into_response();
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}
