//! Routes for contacts. A contact may be named by id, identifier on a channel or name.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::contact::{
    ContactDetail, ContactEntry, ContactIdentifier, MergeRequest, MergedContact,
};
use ostler_api::page::{MAX_LIMIT, Page};
use ostler_domain::org::permission::OrgPermission::{Configure, Operate, View};
use ostler_runtime::operations::{ContactSummary, OperationError, Person};
use ostler_store::{MergeCounts, StoredContact};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::tagged::{IfMatch, Numbered};
use super::{OrgRequest, PathId};
use crate::body::{JsonBody, QueryParams, parse_cursor};
use crate::error::{ApiError, Result};
use crate::route::{Route, delete, get, post};
use crate::wire;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(View, "/contacts", "listContacts", "List contacts, oldest first", list),
        get(
            View,
            "/contacts/{contact}",
            "getContact",
            "Show a contact with its identifiers and conversations",
            show,
        ),
        post(
            Operate,
            "/contacts/{contact}/merge",
            "mergeContacts",
            "Merge another contact into this one",
            merge,
        )
        .example(json!({"other": "rosa@example.com"})),
        delete(
            Configure,
            "/contacts/{contact}",
            "deleteContact",
            "Delete everything that is stored about a contact",
            erase,
        ),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ContactsQuery {
    /// Lists contacts with this text in their name, e-mail address, number or tags.
    search: Option<String>,
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn list(
    request: OrgRequest,
    QueryParams(query): QueryParams<ContactsQuery>,
) -> Result<Json<Page<ContactEntry>>> {
    let limit = query.limit.unwrap_or(MAX_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let after = parse_cursor(query.cursor.as_deref())?;
    let found = request.operations().contacts(query.search.as_deref(), after, limit).await;
    let found = request.hide_foreign_org(found)?;
    let next = found.last().filter(|_| found.len() == limit).map(|one| one.contact.id.to_string());
    Ok(Json(Page { items: found.into_iter().map(entry).collect(), next }))
}

async fn show(request: OrgRequest, PathId(name): PathId) -> Result<Numbered<ContactDetail>> {
    let stored = request.find_contact(&name).await?;
    let operations = request.operations();
    let summary = request.hide_foreign_org(operations.contact_summary(stored).await)?;
    let ContactSummary { contact, identifiers } = summary;
    let person = Person::Contact(contact.clone());
    let sessions = operations.interactions(&person).await;
    let sessions = request.hide_foreign_org(sessions)?;
    let identifiers = identifiers.into_iter();
    let version = contact.version;
    let resource = ContactDetail {
        contact: entry(contact),
        identifiers: identifiers
            .map(|(channel, identifier)| ContactIdentifier { channel, identifier })
            .collect(),
        sessions: sessions.iter().map(wire::session).collect(),
    };
    Ok(Numbered { resource, version })
}

async fn merge(
    request: OrgRequest,
    PathId(name): PathId,
    based_on: IfMatch,
    JsonBody(body): JsonBody<MergeRequest>,
) -> Result<Json<MergedContact>> {
    let kept = request.find_contact(&name).await?;
    check(&based_on, &kept)?;
    let other = request.find_contact(&body.other).await?;
    let merged = request.operations().merge_contacts(&kept, &other).await;
    let (contact, counts) = request.hide_foreign_org(merged)?;
    let MergeCounts { identifiers, conversations, records } = counts;
    Ok(Json(MergedContact { contact, identifiers, conversations, records }))
}

async fn erase(request: OrgRequest, PathId(name): PathId, based_on: IfMatch) -> Result<StatusCode> {
    let stored = request.find_contact(&name).await?;
    check(&based_on, &stored)?;
    request.hide_foreign_org(request.operations().delete_contact(stored.contact.id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Fails if a contact has another version than a change is based on. A merge fails too if the
/// contact changes afterwards.
fn check(based_on: &IfMatch, stored: &StoredContact) -> Result<()> {
    match based_on.number() {
        Some(expected) if expected != stored.version => Err(OperationError::Changed.into()),
        _ => Ok(()),
    }
}

impl OrgRequest {
    /// Returns the contact that a path names.
    pub(super) async fn find_contact(&self, name: &str) -> Result<StoredContact> {
        match self.hide_foreign_org(self.operations().find_person(name).await)? {
            Person::Contact(stored) => Ok(stored),
            Person::Visitor(_) => Err(ApiError::not_found("contact")),
        }
    }
}

pub(super) fn entry(stored: StoredContact) -> ContactEntry {
    let StoredContact { contact, created_at, updated_at, .. } = stored;
    ContactEntry { contact, created_at, updated_at }
}
