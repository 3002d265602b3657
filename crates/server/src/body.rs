//! Extractors: JSON bodies within a size limit, queries and path parameters.

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use ostler_api::problem::ProblemCode;
use serde::de::DeserializeOwned;

use crate::error::{ApiError, Result};

/// Limit of operators' bodies: a document and room around it.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read(body: axum::body::Body, limit: usize) -> Result<Bytes> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::new(
            ProblemCode::TooLarge,
            format!("the body is larger than {limit} bytes"),
        )),
        Err(_) => Err(ApiError::new(ProblemCode::BadRequest, "the body was cut off")),
    }
}

/// A JSON body. An empty body is read as `null`.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        let body = read(request.into_body(), MAX_BYTES).await?;
        let body = if body.is_empty() { Bytes::from_static(b"null") } else { body };
        let read = serde_json::from_slice(&body);
        read.map(Self).map_err(|error| {
            ApiError::new(ProblemCode::BadRequest, format!("the body is not valid: {error}"))
        })
    }
}

/// Query parameters.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        // The rejection's own text may contain a token from the query.
        query.map(|Query(query)| Self(query)).map_err(|_| {
            ApiError::new(
                ProblemCode::BadRequest,
                "the query is not valid; check its names and values",
            )
        })
    }
}

/// Parses an id from a path; anything else is not found.
pub(crate) fn parse_id<T: FromStr>(text: &str, what: &str) -> Result<T> {
    text.parse().map_err(|_| ApiError::not_found(what))
}

/// Parses a cursor of a list.
pub(crate) fn parse_cursor<T: FromStr>(text: Option<&str>) -> Result<Option<T>> {
    let bad = || {
        ApiError::new(ProblemCode::BadRequest, "`cursor` must be the `next` of the previous page")
    };
    text.map(|text| text.parse().map_err(|_| bad())).transpose()
}
