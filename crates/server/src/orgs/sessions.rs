//! Routes for sessions: reading, takeover, writing, handing back.

use axum::Json;
use ostler_api::page::{Page, PageQuery};
use ostler_api::session::{
    AssignRequest, AssignResponse, ResumeRequest, SendMessageRequest, Session, SessionDetail,
    SessionFilter, SessionMessage, TakeoverResult,
};
use ostler_api::session_work::{ListedSession, SessionHolder};
use ostler_api::transcript::Transcript;
use ostler_domain::channel::Channel;
use ostler_domain::human::escalation::Urgency;
use ostler_domain::id::SessionId;
use ostler_domain::message::MessagePart;
use ostler_runtime::operations::{self, SessionQuery, Takeover};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{OrgRequest, PathId};
use crate::body::{self, JsonBody, QueryParams};
use crate::error::Result;
use crate::route::{Route, get, post};
use crate::{transcript, wire};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use serde_json::json;

pub(crate) fn routes() -> Vec<Route> {
    let message = json!({"text": "Hello, this is Anna. How can I help?"});
    vec![
        get(View, "/sessions", "listSessions", "List sessions, newest first", list),
        get(View, "/sessions/{session}", "getSession", "Show a session with its messages", show),
        get(
            View,
            "/sessions/{session}/messages",
            "listSessionMessages",
            "List the messages of a session, newest first",
            messages,
        ),
        get(
            View,
            "/sessions/{session}/transcript",
            "getSessionTranscript",
            "Show a session as people read it, with calls, decisions and what people did",
            show_transcript,
        ),
        post(
            Operate,
            "/sessions/{session}/take-over",
            "takeOverSession",
            "Take over: agents stop sending at once",
            take_over,
        ),
        post(
            Operate,
            "/sessions/{session}/messages",
            "sendSessionMessage",
            "Write to the customer, verbatim",
            say,
        )
        .example(message),
        post(
            Operate,
            "/sessions/{session}/resume",
            "resumeSession",
            "Hand back to the agent, with what was settled",
            resume,
        )
        .example(json!({"resolution": "The table is booked for eight."})),
        post(
            Operate,
            "/sessions/{session}/dismiss",
            "dismissEscalation",
            "Dismiss the escalation as a false alarm",
            dismiss,
        ),
        post(Operate, "/sessions/{session}/close", "closeSession", "Close the session", close),
        post(
            Operate,
            "/sessions/{session}/assign",
            "assignSession",
            "Set the team of agents, by id, slug or subtype",
            assign,
        )
        .example(json!({"agents": ["gia"]})),
    ]
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SessionsQuery {
    #[serde(default)]
    which: SessionFilter,
    /// For example `webchat`.
    channel: Option<String>,
    /// Only those with an open escalation of this urgency.
    urgency: Option<Urgency>,
    holder: Option<SessionHolder>,
    /// `next` of the previous page. A page of a filtered list may be short and still have one.
    cursor: Option<String>,
    limit: Option<u32>,
}

impl SessionsQuery {
    fn query(&self) -> SessionQuery {
        SessionQuery {
            handed_off: self.which == SessionFilter::HandedOff,
            assigned_to_me: self.which == SessionFilter::AssignedToMe,
            unread: self.which == SessionFilter::Unread,
            channel: self.channel.as_deref().map(Channel::from),
            urgency: self.urgency,
            holder: self.holder.map(|holder| match holder {
                SessionHolder::Agent => operations::SessionHolder::Agent,
                SessionHolder::Waiting => operations::SessionHolder::Waiting,
                SessionHolder::Person => operations::SessionHolder::Person,
                SessionHolder::Nobody => operations::SessionHolder::Nobody,
            }),
        }
    }
}

pub(crate) async fn list(
    request: OrgRequest,
    QueryParams(listing): QueryParams<SessionsQuery>,
) -> Result<Json<Page<ListedSession>>> {
    let limit = PageQuery { cursor: None, limit: listing.limit }.page_size();
    let before = body::parse_cursor(listing.cursor.as_deref())?;
    let found = request.operations().list_sessions(&listing.query(), before, limit).await;
    let (found, next) = request.hide_foreign_org(found)?;
    let items = found.iter().map(wire::listed_session).collect();
    Ok(Json(Page { items, next: next.map(|id| id.to_string()) }))
}

pub(crate) async fn show(request: OrgRequest, PathId(id): PathId) -> Result<Json<SessionDetail>> {
    let id = request.session_id(&id).await?;
    let operations = request.operations();
    let detail = request.hide_foreign_org(operations.session(id).await)?;
    let timeline = transcript::timeline::timeline(&operations, &detail).await;
    Ok(Json(wire::detail(&detail, request.hide_foreign_org(timeline)?)))
}

pub(crate) async fn messages(
    request: OrgRequest,
    PathId(id): PathId,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Page<SessionMessage>>> {
    let id = request.session_id(&id).await?;
    let limit = page.page_size();
    let before: Option<i64> = body::parse_cursor(page.cursor.as_deref())?;
    let found = request.operations().session_messages(id, before, limit).await;
    let found = request.hide_foreign_org(found)?.into_iter();
    let found = found.map(|(seq, one)| SessionMessage { seq, message: wire::message(&one) });
    let next = |item: &SessionMessage| item.seq.to_string();
    Ok(Json(Page::from_items(found.collect(), limit, next)))
}

async fn show_transcript(request: OrgRequest, PathId(id): PathId) -> Result<Json<Transcript>> {
    let id = request.session_id(&id).await?;
    let found = transcript::load_with_rules(&request.operations(), id).await;
    Ok(Json(request.hide_foreign_org(found)?))
}

pub(crate) async fn take_over(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Json<TakeoverResult>> {
    let id = request.session_id(&id).await?;
    let taken = request.hide_foreign_org(request.operations().take_over(id).await)?;
    let session = wire::session(&taken.session);
    let Takeover { withdrawn, in_flight, still_sending, .. } = taken;
    Ok(Json(TakeoverResult { session, withdrawn, in_flight, still_sending }))
}

pub(crate) async fn say(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(say): JsonBody<SendMessageRequest>,
) -> Result<Json<Session>> {
    let id = request.session_id(&id).await?;
    let parts = vec![MessagePart::text(say.text)];
    Ok(Json(wire::session(&request.hide_foreign_org(request.operations().say(id, parts).await)?)))
}

pub(crate) async fn resume(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(body): JsonBody<Option<ResumeRequest>>,
) -> Result<Json<Session>> {
    let id = request.session_id(&id).await?;
    let resolution = body.unwrap_or_default().resolution;
    let resumed = request.operations().resume_with(id, resolution.as_deref()).await;
    Ok(Json(wire::session(&request.hide_foreign_org(resumed)?)))
}

pub(crate) async fn dismiss(request: OrgRequest, PathId(id): PathId) -> Result<Json<Session>> {
    let id = request.session_id(&id).await?;
    Ok(Json(wire::session(&request.hide_foreign_org(request.operations().dismiss(id).await)?)))
}

pub(crate) async fn close(request: OrgRequest, PathId(id): PathId) -> Result<Json<Session>> {
    let id = request.session_id(&id).await?;
    Ok(Json(wire::session(&request.hide_foreign_org(request.operations().close(id).await)?)))
}

pub(crate) async fn assign(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(assign): JsonBody<AssignRequest>,
) -> Result<Json<AssignResponse>> {
    let id = request.session_id(&id).await?;
    let agents: Vec<&str> = assign.agents.iter().map(String::as_str).collect();
    let agents = request.hide_foreign_org(request.operations().assign(id, &agents).await)?;
    Ok(Json(AssignResponse { agents }))
}

impl OrgRequest {
    /// Returns the session that a path names.
    pub(super) async fn session_id(&self, text: &str) -> Result<SessionId> {
        super::find_id(text, "session", async {
            let all = ostler_store::SessionFilter::All;
            let recent = self.operations().sessions(all, None, super::SEARCH_LIMIT).await;
            Ok(self.hide_foreign_org(recent)?.iter().map(|session| session.id).collect())
        })
        .await
    }
}
