//! The dashboard: the files that `web/` is built into, embedded in the program.
//!
//! Owns their addresses and headers. Without Node.js the program builds as well; then the
//! page says how to build the dashboard.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::RustEmbed;

use crate::server::Server;

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
struct Files;

const INDEX: &str = "index.html";
const NOT_BUILT: &str = include_str!("dashboard/not_built.html");

/// Only files of the server itself: no inline script, no other host, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; img-src 'self' blob:; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// Files of `assets/` have a hash in their name, so they never change.
const FOREVER: &str = "public, max-age=31536000, immutable";

pub(crate) fn routes() -> Router<Server> {
    Router::new().route("/", get(index)).route("/assets/{file}", get(asset))
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
async fn asset(Path(name): Path<String>) -> Response {
    let Some(file) = Files::get(&format!("assets/{name}")) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kind = content_type(&name);
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, FOREVER)];
    let mut response = (headers, file.data.into_owned()).into_response();
    let policy = HeaderValue::from_static("default-src 'none'");
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
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
