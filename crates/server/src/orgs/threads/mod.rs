//! Routes for threads of the interactive harness. A thread belongs to the caller; for
//! anybody else it does not exist.

pub(crate) mod answers;
pub(crate) mod events;
pub(crate) mod images;
pub(crate) mod list;
pub(crate) mod settings;
mod snapshot;
pub(crate) mod turns;

use axum::Json;
use axum::http::StatusCode;
use ostler_api::problem::ProblemCode;
use ostler_api::thread::{
    CloneThreadRequest, CreateThreadRequest, RenameThreadRequest, ThreadSnapshot,
};
use ostler_domain::id::ThreadId;
use ostler_harness::{Harness, HarnessThread};
use ostler_runtime::operations::ThreadAccess;

use super::tagged::{IfMatch, Versioned};
use super::{OrgRequest, PathId};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::route::{Route, delete, get, patch, post};
use crate::threads::{LiveThread, ThreadOwner};
use ostler_domain::org::permission::OrgPermission::{Operate, View};
use serde_json::{Value, json};

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = vec![
        get(
            View,
            "/threads",
            "listThreads",
            "List the caller's threads, the most recently used first",
            list::threads,
        ),
        post(Operate, "/threads", "createThread", "Create a thread", create)
            .example(json!({"title": "First"})),
        get(View, "/threads/{thread}", "getThread", "Show what is going on in a thread", show),
        patch(Operate, "/threads/{thread}", "renameThread", "Rename a thread", rename)
            .example(json!({"title": "Second"})),
        delete(Operate, "/threads/{thread}", "deleteThread", "Delete a thread", delete_thread),
        post(
            Operate,
            "/threads/{thread}/clone",
            "cloneThread",
            "Make a thread with the messages of this one, all or up to a message",
            clone,
        )
        .example(json!({"title": "Copy"})),
        get(
            View,
            "/threads/{thread}/messages",
            "listThreadMessages",
            "List messages in order",
            list::messages,
        ),
        get(
            View,
            "/threads/{thread}/events",
            "followThread",
            "Follow the events of a thread",
            events::follow,
        )
        .returns_content("text/event-stream"),
    ];
    routes.extend(turns::routes());
    routes.extend(images::routes());
    routes.extend(settings::routes());
    routes
}

/// Longest title, in characters.
const MAX_TITLE: usize = 200;

impl OrgRequest {
    async fn stored_thread(&self, id: ThreadId) -> Result<HarnessThread> {
        let thread = self.server.deps.store.org(self.org).thread(id).await?;
        thread.map(Into::into).ok_or_else(|| ApiError::not_found("thread"))
    }

    /// Returns the owner of the caller's threads.
    pub(super) async fn thread_owner(&self, access: ThreadAccess) -> Result<ThreadOwner> {
        let resource = self.hide_foreign_org(self.operations().thread_owner(access).await)?;
        Ok(ThreadOwner { org: self.org, resource })
    }

    /// Returns the owner, and the thread that a path names.
    pub(super) async fn find_thread(
        &self,
        access: ThreadAccess,
        name: &str,
    ) -> Result<(ThreadOwner, HarnessThread)> {
        let owner = self.thread_owner(access).await?;
        let store = self.server.deps.store.org(owner.org);
        let id = super::find_id(name, "thread", async {
            let recent = store.threads(&owner.resource, None, super::SEARCH_LIMIT).await?;
            Ok(recent.into_iter().map(|thread| thread.id).collect())
        })
        .await?;
        match store.thread(id).await? {
            Some(thread) if thread.resource == owner.resource => Ok((owner, thread.into())),
            _ => Err(ApiError::not_found("thread")),
        }
    }

    /// Returns the thread that a path names, open for work.
    pub(super) async fn open_thread(
        &self,
        access: ThreadAccess,
        name: &str,
    ) -> Result<(ThreadOwner, ThreadId, LiveThread)> {
        let (owner, thread) = self.find_thread(access, name).await?;
        let live = self.server.threads.open(&owner, thread.id).await?;
        Ok((owner, thread.id, live))
    }

