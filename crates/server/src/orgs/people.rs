//! Routes for people who have written, contacts or not: visitors, what is stored about a person,
//! and deleting it. A person is named by id, identifier on a channel or name.

use axum::Json;
use ostler_api::contact::{
    ContactIdentifier, LinkVisitorRequest, LinkedVisitor, Person, PersonDetail, PersonalData,
    StoredData, Visitor,
};
use ostler_api::page::{MAX_LIMIT, Page};
use ostler_api::problem::ProblemCode;
use ostler_domain::org::permission::OrgPermission::{Configure, Operate, View};
use ostler_runtime::operations;
use ostler_store::{ChannelVisitor, PersonalDataCounts, PersonalDataKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::contacts::entry;
use super::{OrgRequest, PathId};
use crate::body::{JsonBody, QueryParams, parse_cursor};
use crate::error::{ApiError, Result};
use crate::route::{Route, delete, get, post};
use crate::wire;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/visitors",
            "listVisitors",
            "List people who have written and are no contacts, those of the newest conversations \
             first",
            visitors,
        ),
        get(
            View,
            "/people/{person}",
            "getPerson",
            "Show a contact or a visitor with identifiers, conversations and what they cost",
            show,
        ),
        delete(
            Configure,
            "/people/{person}",
            "deletePerson",
            "Delete everything that is stored about a contact or a visitor",
            erase,
        ),
        get(
            Configure,
            "/people/{person}/stored-data",
            "countPersonalData",
            "Count what is stored about a contact or a visitor",
            count,
        ),
        post(
            Operate,
            "/people/{person}/link",
            "linkVisitor",
            "Say which contact a visitor is, so that agents show the contact's own records",
            link,
        )
        .example(json!({"contact": "rosa@example.com"})),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct VisitorsQuery {
    /// Lists visitors with this text in their identifier.
    search: Option<String>,
    cursor: Option<String>,
    limit: Option<u32>,
}

/// Lists visitors. The cursor is how many came before, because visitors are found in
/// conversations.
async fn visitors(
    request: OrgRequest,
    QueryParams(query): QueryParams<VisitorsQuery>,
) -> Result<Json<Page<Visitor>>> {
    let limit = query.limit.unwrap_or(MAX_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let skipped: u32 = parse_cursor(query.cursor.as_deref())?.unwrap_or_default();
    let end = (skipped as usize).saturating_add(limit);
    let most = u32::try_from(end.saturating_add(1)).unwrap_or(u32::MAX);
    let found = request.operations().visitors(query.search.as_deref(), most).await;
    let found = request.hide_foreign_org(found)?;
    let next = (found.len() > end).then(|| end.to_string());
    let page = found.into_iter().skip(skipped as usize).take(limit);
    Ok(Json(Page { items: page.map(visitor).collect(), next }))
}

async fn show(request: OrgRequest, PathId(name): PathId) -> Result<Json<PersonDetail>> {
    let operations = request.operations();
    let person = request.hide_foreign_org(operations.find_person_by_beginning(&name).await)?;
    let identifiers = match &person {
        operations::Person::Contact(stored) => {
            let summary = operations.contact_summary(stored.clone()).await;
            request.hide_foreign_org(summary)?.identifiers
        }
        operations::Person::Visitor(one) => vec![(one.channel.clone(), one.identifier.clone())],
    };
    let identifiers = identifiers.into_iter();
    let sessions = request.hide_foreign_org(operations.interactions(&person).await)?;
    let stored = match operations.check(Configure).await {
        Ok(()) => Some(kinds(request.hide_foreign_org(operations.stored_data(&person).await)?)),
        Err(_) => None,
    };
    Ok(Json(PersonDetail {
        identifiers: identifiers
            .map(|(channel, identifier)| ContactIdentifier { channel, identifier })
            .collect(),
        sessions: sessions.iter().map(wire::session).collect(),
        credits: request.hide_foreign_org(operations.credits_of(&person).await)?,
        stored,
        person: match person {
            operations::Person::Contact(stored) => Person::Contact(entry(stored)),
            operations::Person::Visitor(one) => Person::Visitor(visitor(one)),
        },
    }))
}

async fn erase(request: OrgRequest, PathId(name): PathId) -> Result<Json<PersonalData>> {
    let deleted = request.operations().delete_person(&name).await;
    Ok(Json(PersonalData { items: kinds(request.hide_foreign_org(deleted)?) }))
}

async fn count(request: OrgRequest, PathId(name): PathId) -> Result<Json<PersonalData>> {
    let operations = request.operations();
    let person = request.hide_foreign_org(operations.find_person(&name).await)?;
    let counts = request.hide_foreign_org(operations.stored_data(&person).await)?;
    Ok(Json(PersonalData { items: kinds(counts) }))
}

async fn link(
    request: OrgRequest,
    PathId(name): PathId,
    JsonBody(body): JsonBody<LinkVisitorRequest>,
) -> Result<Json<LinkedVisitor>> {
    let operations = request.operations();
    let visitor = match request.hide_foreign_org(operations.find_person(&name).await)? {
        operations::Person::Visitor(visitor) => visitor,
        operations::Person::Contact(stored) => {
            let detail = format!(
                "{name} is the contact {} already; join two contacts with `ostler contact merge`",
                stored.contact.name
            );
            return Err(ApiError::new(ProblemCode::Invalid, detail));
        }
    };
    let contact = request.find_contact(&body.contact).await?;
    request.hide_foreign_org(operations.link_visitor(&visitor, &contact).await)?;
    let contact = contact.contact;
    Ok(Json(LinkedVisitor {
        contact: contact.id,
        name: contact.name,
        channel: visitor.channel,
        identifier: visitor.identifier,
    }))
}

fn visitor(found: ChannelVisitor) -> Visitor {
    let ChannelVisitor { channel, identifier, conversation } = found;
    Visitor { channel, identifier, conversation }
}

fn kinds(counts: PersonalDataCounts) -> Vec<StoredData> {
    let counts = counts.into_iter();
    counts.map(|(kind, count)| StoredData { kind: kind_name(kind), count }).collect()
}

/// Returns the name of a kind in the API.
pub(super) fn kind_name(kind: PersonalDataKind) -> String {
    json!(kind).as_str().unwrap_or_default().to_owned()
}
