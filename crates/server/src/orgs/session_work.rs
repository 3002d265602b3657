//! Routes for what people do with sessions besides answering.

use axum::Json;
use axum::http::StatusCode;
use ostler_api::page::{Page, PageQuery};
use ostler_api::session_work::{
    AssigneeRequest, AssigneeResponse, CannedReply, FoundMessage, NoteRequest, NoteResponse,
    ReadRequest, SessionNote, SessionWork,
};
use ostler_domain::id::{NoteId, SessionId};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use ostler_runtime::operations::SessionWorkDetail;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::tagged::{IfMatch, Versioned};
use super::{OrgRequest, PathId, PathIds};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, delete, get, post, put};
use crate::wire;

pub(crate) fn routes() -> Vec<Route> {
    vec![
        get(
            View,
            "/sessions/{session}/work",
            "getSessionWork",
            "Show who looks after a session, its notes and the canned replies",
            show,
        ),
        put(
            Operate,
            "/sessions/{session}/assignee",
            "assignSessionToPerson",
            "Let a person look after a session; its agent goes on answering. The `ETag` is that of `work`",
            assign,
        )
        .example(json!({"person": "me"})),
        delete(
            Operate,
            "/sessions/{session}/assignee",
            "unassignSession",
            "Leave a session to nobody in particular. The `ETag` is that of `work`",
            unassign,
        ),
        post(
            Operate,
            "/sessions/{session}/notes",
            "addSessionNote",
            "Add a note that neither the customer nor an agent reads",
            add_note,
        )
        .example(json!({"text": "She called yesterday, see the order."})),
        delete(
            Operate,
            "/sessions/{session}/notes/{note}",
            "deleteSessionNote",
            "Delete a note that the caller wrote",
            delete_note,
        ),
        put(
            View,
            "/sessions/{session}/read",
            "markSessionRead",
            "Remember how far the caller has read",
            mark_read,
        )
        .example(json!({})),
        get(
            View,
            "/messages",
            "searchMessages",
            "Find messages by the beginnings of their words, newest session first",
            search,
        ),
    ]
}

async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Versioned<SessionWork>> {
    let id = request.session_id(&id).await?;
    let found = request.hide_foreign_org(request.operations().session_work(id).await)?;
    let SessionWorkDetail { listed, notes, canned_replies } = found;
    let notes = notes.into_iter().map(|note| SessionNote {
        id: note.id,
        author: note.author,
        text: note.text,
        created_at: note.created_at,
    });
    let replies = canned_replies.into_iter().map(|(name, text)| CannedReply { name, text });
    let value = SessionWork {
        assignee: listed.assignment.map(|one| one.user),
        assigned_by: listed.assignment.map(|one| one.by),
        assigned_at: listed.assignment.map(|one| one.at),
        unread: listed.unread,
        notes: notes.collect(),
        canned_replies: replies.collect(),
    };
    Ok(Versioned { basis: json!(value.assignee), value })
}

/// Fails if another person looks after a session than a change is based on.
async fn check(request: &OrgRequest, id: SessionId, based_on: &IfMatch) -> Result<()> {
    let assignee = async {
        let found = request.hide_foreign_org(request.operations().session_work(id).await)?;
        Ok(json!(found.listed.assignment.map(|one| one.user)))
    };
    based_on.check_current(assignee).await
}

async fn assign(
    request: OrgRequest,
    PathId(id): PathId,
    based_on: IfMatch,
    JsonBody(wanted): JsonBody<AssigneeRequest>,
) -> Result<Json<AssigneeResponse>> {
    let id = request.session_id(&id).await?;
    let _turn = based_on.turn(request.server()).await;
    check(&request, id, &based_on).await?;
    let assigned = request.operations().assign_person(id, &wanted.person).await;
    Ok(Json(AssigneeResponse { assignee: request.hide_foreign_org(assigned)? }))
}

async fn unassign(
    request: OrgRequest,
    PathId(id): PathId,
    based_on: IfMatch,
) -> Result<StatusCode> {
    let id = request.session_id(&id).await?;
    let _turn = based_on.turn(request.server()).await;
    check(&request, id, &based_on).await?;
    request.hide_foreign_org(request.operations().unassign_person(id).await)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn add_note(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(note): JsonBody<NoteRequest>,
) -> Result<Json<NoteResponse>> {
    let id = request.session_id(&id).await?;
    let added = request.operations().add_note(id, &note.text).await;
    Ok(Json(NoteResponse { id: request.hide_foreign_org(added)? }))
}

async fn delete_note(request: OrgRequest, PathIds(session, note): PathIds) -> Result<StatusCode> {
    let session = request.session_id(&session).await?;
    let note: NoteId = body::parse_id(&note, "note")?;
    request.hide_foreign_org(request.operations().delete_note(session, note).await)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn mark_read(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(read): JsonBody<ReadRequest>,
) -> Result<StatusCode> {
    let id = request.session_id(&id).await?;
    request.hide_foreign_org(request.operations().mark_read(id, read.up_to).await)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SearchQuery {
    /// Words or their beginnings; a message has them all.
    words: String,
    /// `next` of the previous page. A page may be short or empty and still have one.
    cursor: Option<String>,
    limit: Option<u32>,
}

async fn search(
    request: OrgRequest,
    QueryParams(query): QueryParams<SearchQuery>,
) -> Result<Json<Page<FoundMessage>>> {
    let limit = PageQuery { cursor: None, limit: query.limit }.page_size();
    let before = body::parse_cursor(query.cursor.as_deref())?;
    let found = request.operations().search_messages(&query.words, before, limit).await;
    let (found, next) = request.hide_foreign_org(found)?;
    let items = found.into_iter().map(|one| FoundMessage {
        session: wire::session(&one.session),
        seq: one.seq,
        message: wire::message(&one.message),
        excerpt: one.excerpt,
    });
    Ok(Json(Page { items: items.collect(), next: next.map(|id| id.to_string()) }))
}