    async fn keep(
        &self,
        owner: &ThreadOwner,
        thread: HarnessThread,
        harness: Harness,
    ) -> Result<(StatusCode, Json<HarnessThread>)> {
        self.server.threads.keep(owner, thread.id, harness).await?;
        Ok((StatusCode::CREATED, Json(thread)))
    }
}

fn check_title(title: Option<&str>) -> Result<()> {
    if title.is_some_and(|title| title.trim().is_empty() || title.chars().count() > MAX_TITLE) {
        let detail = format!("a title has 1 to {MAX_TITLE} characters");
        return Err(ApiError::new(ProblemCode::Invalid, detail));
    }
    Ok(())
}

pub(crate) async fn create(
    request: OrgRequest,
    JsonBody(new): JsonBody<Option<CreateThreadRequest>>,
) -> Result<(StatusCode, Json<HarnessThread>)> {
    let CreateThreadRequest { title, mode_id } = new.unwrap_or_default();
    check_title(title.as_deref())?;
    let owner = request.thread_owner(ThreadAccess::Work).await?;
    let harness = request.server.threads.new_harness(&owner).await?;
    if let Some(mode) = mode_id {
        harness.switch_mode(&mode).await?;
    }
    let thread = harness.create_thread(title.as_deref()).await?;
    request.keep(&owner, thread, harness).await
}

pub(crate) async fn show(
    request: OrgRequest,
    PathId(id): PathId,
) -> Result<Versioned<ThreadSnapshot>> {
    let (owner, thread) = request.find_thread(ThreadAccess::Read, &id).await?;
    let value = snapshot::read(&request.server, &owner, thread).await?;
    Ok(Versioned { basis: title(&value.thread), value })
}

/// Returns what a rename is based on: the rest of a thread changes while a turn runs.
fn title(thread: &Value) -> Value {
    json!({"id": thread["id"], "title": thread["title"]})
}

pub(crate) async fn rename(
    request: OrgRequest,
    PathId(id): PathId,
    based_on: IfMatch,
    JsonBody(body): JsonBody<RenameThreadRequest>,
) -> Result<Versioned<HarnessThread>> {
    check_title(Some(&body.title))?;
    let (_, id, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    let _turn = based_on.turn(&request.server).await;
    based_on.check(&title(&json!(request.stored_thread(id).await?)))?;
    live.harness.rename_thread(&body.title).await?;
    let value = request.stored_thread(id).await?;
    Ok(Versioned { basis: title(&json!(value)), value })
}

pub(crate) async fn delete_thread(
    request: OrgRequest,
    PathId(id): PathId,
    based_on: IfMatch,
) -> Result<StatusCode> {
    let (_, id, live) = request.open_thread(ThreadAccess::Work, &id).await?;
    let _turn = based_on.turn(&request.server).await;
    based_on.check_current(async { Ok(title(&json!(request.stored_thread(id).await?))) }).await?;
    live.harness.delete_thread(id).await?;
    request.server.threads.remove(id);
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a thread with the messages of another one, all or up to one of them.
pub(crate) async fn clone(
    request: OrgRequest,
    PathId(id): PathId,
    JsonBody(copy): JsonBody<Option<CloneThreadRequest>>,
) -> Result<(StatusCode, Json<HarnessThread>)> {
    let CloneThreadRequest { title, up_to } = copy.unwrap_or_default();
    check_title(title.as_deref())?;
    let (owner, thread) = request.find_thread(ThreadAccess::Work, &id).await?;
    let up_to = up_to.as_deref().map(list::message_number).transpose()?;
    let harness = request.server.threads.new_harness(&owner).await?;
    let copy = harness.copy_thread(thread.id, up_to, title.as_deref()).await?;
    request.keep(&owner, copy, harness).await
}
