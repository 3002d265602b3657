//! What a request says: its body within a size, its query, the names in its
//! path.

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use ostler_api::problem::Code;
use serde::de::DeserializeOwned;

use crate::refused::{Refused, Result};

/// The most bytes of what operators send: a document, and room around it.
pub(crate) const MOST: usize = 1024 * 1024;

/// The whole body, if it is not longer than that.
pub(crate) async fn read(body: axum::body::Body, most: usize) -> Result<Bytes> {
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Refused::new(Code::TooLarge, format!("the body is larger than {most} bytes")))
        }
        Err(_) => Err(Refused::new(Code::BadRequest, "the body did not arrive as a whole")),
    }
}

/// A body in JSON. An empty one is `null`.
pub(crate) struct Said<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Said<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        let body = read(request.into_body(), MOST).await?;
        let body = if body.is_empty() { Bytes::from_static(b"null") } else { body };
        let read = serde_json::from_slice(&body);
        read.map(Self).map_err(|error| {
            Refused::new(Code::BadRequest, format!("the body cannot be read: {error}"))
        })
    }
}

/// A query.
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let query = Query::<T>::try_from_uri(&parts.uri);
        // The text of the rejection may repeat a token that is in the query.
        query.map(|Query(query)| Self(query)).map_err(|_| {
            Refused::new(Code::BadRequest, "the query cannot be read; look at its names and values")
        })
    }
}

/// A name in a path. What is no id of this kind is not found.
pub(crate) fn id<T: FromStr>(text: &str, what: &str) -> Result<T> {
    text.parse().map_err(|_| Refused::not_found(what))
}

/// What a page before said.
pub(crate) fn cursor<T: FromStr>(text: Option<&str>) -> Result<Option<T>> {
    let bad = || Refused::new(Code::BadRequest, "`cursor` is what the page before calls `next`");
    text.map(|text| text.parse().map_err(|_| bad())).transpose()
}
