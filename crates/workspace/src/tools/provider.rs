//! How tools find their workspace.

use std::sync::Arc;

use ostler_engine::history::CallId;
use ostler_engine::tool::ToolContext;

use crate::sandbox::{CommandOutput, Unsandboxed};
use crate::workspace::Workspace;

/// Finds the workspace of a request.
pub trait WorkspaceProvider: Send + Sync {
    /// Returns the workspace, or `None` if the request has none.
    fn workspace(&self, context: &ToolContext) -> Option<Arc<Workspace>>;

    /// Returns the acceptance of a person that commands of this request run without a sandbox
    /// where none is available. By default nobody has accepted it.
    fn unsandboxed(&self, _: &ToolContext) -> Option<Unsandboxed> {
        None
    }
}

/// One workspace for all requests.
impl WorkspaceProvider for Arc<Workspace> {
    fn workspace(&self, _: &ToolContext) -> Option<Arc<Workspace>> {
        Some(self.clone())
    }
}

/// A function that chooses the workspace of each request.
#[derive(Debug, Clone, Copy)]
pub struct PerRequest<F>(pub F);

impl<F> WorkspaceProvider for PerRequest<F>
where
    F: Fn(&ToolContext) -> Option<Arc<Workspace>> + Send + Sync,
{
    fn workspace(&self, context: &ToolContext) -> Option<Arc<Workspace>> {
        (self.0)(context)
    }
}

/// The workspace that the host of the turn has put into the extensions of each call.
#[derive(Debug, Clone, Copy)]
pub struct RequestExtension;

impl WorkspaceProvider for RequestExtension {
    fn workspace(&self, context: &ToolContext) -> Option<Arc<Workspace>> {
        context.extensions.get::<Workspace>()
    }
}

/// Receives the output of commands that tools run.
pub trait CommandListener: Send + Sync {
    /// Returns where the output of a call goes.
    fn listen(&self, call: &CallId, context: &ToolContext) -> Arc<dyn CommandOutput>;
}
