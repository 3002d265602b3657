//! Versions of what can be edited: an `ETag` with every answer, and `If-Match` with a change.
//! A change that is based on an old version is refused, so that nobody overwrites the change
//! of somebody else unseen.

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ostler_api::problem::ProblemCode;
use ostler_runtime::operations::{OperationError, version_of};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::MutexGuard;

use crate::error::{ApiError, Result};
use crate::route::describe::{Content, Input, Operation, Output, schema_of};
use crate::server::Server;

/// A resource with its version.
pub(crate) struct Tagged(pub(crate) Value);

impl IntoResponse for Tagged {
    fn into_response(self) -> Response {
        let basis = self.0.clone();
        with_tag(Json(self.0).into_response(), &basis)
    }
}

/// A resource whose version is a number.
pub(crate) struct Numbered<T> {
    pub(crate) resource: T,
    pub(crate) version: i64,
}

impl<T: Serialize> IntoResponse for Numbered<T> {
    fn into_response(self) -> Response {
        with_version(Json(self.resource).into_response(), &self.version.to_string())
    }
}

impl<T: JsonSchema> Output for Numbered<T> {
    fn describe(operation: &mut Operation) {
        operation.responses.push((200, Some(Content::json(schema_of::<T>))));
        operation.has_version = true;
    }
}

/// A value with a version of its own, for what changes in other ways too.
pub(crate) struct Versioned<T> {
    pub(crate) value: T,
    /// What a change is based on.
    pub(crate) basis: Value,
}

impl<T: Serialize> IntoResponse for Versioned<T> {
    fn into_response(self) -> Response {
        with_tag(Json(self.value).into_response(), &self.basis)
    }
}

impl<T: JsonSchema> Output for Versioned<T> {
    fn describe(operation: &mut Operation) {
        operation.responses.push((200, Some(Content::json(schema_of::<T>))));
        operation.has_version = true;
    }
}

fn with_tag(response: Response, basis: &Value) -> Response {
    with_version(response, &version_of(basis))
}

fn with_version(mut response: Response, version: &str) -> Response {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
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

    /// Returns the number of a version that is one. A tag that is no number is that of another
    /// resource, or of none.
    pub(crate) fn number(&self) -> Option<i64> {
        self.version().map(|version| version.parse().unwrap_or(-1))
    }

    /// Waits for its turn to make a change that is based on a version: others wait until the
    /// guard is dropped, so nothing comes between the check and the change.
    pub(crate) async fn turn<'s>(&self, server: &'s Server) -> Option<MutexGuard<'s, ()>> {
        match self.0 {
            Some(_) => Some(server.conditional_changes.lock().await),
            None => None,
        }
    }

    /// Fails if what is to be changed has another version by now.
    pub(crate) fn check(&self, basis: &Value) -> Result<()> {
        match &self.0 {
            Some(expected) if *expected != version_of(basis) => Err(OperationError::Changed.into()),
            _ => Ok(()),
        }
    }
}

impl IfMatch {
    /// Like [`IfMatch::check`]; what is to be changed is read only if the client cares.
    pub(crate) async fn check_current(
        &self,
        current: impl Future<Output = Result<Value>>,
    ) -> Result<()> {
        match self.0 {
            Some(_) => self.check(&current.await?),
            None => Ok(()),
        }
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
