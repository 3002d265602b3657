//! An agent on this machine, for `ostler chat`, `ostler run` and `ostler acp`: its model, tools, modes and
//! the file with its threads.

pub(super) mod found_model;
pub(super) mod model;
mod subagents;
pub(super) mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::id::ThreadId;
use ostler_domain::money::Credits;
use ostler_domain::tool::Trust;
use ostler_engine::tool::Tool;
use ostler_harness::{
    Budget, Harness, HarnessBuilder, HarnessError, ModeDefinition, NoState, Store,
};
use ostler_workspace::sandbox::{HelperProgram, SandboxOptions};
use ostler_workspace::tools::{RequestExtension, WorkspaceTools};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};

use tokio::time::Instant;

use self::model::SelectedModel;
use super::permission::files::{default_policies, permission_files, threads_file};
use crate::config::keys;
use crate::installation::Installation;
use crate::thread_modes;

#[derive(Debug, Args)]
pub(crate) struct LocalAgentArgs {
    /// File that threads are kept in [default: threads.db in the home folder of ostler
    /// or, without one, in ~/.local/share/ostler]
    #[arg(long, value_name = "FILE")]
    pub(super) threads: Option<PathBuf>,
    /// Model, as provider/model; `ostler model ls` lists models [default: the one in
    /// ostler.toml or OSTLER_MODEL]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Server that has the model
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// What the server at --url speaks
    #[arg(long, value_name = "FORMAT", default_value = "openai", requires = "url")]
    wire: WireArg,
    /// Answer from a script instead of a model; see docs/SCRIPTED_MODEL.md
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url"])]
    script: Option<PathBuf>,
    /// MCP server whose tools may be used: a command or a URL, optionally as
    /// NAME=COMMAND; can be repeated
    #[arg(long, value_name = "COMMAND")]
    mcp: Vec<String>,
    /// TOML file with subagents that the model may give work to
    #[arg(long, value_name = "FILE")]
    subagents: Option<PathBuf>,
    /// Do not offer the tool that reads web pages
    #[arg(long)]
    no_web: bool,
    /// Treat the files of the workspace as written by strangers: their instructions are
    /// only information, and destructive calls always need your approval
    #[arg(long)]
    untrusted: bool,
    /// System prompt [default: the instructions of the mode]
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Credit limit of a thread; 100 credits are one dollar
    #[arg(long, value_name = "N", default_value_t = 100)]
    credits: u64,
    /// Folder with the ostler.toml whose providers and prices are used [default: the
    /// current folder]
    #[arg(long, value_name = "FOLDER", env = keys::HOME)]
    home: Option<PathBuf>,
}

/// The wire format of a server.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum WireArg {
    Openai,
    Anthropic,
}

impl LocalAgentArgs {
    /// Begins a harness with the modes, permissions and tools of the arguments. `resource` is
    /// what its threads belong to, `project` the folder whose permissions file counts.
    pub(super) fn builder(
        &self,
        resource: &str,
        storage: Store,
        project: Option<&Path>,
        model: Arc<SelectedModel>,
        tools: Vec<Arc<dyn Tool>>,
    ) -> anyhow::Result<HarnessBuilder<NoState>> {
        // A project has the tools of a workspace, which subagents may have too.
        let of_workspace = project.map(|_| WorkspaceTools::new(Arc::new(RequestExtension)));
        let of_workspace = of_workspace.map(WorkspaceTools::into_tools).unwrap_or_default();
        let all = tools.iter().chain(&of_workspace);
        let tool_names: Vec<_> = all.map(|tool| tool.definition().spec.name.clone()).collect();
        let subagents = subagents::load(self, &tool_names)?;
        let trust = if self.untrusted { Trust::Untrusted } else { Trust::Trusted };
        let mut builder = self
            .builder_without_tools(resource, storage, model)?
            .permission_files(permission_files(self.home.as_deref(), project)?)
            .workspace_trust(trust);
        for tool in tools {
            builder = builder.tool(tool);
        }
        for subagent in subagents.subagents() {
            builder = builder.subagent(subagent);
        }
        Ok(builder)
    }

    /// Begins a harness with the modes of the arguments and nothing to work with, which is
    /// enough to list and delete threads.
    pub(super) fn builder_without_tools(
        &self,
        resource: &str,
        storage: Store,
        model: Arc<SelectedModel>,
    ) -> anyhow::Result<HarnessBuilder<NoState>> {
        let modes = self.modes(model.name())?;
        let mut builder = Harness::<NoState>::builder(resource, storage)
            .models(model)
            .permission_rules(default_policies())
            .budget(Budget::Thread(Credits::new(self.credits)));
        for mode in modes {
            builder = builder.mode(mode.into());
        }
        Ok(builder)
    }

    /// Returns the most credits that a thread may spend.
    pub(super) fn credit_limit(&self) -> u64 {
        self.credits
    }

    /// Returns the modes of the installation, with the prompt and the model of the arguments.
    fn modes(&self, model: &str) -> anyhow::Result<Vec<ModeDefinition>> {
        let installation = Installation::find_optional(self.home.as_deref())?;
        let mut modes = thread_modes::modes(&installation)?;
        for mode in &mut modes {
            if let Some(system) = &self.system {
                mode.instructions = match &*mode.id {
                    "plan" => format!("{system}\n\n{}", mode.instructions).into(),
                    _ => system.clone().into(),
                };
            }
            if mode.model.is_none() || self.model.is_some() || self.script.is_some() {
                mode.model = Some(model.to_owned());
            }
        }
        Ok(modes)
    }

    /// Returns the file that threads are kept in, in a folder that exists.
    pub(super) fn threads_file(&self) -> anyhow::Result<PathBuf> {
        let path = threads_file(self.threads.as_deref(), self.home.as_deref())?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
        }
        Ok(path)
    }
}

/// Opens the folder that an agent works in.
pub(super) fn open_workspace(root: &Path) -> anyhow::Result<Arc<Workspace>> {
    let sandbox = SandboxOptions::new(HelperProgram::this_program()?);
    let workspace = Workspace::open(WorkspaceOptions::new(root, sandbox))
        .with_context(|| format!("cannot work in {}", root.display()))?;
    Ok(Arc::new(workspace))
}

/// Changes to a thread. One that a dead process holds is waited for.
pub(super) async fn switch_when_free(
    harness: &Harness,
    thread: ThreadId,
    patience: Duration,
) -> Result<(), HarnessError> {
    let deadline = Instant::now() + patience;
    loop {
        match harness.switch_thread(thread).await {
            Err(HarnessError::ThreadInUse { .. }) if Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            switched => return switched,
        }
    }
}
