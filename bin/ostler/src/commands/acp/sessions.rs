//! The sessions of a client: opening, listing and closing them. Each is a thread.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ErrorCode, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
    McpServer, NewSessionRequest, NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse,
    SessionId, SessionInfo,
};
use agent_client_protocol::{Client, Error, Result};
use ostler_domain::id::ThreadId;
use ostler_harness::{Harness, HarnessError, HarnessThread, Store, WorkspaceSource};
use serde_json::Value;
use tokio::sync::watch;

use super::connection::{failed, refused};
use super::session::AcpSession;
use super::{mcp, replay, updates};
use crate::commands::json::rfc3339;
use crate::commands::local_agent::model::SelectedModel;
use crate::commands::local_agent::{LocalAgentArgs, open_workspace, switch_when_free, tools};

/// What the threads of editors belong to.
const RESOURCE: &str = "acp";
/// The setting of a thread with the folder it works in.
const FOLDER: &str = "acpFolder";
/// How long a session of a process that died stays closed to others.
const LEASE: Duration = Duration::from_secs(5);
/// How many messages are read at once.
const PAGE: u32 = 200;

/// The sessions of a client.
pub(super) struct Sessions {
    args: LocalAgentArgs,
    model: Arc<SelectedModel>,
    storage: Store,
    open: Mutex<BTreeMap<String, Arc<AcpSession>>>,
}

