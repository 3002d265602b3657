//! Requests that are repeated with the same `Idempotency-Key`: done once, and
//! answered the same each time.
//!
//! That a request has begun is stored before it is done, and its answer after.
//! If the server dies in between, nobody knows what became of it, and a repeat
//! is told so rather than done again.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ostler_api::problem::{Code, MEDIA_TYPE};
use ostler_domain::id::RecordId;
use ostler_store::{ANSWERS, OrgStore, Record, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::body;
use crate::caller::Caller;
use crate::refused::{Refused, Result};
use crate::server::Server;

const NAME: HeaderName = HeaderName::from_static("idempotency-key");
/// The most characters of a key.
const MOST_KEY: usize = 128;

/// What is kept of a request.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// What was asked for, as a fingerprint.
    request: String,
    /// What was answered, once it was.
    answer: Option<Answer>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    status: u16,
    body: String,
}

/// Does a request once, if it says what it is known by.
pub(crate) async fn once(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Result<Response> {
    let caller = request.extensions().get::<Caller>().cloned();
    let key = key(request.headers())?;
    let (Some(caller), Some(key), &Method::POST) = (caller, key, request.method()) else {
        return Ok(next.run(request).await);
    };
    let (head, body) = request.into_parts();
    let body = body::read(body, body::MOST).await?;
    let asked = hash(&[head.uri.path().as_bytes(), &body]);
    let id = record(&hash(&[&caller.key.id.as_u128().to_be_bytes(), key.as_bytes()]));
    let asked: String = asked.iter().map(|byte| format!("{byte:02x}")).collect();
    let store = server.parts.store.org(caller.org);
    let begun = Kept { request: asked.clone(), answer: None };
    match store.create_record(ANSWERS, id, write(&begun)).await {
        Ok(()) => {}
        Err(StoreError::Conflict(_)) => return again(&store.record(ANSWERS, id).await?, &asked),
        Err(other) => return Err(other.into()),
    }
    let answer = next.run(Request::from_parts(head, Body::from(body))).await;
    keep(store, id, asked, answer).await
}

fn key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get(NAME) else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=MOST_KEY).contains(&text.len()));
    let bad = "`Idempotency-Key` has 1 to 128 visible characters";
    text.map(|text| Some(text.to_owned())).ok_or_else(|| Refused::new(Code::BadRequest, bad))
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

fn record(hash: &[u8; 32]) -> RecordId {
    RecordId::from_u128(hash.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte)))
}

fn write(kept: &Kept) -> String {
    serde_json::to_string(kept).unwrap_or_default()
}

/// Answers a repeat.
fn again(record: &Record, asked: &str) -> Result<Response> {
    let kept: Kept =
        serde_json::from_str(&record.data).map_err(|error| Refused::internal(&error))?;
    if kept.request != asked {
        let detail = "this `Idempotency-Key` was sent with another request; use a new one for each";
        return Err(Refused::new(Code::KeyReused, detail));
    }
    let Some(Answer { status, body }) = kept.answer else {
        let detail = "the same request was begun and its end is not known; \
            look whether it was done before you send it with a new key";
        return Err(Refused::new(Code::InProgress, detail));
    };
    let status = StatusCode::from_u16(status).map_err(|error| Refused::internal(&error))?;
    let media_type = if status.is_success() { "application/json" } else { MEDIA_TYPE };
    let mut answer = (status, body).into_response();
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    Ok(answer)
}

/// Keeps an answer, and gives it. What failed on this side may be tried again,
/// and its key is free for that only where nothing was done: a person looks.
async fn keep(
    store: OrgStore<'_>,
    id: RecordId,
    request: String,
    answer: Response,
) -> Result<Response> {
    let (head, body) = answer.into_parts();
    let body = body::read(body, usize::MAX).await?;
    if !head.status.is_server_error() {
        let text = String::from_utf8_lossy(&body).into_owned();
        let answer = Some(Answer { status: head.status.as_u16(), body: text });
        let read = store.record(ANSWERS, id).await?;
        store.update_record(ANSWERS, &read, write(&Kept { request, answer })).await?;
    }
    Ok(Response::from_parts(head, Body::from(body)))
}
