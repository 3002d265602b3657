//! Responses with a secret that is shown once. They are never stored, so that a repeat with the
//! same `Idempotency-Key` does not read the secret later.

use axum::Json;
use axum::extract::Extension;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::route::describe::{Content, Operation, Output, schema_of};

/// What was created, or what else the status says, with its secret.
#[derive(Debug)]
pub(crate) struct ShownOnce<T, const STATUS: u16 = 201>(pub(crate) T);

/// The mark of a response with a secret.
#[derive(Debug, Clone, Copy)]
struct SecretResponse;

/// Returns whether a response has a secret.
pub(crate) fn has_secret(response: &Response) -> bool {
    response.extensions().get::<SecretResponse>().is_some()
}

impl<T: Serialize, const STATUS: u16> IntoResponse for ShownOnce<T, STATUS> {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(STATUS).unwrap_or(StatusCode::CREATED);
        (status, Extension(SecretResponse), Json(self.0)).into_response()
    }
}

impl<T: JsonSchema, const STATUS: u16> Output for ShownOnce<T, STATUS> {
    fn describe(operation: &mut Operation) {
        operation.responses.push((STATUS, Some(Content::json(schema_of::<T>))));
    }
}