impl Sessions {
    pub(super) fn new(args: LocalAgentArgs, model: Arc<SelectedModel>, storage: Store) -> Self {
        Self { args, model, storage, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Arc<AcpSession>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an open session.
    pub(super) fn find(&self, id: &SessionId) -> Result<Arc<AcpSession>> {
        let session = self.open().get(&*id.0).cloned();
        session.ok_or_else(|| not_open(id))
    }

    /// Begins a session.
    pub(super) async fn create(
        &self,
        request: NewSessionRequest,
        client: ConnectionTo<Client>,
    ) -> Result<NewSessionResponse> {
        let folder = request.cwd.display().to_string();
        let session = self.start(&request.cwd, request.mcp_servers, client).await?;
        let thread = session.harness.create_thread(None).await.map_err(failed)?;
        let setting = session.harness.persist_thread_setting(FOLDER, folder.into()).await;
        setting.map_err(failed)?;
        let session = self.enter(session, thread.id);
        Ok(NewSessionResponse::new(session.id.clone())
            .modes(session.modes().await)
            .config_options(session.options()))
    }

    /// Opens a session again, and tells the client what was said in it.
    pub(super) async fn load(
        &self,
        request: LoadSessionRequest,
        client: ConnectionTo<Client>,
    ) -> Result<LoadSessionResponse> {
        let LoadSessionRequest { session_id, cwd, mcp_servers, .. } = request;
        let session = self.reopen(&session_id, &cwd, mcp_servers, client, true).await?;
        Ok(LoadSessionResponse::new()
            .modes(session.modes().await)
            .config_options(session.options()))
    }

    /// Opens a session again.
    pub(super) async fn resume(
        &self,
        request: ResumeSessionRequest,
        client: ConnectionTo<Client>,
    ) -> Result<ResumeSessionResponse> {
        let ResumeSessionRequest { session_id, cwd, mcp_servers, .. } = request;
        let session = self.reopen(&session_id, &cwd, mcp_servers, client, false).await?;
        Ok(ResumeSessionResponse::new()
            .modes(session.modes().await)
            .config_options(session.options()))
    }

    async fn reopen(
        &self,
        id: &SessionId,
        folder: &Path,
        servers: Vec<McpServer>,
        client: ConnectionTo<Client>,
        with_messages: bool,
    ) -> Result<Arc<AcpSession>> {
        let thread: ThreadId = id.0.parse().map_err(|_| not_open(id))?;
        self.close(id)
            .await
            .or_else(|error| if is_not_open(&error) { Ok(()) } else { Err(error) })?;
        let mut session = self.start(folder, servers, client).await?;
        session.id = id.clone();
        if with_messages {
            replay_messages(&session, thread).await?;
        }
        // Events that follow are those of a turn that waits for an answer.
        let harness = session.harness.clone();
        let session = self.enter(session, thread);
        if let Err(error) = switch(&harness, thread).await {
            self.open().remove(&*id.0);
            return Err(error);
        }
        let tasks = harness.tasks();
        if !tasks.is_empty() {
            session.update(updates::plan(&tasks));
        }
        Ok(session)
    }

    /// Builds the harness of a session, with the servers that the client names.
    async fn start(
        &self,
        folder: &Path,
        servers: Vec<McpServer>,
        client: ConnectionTo<Client>,
    ) -> Result<AcpSession> {
        if !folder.is_absolute() {
            return Err(refused("the folder of a session is an absolute path"));
        }
        let workspace = open_workspace(folder).map_err(|error| refused(format!("{error:#}")))?;
        let configs = servers.into_iter().map(|server| mcp::config(server, folder));
        let configs = configs.collect::<Result<Vec<_>>>()?;
        let servers = tools::start_mcp_servers(&self.args, configs).await.map_err(failed)?;
        let tools = tools::load(&self.args, servers.as_ref()).map_err(failed)?;
        let (storage, model) = (self.storage.clone(), self.model.clone());
        let builder = self.args.builder(RESOURCE, storage, Some(folder), model, tools);
        let harness = builder
            .map_err(failed)?
            .workspace(WorkspaceSource::Instance(workspace.clone()))
            .lease(LEASE)
            .build()
            .map_err(failed)?;
        harness.init().await.map_err(failed)?;
        Ok(AcpSession {
            id: SessionId::new(""),
            root: folder.to_owned(),
            harness,
            client,
            workspace,
            servers: tokio::sync::Mutex::new(servers),
            models: self.model.choices(),
            prompt: Arc::default(),
            reported: watch::Sender::new(None),
        })
    }

    /// Returns a harness that lists and deletes threads.
    fn thread_list(&self) -> Result<Harness> {
        let (storage, model) = (self.storage.clone(), self.model.clone());
        let builder = self.args.builder_without_tools(RESOURCE, storage, model);
        builder.map_err(failed)?.build().map_err(failed)
    }

    /// Makes a session known and follows its events.
    fn enter(&self, mut session: AcpSession, thread: ThreadId) -> Arc<AcpSession> {
        session.id = SessionId::new(thread.to_string());
        let session = Arc::new(session);
        self.open().insert(thread.to_string(), session.clone());
        let events = session.harness.subscribe();
        tokio::spawn(session.clone().follow(events));
        session.send_commands();
        session
    }

    /// Returns the sessions that are kept, the most recently used first.
    pub(super) async fn list(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse> {
        let threads = self.thread_list()?.list_threads().await.map_err(failed)?;
        let of_folder = |session: &SessionInfo| {
            request.cwd.as_ref().is_none_or(|folder| session.cwd == *folder)
        };
        let sessions = threads.iter().filter_map(session_info).filter(of_folder);
        Ok(ListSessionsResponse::new(sessions.collect()))
    }

    /// Stops a session and lets go of its thread.
    pub(super) async fn close(&self, id: &SessionId) -> Result<()> {
        let session = self.open().remove(&*id.0).ok_or_else(|| not_open(id))?;
        session.cancel().await;
        let closed = session.harness.close().await;
        if let Some(servers) = session.servers.lock().await.take() {
            servers.shutdown().await;
        }
        closed.map_err(failed)
    }

    /// Deletes a session with everything that was said in it.
    pub(super) async fn delete(&self, id: &SessionId) -> Result<()> {
        let thread: ThreadId = id.0.parse().map_err(|_| not_open(id))?;
        self.close(id)
            .await
            .or_else(|error| if is_not_open(&error) { Ok(()) } else { Err(error) })?;
        self.thread_list()?.delete_thread(thread).await.map_err(refused)
    }

    /// Closes all sessions when the client is gone. One that waits for an answer is left as
    /// it is, so that the question is open when it is loaded again.
    pub(super) async fn close_all(&self) {
        let sessions = std::mem::take(&mut *self.open());
        for session in sessions.into_values() {
            if session.harness.open_asks().await.is_empty()
                && let Err(error) = session.harness.close().await
            {
                tracing::warn!(%error, "a session was not closed");
            }
            if let Some(servers) = session.servers.lock().await.take() {
                servers.shutdown().await;
            }
        }
    }
}

/// Changes to a thread. One that a dead process holds is waited for.
async fn switch(harness: &Harness, thread: ThreadId) -> Result<()> {
    match switch_when_free(harness, thread, LEASE * 2).await {
        Ok(()) => Ok(()),
        Err(error @ (HarnessError::UnknownThread(_) | HarnessError::ThreadInUse { .. })) => {
            Err(refused(error))
        }
        Err(error) => Err(failed(error)),
    }
}

async fn replay_messages(session: &AcpSession, thread: ThreadId) -> Result<()> {
    let mut after = 0;
    loop {
        let page = session.harness.messages(thread, after, PAGE).await.map_err(refused)?;
        after += page.len() as i64;
        for message in &page {
            for update in replay::updates(message, &session.root) {
                session.update(update);
            }
        }
        if page.is_empty() {
            return Ok(());
        }
    }
}

fn session_info(thread: &HarnessThread) -> Option<SessionInfo> {
    let folder = thread.metadata.settings.get(FOLDER).and_then(Value::as_str)?;
    let info = SessionInfo::new(thread.id.to_string(), folder);
    Some(info.title(thread.title.clone()).updated_at(rfc3339(thread.updated_at)))
}

fn not_open(id: &SessionId) -> Error {
    Error::new(ErrorCode::ResourceNotFound, format!("there is no session {id}"))
}

fn is_not_open(error: &Error) -> bool {
    error.code == ErrorCode::ResourceNotFound
}
