//! A workspace in a temporary directory.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_workspace::sandbox::{
    CommandRequest, CommandResult, DiscardOutput, HelperProgram, SandboxOptions,
};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};
use tempfile::TempDir;

/// A workspace with undo, and a directory beside it that must not be reached.
pub(crate) struct TestWorkspace {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) directory: TempDir,
}

impl TestWorkspace {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// Creates a workspace with other options.
    pub(crate) fn with(change: impl FnOnce(&mut WorkspaceOptions)) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().join("root");
        std::fs::create_dir(&root).expect("a root");
        let mut options = WorkspaceOptions::new(root, sandbox_options());
        options.data = Some(directory.path().join("data"));
        change(&mut options);
        let workspace = Workspace::open(options).expect("a workspace");
        Self { workspace: Arc::new(workspace), directory }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.workspace.root().to_owned()
    }

    /// Runs a line in the sandbox.
    pub(crate) async fn shell(&self, line: &str) -> CommandResult {
        self.run(&CommandRequest::shell(line)).await
    }

    pub(crate) async fn run(&self, request: &CommandRequest) -> CommandResult {
        self.workspace.run(request, &DiscardOutput).await.expect("a command").result
    }
}

pub(crate) fn sandbox_options() -> SandboxOptions {
    let path = env!("CARGO_BIN_EXE_ostler-sandbox-helper").into();
    SandboxOptions::new(HelperProgram { path })
}
