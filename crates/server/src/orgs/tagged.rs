//! Versions of what can be edited: an `ETag` with every answer, and `If-Match` with a change.
//! A change that is based on an old version is refused, so that nobody overwrites the change
//! of somebody else unseen.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::problem::ProblemCode;
use ostler_runtime::operations::version_of;
use serde_json::Value;

use crate::error::{ApiError, Result};
use crate::route::describe::{Content, Input, Operation, Output, schema_of};

/// A resource with its version.
pub(crate) struct Tagged(pub(crate) Value);

impl IntoResponse for Tagged {
    fn into_response(self) -> Response {
        let tag = HeaderValue::from_str(&format!("\"{}\"", version_of(&self.0)));
        let mut response = Json(self.0).into_response();
        if let Ok(tag) = tag {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

impl Output for Tagged {
    fn describe(operation: &mut Operation) {
        operation.responses.push((200, Some(Content::json(schema_of::<Value>))));
        operation.has_version = true;
    }
}

impl Output for (StatusCode, Tagged) {
    fn describe(operation: &mut Operation) {
        operation.responses.push((201, Some(Content::json(schema_of::<Value>))));
        operation.has_version = true;
    }
}

/// The version that a change is based on; `None` if the client does not care.
pub(crate) struct IfMatch(Option<String>);

impl IfMatch {
    pub(crate) fn version(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Input for IfMatch {
    fn describe(operation: &mut Operation) {
        operation.checks_version = true;
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else { return Ok(Self(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(Self(None));
        }
        // A proxy that compresses answers makes their tags weak.
        let text = text.strip_prefix("W/").unwrap_or(text);
        let tag = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match tag {
            Some(tag) => Ok(Self(Some(tag.to_owned()))),
            None => Err(ApiError::new(
                ProblemCode::BadRequest,
                "`If-Match` must be the `ETag` of an answer, with its quotes",
            )),
        }
    }
}
