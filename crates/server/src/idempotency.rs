//! Requests repeated with the same `Idempotency-Key` run once and get the same
//! response each time.
//!
//! A record is stored before the request runs, and the response after it. If the
//! server dies in between, the outcome is unknown: a repeat is told so and does
//! not run again. The same goes for a response with a secret, which is not stored.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ostler_api::problem::{PROBLEM_MEDIA_TYPE, ProblemCode};
use ostler_domain::id::RecordId;
use ostler_store::{IDEMPOTENCY_RECORD_KIND, OrgStore, Record, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::body::{self, BodyHasPlace};
use crate::caller::Caller;
use crate::error::{ApiError, Result};
use crate::server::Server;
use crate::{refusals, resources, shown_once};

const HEADER: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_KEY_LENGTH: usize = 128;

/// What is stored of a request.
#[derive(Debug, Serialize, Deserialize)]
struct IdempotencyRecord {
    /// Hash of path and body.
    fingerprint: String,
    /// Set when the request has finished, unless the response has a secret.
    response: Option<StoredResponse>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredResponse {
    status: u16,
    body: String,
}

/// Middleware: runs a POST with an `Idempotency-Key` once.
pub(crate) async fn run_once(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Result<Response> {
    let caller = request.extensions().get::<Caller>().cloned();
    let key = key(request.headers())?;
    let (Some(caller), Some(key), &Method::POST) = (caller, key, request.method()) else {
        return Ok(next.run(request).await);
    };
    let about = refusals::org_of_path(&server, request.uri().path()).await;
    let limit = resources::max_body(&caller, request.uri().path());
    let Some(org) = caller.storage_org(about) else {
        return Ok(next.run(request).await);
    };
    let (mut head, body) = request.into_parts();
    // Its place among the large ones is kept until the handler has ended.
    let read = server.bodies.read(body, limit).await?;
    let body = read.bytes.clone();
    head.extensions.insert(BodyHasPlace);
    let fingerprint = hash(&[head.uri.path().as_bytes(), &body]);
    let id = record_id(&hash(&[&caller.id().to_be_bytes(), key.as_bytes()]));
    let fingerprint: String = fingerprint.iter().map(|byte| format!("{byte:02x}")).collect();
    let store = server.deps.store.org(org);
    let started = IdempotencyRecord { fingerprint: fingerprint.clone(), response: None };
    match store.create_record(IDEMPOTENCY_RECORD_KIND, id, to_json(&started)).await {
        Ok(()) => {}
        Err(StoreError::Conflict(_)) => {
            return replay(&store.record(IDEMPOTENCY_RECORD_KIND, id).await?, &fingerprint);
        }
        Err(other) => return Err(other.into()),
    }
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    drop(read);
    store_response(store, id, fingerprint, response).await
}

fn key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=MAX_KEY_LENGTH).contains(&text.len()));
    let bad = "`Idempotency-Key` must have 1 to 128 visible characters";
    text.map(|text| Some(text.to_owned()))
        .ok_or_else(|| ApiError::new(ProblemCode::BadRequest, bad))
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

fn record_id(hash: &[u8; 32]) -> RecordId {
    RecordId::from_u128(hash.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte)))
}

fn to_json(record: &IdempotencyRecord) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// Responds to a repeat.
fn replay(record: &Record, fingerprint: &str) -> Result<Response> {
    let record: IdempotencyRecord =
        serde_json::from_str(&record.data).map_err(|error| ApiError::internal(&error))?;
    if record.fingerprint != fingerprint {
        let detail = "this `Idempotency-Key` was sent with another request; use a new one for each";
        return Err(ApiError::new(ProblemCode::KeyReused, detail));
    }
    let Some(StoredResponse { status, body }) = record.response else {
        let detail = "the same request was made before, and its outcome is not known or has a \
            secret that is shown once; check whether it took effect before you send it with a new \
            key";
        return Err(ApiError::new(ProblemCode::InProgress, detail));
    };
    let status = StatusCode::from_u16(status).map_err(|error| ApiError::internal(&error))?;
    let media_type = if status.is_success() { "application/json" } else { PROBLEM_MEDIA_TYPE };
    let mut response = (status, body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    Ok(response)
}

/// Stores a response and returns it. A server error is not stored: whether the
/// request took effect is unknown, and a repeat is told so. Neither is a secret.
async fn store_response(
    store: OrgStore<'_>,
    id: RecordId,
    request: String,
    response: Response,
) -> Result<Response> {
    if shown_once::has_secret(&response) {
        return Ok(response);
    }
    let (head, body) = response.into_parts();
    let body = body::read(body, usize::MAX).await?;
    if !head.status.is_server_error() {
        let text = String::from_utf8_lossy(&body).into_owned();
        let response = Some(StoredResponse { status: head.status.as_u16(), body: text });
        let read = store.record(IDEMPOTENCY_RECORD_KIND, id).await?;
        store
            .update_record(
                IDEMPOTENCY_RECORD_KIND,
                &read,
                to_json(&IdempotencyRecord { fingerprint: request, response }),
            )
            .await?;
    }
    Ok(Response::from_parts(head, Body::from(body)))
}
