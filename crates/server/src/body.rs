//! Extractors: JSON bodies within a size limit, queries and path parameters.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use ostler_api::problem::ProblemCode;
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::{ApiError, Result};

/// Limit of operators' bodies: a document and room around it.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;
/// The size up to which JSON is parsed at once: less than a millisecond of work.
const MAX_INLINE_BYTES: usize = 64 * 1024;
/// How many larger bodies are read and handled at the same time.
const MAX_LARGE_BODIES: usize = 4;
/// How long a large body waits for its turn.
const PLACE_WAIT: Duration = Duration::from_secs(10);
/// How long a large body may take to arrive.
const LARGE_BODY_TIME: Duration = Duration::from_secs(60);

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read(body: axum::body::Body, limit: usize) -> Result<Bytes> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(limit)),
        Err(_) => Err(ApiError::new(ProblemCode::BadRequest, "the body was cut off")),
    }
}

fn too_large(limit: usize) -> ApiError {
    ApiError::new(ProblemCode::TooLarge, format!("the body is larger than {limit} bytes"))
}

/// Reads bodies of anonymous senders, of which only a few may be large at the same time.
#[derive(Debug, Clone)]
pub(crate) struct LargeBodies(Arc<Semaphore>);

/// A body, and its place among the large ones while it is handled.
pub(crate) struct ReadBody {
    pub(crate) bytes: Bytes,
    place: BodyPlace,
}

/// The place of a body among the large ones, if it is large. Dropping it frees the place.
#[derive(Debug, Default)]
pub(crate) struct BodyPlace(#[expect(dead_code, reason = "held")] Option<OwnedSemaphorePermit>);

impl ReadBody {
    /// Returns the bytes and the place, which is kept while the body is handled.
    pub(crate) fn into_parts(self) -> (Bytes, BodyPlace) {
        (self.bytes, self.place)
    }
}

/// Marks a request whose body is in memory, with a place among the large ones if it needs one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyHasPlace;

impl Default for LargeBodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_LARGE_BODIES)))
    }
}

impl LargeBodies {
    /// Reads the body of a request as [`Self::read`] does, unless it is in memory already.
    pub(crate) async fn read_request(&self, request: Request, limit: usize) -> Result<ReadBody> {
        if request.extensions().get::<BodyHasPlace>().is_none() {
            return self.read(request.into_body(), limit).await;
        }
        let (bytes, place) = (read(request.into_body(), limit).await?, BodyPlace::default());
        Ok(ReadBody { bytes, place })
    }

    /// Reads a body of at most `limit` bytes. One that may be large waits for a place
    /// first, so that many of them cannot use up the memory.
    pub(crate) async fn read(&self, body: axum::body::Body, limit: usize) -> Result<ReadBody> {
        let declared = body.size_hint().upper().unwrap_or(u64::MAX);
        if declared <= MAX_BYTES as u64 {
            let (bytes, place) = (read(body, limit).await?, BodyPlace::default());
            return Ok(ReadBody { bytes, place });
        }
        if declared != u64::MAX && declared > limit as u64 {
            return Err(too_large(limit));
        }
        let place = timeout(PLACE_WAIT, self.0.clone().acquire_owned()).await;
        let Ok(Ok(place)) = place else {
            let detail = "too many large requests at the moment; try again in a few seconds";
            return Err(ApiError::new(ProblemCode::Unavailable, detail));
        };
        let read = timeout(LARGE_BODY_TIME, read(body, limit)).await;
        let late = |_| ApiError::new(ProblemCode::BadRequest, "the body was sent too slowly");
        Ok(ReadBody { bytes: read.map_err(late)??, place: BodyPlace(Some(place)) })
    }
}

/// A JSON body. An empty body is read as `null`.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send + 'static> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        let body = read(request.into_body(), MAX_BYTES).await?;
        let body = if body.is_empty() { Bytes::from_static(b"null") } else { body };
        let read = parse(body).await.map_err(|error| error.to_string());
        read.map(Self).map_err(|error| {
            ApiError::new(ProblemCode::BadRequest, format!("the body is not valid: {error}"))
        })
    }
}

/// Parses JSON: a large text on a thread of its own, so that it delays nobody else.
pub(crate) async fn parse<T: DeserializeOwned + Send + 'static>(
    body: Bytes,
) -> serde_json::Result<T> {
    if body.len() <= MAX_INLINE_BYTES {
        return serde_json::from_slice(&body);
    }
    let parsed = tokio::task::spawn_blocking(move || serde_json::from_slice(&body)).await;
    parsed.unwrap_or_else(|error| Err(serde::de::Error::custom(error)))
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
