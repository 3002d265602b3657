//! Lists of threads and messages.

use axum::Json;
use ostler_api::page::{Page, PageQuery};
use ostler_api::problem::ProblemCode;
use ostler_domain::time::Timestamp;
use ostler_harness::{HarnessMessage, HarnessThread};
use ostler_runtime::operations::ThreadAccess;
use ostler_store::ThreadPlace;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::{OrgRequest, PathId};
use crate::body::QueryParams;
use crate::error::{ApiError, Result};

/// Longest text that is searched for, in characters.
const MAX_SEARCH: usize = 200;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ThreadsQuery {
    /// Lists threads with this text in their title or messages.
    search: Option<String>,
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(crate) async fn threads(
    request: OrgRequest,
    QueryParams(query): QueryParams<ThreadsQuery>,
) -> Result<Json<Page<HarnessThread>>> {
    let ThreadsQuery { search, cursor, limit } = query;
    let owner = request.thread_owner(ThreadAccess::Read).await?;
    let limit = PageQuery { cursor: None, limit }.page_size();
    let after = cursor.as_deref().map(parse_place).transpose()?;
    let store = request.server.deps.store.org(owner.org);
    let found = match search.filter(|text| !text.is_empty()) {
        Some(text) if text.chars().count() > MAX_SEARCH => {
            let detail = format!("search for at most {MAX_SEARCH} characters");
            return Err(ApiError::new(ProblemCode::Invalid, detail));
        }
        Some(text) => store.search_threads(&owner.resource, &text, after, limit).await?,
        None => store.threads(&owner.resource, after, limit).await?,
    };
    let found = found.into_iter().map(HarnessThread::from).collect();
    let next = |thread: &HarnessThread| format!("{}.{}", thread.updated_at.as_millis(), thread.id);
    Ok(Json(Page::from_items(found, limit, next)))
}

fn bad_cursor() -> ApiError {
    ApiError::new(ProblemCode::BadRequest, "`cursor` must be the `next` of the previous page")
}

/// Parses a cursor: the time of the last change and the thread's id.
fn parse_place(text: &str) -> Result<ThreadPlace> {
    let read = || {
        let (at, id) = text.split_once('.')?;
        let updated_at = Timestamp::from_millis(at.parse().ok()?);
        Some(ThreadPlace { updated_at, id: id.parse().ok()? })
    };
    read().ok_or_else(bad_cursor)
}

pub(crate) async fn messages(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<HarnessMessage>>> {
    let (owner, thread) = request.find_thread(ThreadAccess::Read, &id).await?;
    let limit = query.page_size();
    let after = query.cursor.as_deref().map(message_number).transpose()?.unwrap_or(0);
    let store = request.server.deps.store.org(owner.org);
    let found = ostler_harness::read_messages(store, thread.id, after, limit).await?;
    Ok(Json(Page::from_items(found, limit, |message| message.id.clone())))
}

/// Returns the number at the end of a message's id.
pub(super) fn message_number(id: &str) -> Result<i64> {
    let number = id.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
    number.ok_or_else(|| ApiError::new(ProblemCode::BadRequest, format!("`{id}` is no message")))
}
