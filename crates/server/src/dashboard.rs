//! The dashboard: the files that `web/` is built into, embedded in the program.
//!
//! Owns their addresses and headers. Without Node.js the program builds as well; then the
//! page says how to build the dashboard.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

use crate::error::{ApiError, Result};
use crate::orgs::PathId;
use crate::route::Access::Public;
use crate::route::{Route, get};

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Files;

const INDEX: &str = "index.html";
const NOT_BUILT: &str = include_str!("dashboard/not_built.html");

/// Only files of the server itself: no inline script, no other host, no frame around it. It shows
/// the page of a web chat in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; img-src 'self' blob:; frame-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Files of `assets/` have a hash in their name, so they never change.
const FOREVER: &str = "public, max-age=31536000, immutable";

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(Public, "/", "getDashboard", "Get the dashboard", index).returns_content("text/html"),
        get(Public, "/assets/{file}", "getDashboardFile", "Get a file of the dashboard", asset)
            .returns_content("*/*"),
    ]
}

/// `GET /`.
async fn index() -> Response {
    let (status, page) = match Files::get(INDEX) {
        Some(file) => (StatusCode::OK, file.data.into_owned()),
        None => (StatusCode::SERVICE_UNAVAILABLE, NOT_BUILT.as_bytes().to_vec()),
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (status, headers, page).into_response()
}

/// `GET /assets/{file}`.
async fn asset(PathId(name): PathId) -> Result<Response> {
    let file = Files::get(&format!("assets/{name}")).ok_or_else(|| ApiError::not_found("file"))?;
    let kind = content_type(&name);
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, FOREVER)];
    let mut response = (headers, file.data.into_owned()).into_response();
    let policy = HeaderValue::from_static("default-src 'none'");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

/// Returns the media type of a file that the build writes.
fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
