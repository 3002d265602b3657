//! Tools with which agents use a workspace.
//!
//! A tool finds the workspace of each call through a [`WorkspaceProvider`], so that requests
//! can have their own. The tools check nothing about permissions: the gate has allowed the
//! call, and the workspace keeps it inside.

mod apply_patch;
mod edit_file;
mod file_tool;
mod list_files;
mod provider;
mod read_file;
mod run_command;
mod search_files;
mod write_file;

use std::sync::Arc;

use ostler_domain::tool::Trust;
use ostler_engine::tool::Tool;

use crate::sandbox::CommandLimits;

pub use provider::{CommandListener, PerRequest, RequestExtension, WorkspaceProvider};

use apply_patch::ApplyPatch;
use edit_file::EditFile;
use file_tool::FileTool;
use list_files::ListFiles;
use read_file::ReadFile;
use run_command::RunCommand;
use search_files::SearchFiles;
use write_file::WriteFile;

/// What the tools of a workspace share.
#[derive(Clone)]
pub struct WorkspaceTools {
    pub provider: Arc<dyn WorkspaceProvider>,
    /// Receives the output of commands while they run.
    pub listener: Option<Arc<dyn CommandListener>>,
    pub limits: CommandLimits,
    /// Whether commands may use the network. Their output is then from outside.
    pub network: bool,
    /// Whether the files may be followed as if the person had written them.
    pub trust: Trust,
}

impl WorkspaceTools {
    /// Creates tools without network that trust the files.
    pub fn new(provider: Arc<dyn WorkspaceProvider>) -> Self {
        let limits = CommandLimits::default();
        Self { provider, listener: None, limits, network: false, trust: Trust::Trusted }
    }

    /// Returns the tools.
    pub fn into_tools(self) -> Vec<Arc<dyn Tool>> {
        vec![
            FileTool::<ReadFile>::tool(&self),
            FileTool::<ListFiles>::tool(&self),
            FileTool::<SearchFiles>::tool(&self),
            FileTool::<WriteFile>::tool(&self),
            FileTool::<EditFile>::tool(&self),
            FileTool::<ApplyPatch>::tool(&self),
            RunCommand::tool(self),
        ]
    }
}
