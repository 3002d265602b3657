//! Routes for knowledge documents.

use std::collections::BTreeSet;

use axum::Json;
use axum::http::StatusCode;
use ostler_api::knowledge::{AddedDocument, Document, DocumentText, NewDocument};
use ostler_api::page::{Page, PageQuery};
use ostler_api::problem::ProblemCode;
use ostler_domain::id::DocumentId;
use ostler_domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OrgRequest, PathId};
use crate::body::{JsonBody, QueryParams};
use crate::error::{ApiError, Result};
use crate::route::{Route, delete, get, post};
use crate::wire;
use ostler_domain::org::permission::OrgPermission::{Configure, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    let document = json!({"title": "Opening hours", "body": "We open at 12.", "tags": ["hours"]});
    vec![
        get(View, "/knowledge", "listDocuments", "List documents", list),
        post(Configure, "/knowledge", "addDocument", "Add a document", add).example(document),
        get(
            View,
            "/knowledge/{document}",
            "getKnowledgeDocument",
            "Show a document with its text",
            show,
        ),
        delete(Configure, "/knowledge/{document}", "removeDocument", "Remove a document", remove),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DocumentsQuery {
    /// Comma-separated; lists documents that share at least one.
    #[serde(default)]
    tags: String,
    cursor: Option<String>,
    limit: Option<u32>,
}

pub(crate) async fn list(
    request: OrgRequest,
    QueryParams(listing): QueryParams<DocumentsQuery>,
) -> Result<Json<Page<Document>>> {
    let DocumentsQuery { tags, cursor, limit } = listing;
    let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    let tags: BTreeSet<String> = tags.map(str::to_owned).collect();
    let limit = PageQuery { cursor: None, limit }.page_size();
    let before = cursor.as_deref().map(parse_document_cursor).transpose()?;
    let found =
        request.hide_foreign_org(request.operations().documents(&tags, before, limit).await)?;
    let found = found.into_iter().map(wire::document).collect();
    let next = |item: &Document| format!("{}.{}", item.updated_at.as_millis(), item.id);
    Ok(Json(Page::from_items(found, limit, next)))
}

/// Parses a cursor: the time of the last change and the document's id.
fn parse_document_cursor(text: &str) -> Result<(Timestamp, DocumentId)> {
    let read = || {
        let (at, id) = text.split_once('.')?;
        Some((Timestamp::from_millis(at.parse().ok()?), id.parse().ok()?))
    };
    read().ok_or_else(|| {
        ApiError::new(ProblemCode::BadRequest, "`cursor` must be the `next` of the previous page")
    })
}

pub(crate) async fn add(
    request: OrgRequest,
    JsonBody(new): JsonBody<NewDocument>,
) -> Result<(StatusCode, Json<AddedDocument>)> {
    let tags: Vec<&str> = new.tags.iter().map(String::as_str).collect();
    let id = request
        .hide_foreign_org(request.operations().add_document(&new.title, &new.body, &tags).await)?;
    Ok((StatusCode::CREATED, Json(AddedDocument { id })))
}

async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<DocumentText>> {
    let id = request.document_id(&id).await?;
    let found = request.hide_foreign_org(request.operations().document(id).await)?;
    Ok(Json(wire::document_text(found)))
}

pub(crate) async fn remove(request: OrgRequest, PathId(id): PathId) -> Result<StatusCode> {
    let id = request.document_id(&id).await?;
    request.hide_foreign_org(request.operations().remove_document(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

impl OrgRequest {
    /// Returns the document that a path names.
    async fn document_id(&self, text: &str) -> Result<DocumentId> {
        super::find_id(text, "document", async {
            let all = BTreeSet::new();
            let recent = self.operations().documents(&all, None, super::SEARCH_LIMIT).await;
            Ok(self.hide_foreign_org(recent)?.iter().map(|document| document.id).collect())
        })
        .await
    }
}
