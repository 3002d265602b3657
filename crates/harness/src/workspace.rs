//! The workspace of a harness: how it is provided, opened and reported.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use ostler_domain::tool::Trust;
use ostler_engine::history::CallId;
use ostler_engine::tool::{Tool, ToolContext};
use ostler_workspace::sandbox::{CommandOutput, DiscardOutput, OutputStream};
use ostler_workspace::tools::{CommandListener, RequestExtension, WorkspaceTools};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};

use crate::event::{ToolEvent, WorkspaceEvent, WorkspacePhase};
use crate::mode::HarnessAgent;
use crate::request::HarnessRequestContext;
use crate::session::Core;

type ChooseWorkspace = Arc<dyn Fn(&HarnessRequestContext) -> Option<Arc<Workspace>> + Send + Sync>;

/// How a harness gets its workspace.
#[derive(Clone)]
pub enum WorkspaceSource {
    Instance(Arc<Workspace>),
    /// Chosen for each turn.
    PerRequest(ChooseWorkspace),
    /// Opened by `init`.
    Config(WorkspaceOptions),
}

impl fmt::Debug for WorkspaceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Instance(workspace) => f.debug_tuple("Instance").field(workspace).finish(),
            Self::PerRequest(_) => f.write_str("PerRequest"),
            Self::Config(options) => f.debug_tuple("Config").field(options).finish(),
        }
    }
}

/// The workspace that `init` has opened, and those that turns have used.
#[derive(Debug, Default)]
pub(crate) struct OpenWorkspace {
    opened: RwLock<Option<Arc<Workspace>>>,
    used: Mutex<Vec<Weak<Workspace>>>,
}

impl OpenWorkspace {
    fn get(&self) -> Option<Arc<Workspace>> {
        self.opened.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, workspace: Option<Arc<Workspace>>) {
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = workspace;
    }

    fn used(&self) -> MutexGuard<'_, Vec<Weak<Workspace>>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers that a turn uses a workspace.
    fn add_used(&self, workspace: &Arc<Workspace>) {
        let mut used = self.used();
        used.retain(|known| known.strong_count() > 0);
        if !used.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(workspace))) {
            used.push(Arc::downgrade(workspace));
        }
    }
}

/// Returns the tools that use the workspace of each turn.
pub(crate) fn tools(trust: Trust) -> Vec<Arc<dyn Tool>> {
    let mut tools = WorkspaceTools::new(Arc::new(RequestExtension));
    tools.listener = Some(Arc::new(PublishOutput));
    tools.trust = trust;
    tools.into_tools()
}

/// Publishes the output of commands as events.
struct PublishOutput;

impl CommandListener for PublishOutput {
    fn listen(&self, call: &CallId, context: &ToolContext) -> Arc<dyn CommandOutput> {
        match context.extensions.get::<HarnessRequestContext>() {
            Some(request) => Arc::new(CallOutput { request, call: call.to_string() }),
            None => Arc::new(DiscardOutput),
        }
    }
}

struct CallOutput {
    request: Arc<HarnessRequestContext>,
    call: String,
}

impl CommandOutput for CallOutput {
    fn write(&self, _: OutputStream, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let tool_call_id = self.call.clone();
        self.request.publish(ToolEvent::ToolOutput { tool_call_id, text });
    }
}

impl Core {
    /// Opens the workspace that is configured, and reports how that went. A workspace that
    /// cannot be opened leaves the harness without one.
    pub(crate) async fn open_workspace(&self) {
        let opened = match &self.config.workspace {
            None | Some(WorkspaceSource::PerRequest(_)) => return,
            Some(WorkspaceSource::Instance(workspace)) => {
                self.publish_workspace(WorkspacePhase::Initializing);
                Ok(workspace.clone())
            }
            Some(WorkspaceSource::Config(options)) => {
                self.publish_workspace(WorkspacePhase::Initializing);
                let options = options.clone();
                let opened = tokio::task::spawn_blocking(move || Workspace::open(options)).await;
                match opened {
                    Ok(Ok(workspace)) => Ok(Arc::new(workspace)),
                    Ok(Err(error)) => Err(error.to_string()),
                    Err(error) => Err(error.to_string()),
                }
            }
        };
        match opened {
            Ok(workspace) => {
                self.open_workspace.set(Some(workspace));
                self.publish_workspace(WorkspacePhase::Ready);
                self.publish(None, WorkspaceEvent::WorkspaceReady {});
            }
            Err(error) => {
                self.publish_workspace(WorkspacePhase::Error);
                self.publish(None, WorkspaceEvent::WorkspaceError { error });
            }
        }
    }

    /// Lets go of the workspace.
    pub(crate) fn close_workspace(&self) {
        if self.open_workspace.get().is_some() {
            self.publish_workspace(WorkspacePhase::Destroying);
            self.open_workspace.set(None);
            self.publish_workspace(WorkspacePhase::Destroyed);
        }
    }

    fn publish_workspace(&self, status: WorkspacePhase) {
        self.publish(None, WorkspaceEvent::WorkspaceStatusChanged { status });
    }

    /// Returns the workspace of a turn: that of the agent, or else that of the harness.
    pub(crate) fn workspace_of(
        &self,
        agent: &HarnessAgent,
        request: &HarnessRequestContext,
    ) -> Option<Arc<Workspace>> {
        match (&agent.workspace, &self.config.workspace) {
            (Some(own), _) => Some(own.clone()),
            (None, Some(WorkspaceSource::PerRequest(choose))) => choose(request),
            (None, _) => self.open_workspace.get(),
        }
    }

    /// Returns the workspace that a turn has worked in: one that has saved its state, or else
    /// that of the current mode.
    pub(crate) fn workspace_of_turn(
        &self,
        current: &HarnessAgent,
        request: &HarnessRequestContext,
    ) -> Option<Arc<Workspace>> {
        let turn = request.turn_id.to_string();
        let has_turn = |workspace: &Arc<Workspace>| {
            workspace.undo().is_some_and(|undo| undo.turns().contains(&turn))
        };
        let used: Vec<_> = self.open_workspace.used().iter().filter_map(Weak::upgrade).collect();
        let state = self.config.state_schema.own_fields(&self.state());
        let modes = self.config.modes.iter();
        let of_modes = modes
            .filter_map(|mode| self.workspace_of(&mode.agent(&state), request))
            .filter(has_turn);
        let found = used.into_iter().filter(has_turn).chain(of_modes).next();
        found.or_else(|| self.workspace_of(current, request))
    }

    /// Saves the state of the files before a turn, so that it can be undone.
    pub(crate) async fn save_files(&self, workspace: Option<Arc<Workspace>>, turn: String) {
        let Some(workspace) = workspace else { return };
        self.open_workspace.add_used(&workspace);
        let saved = tokio::task::spawn_blocking(move || workspace.begin_turn(&turn)).await;
        if let Ok(Err(error)) = saved {
            tracing::warn!(%error, "the files of the workspace were not saved before a turn");
        }
    }
}
