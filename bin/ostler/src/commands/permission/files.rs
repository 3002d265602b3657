//! Where permissions files and threads are, and the tools that rules are about.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::gate::permission::{
    OrderedPermissions, PermissionFacts, PermissionPolicy, PermissionQuery, PermissionRules,
    PermissionSource, Permissions as _, SessionGrants,
};
use ostler_domain::time::Timestamp;
use ostler_domain::tool::ToolCategory;
use ostler_engine::tool::Tool;
use ostler_harness::{LoadedPermissions, PermissionFiles};
use ostler_tools::web::Fetcher;
use ostler_workspace::tools::{RequestExtension, WorkspaceTools};

use crate::commands::args::OutputArgs;
use crate::config::keys;

/// Whose rules a command works with.
#[derive(Debug, Args)]
pub(crate) struct PermissionArgs {
    /// Folder with your permissions.toml [default: ~/.config/ostler]
    #[arg(long, value_name = "FOLDER", env = keys::HOME)]
    pub(super) home: Option<PathBuf>,
    /// Folder of the project, with its .ostler/permissions.toml
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(super) workspace: PathBuf,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

impl PermissionArgs {
    pub(super) fn files(&self) -> anyhow::Result<PermissionFiles> {
        anyhow::ensure!(
            self.workspace.is_dir(),
            "{} is not a folder; name that of the project with --workspace",
            self.workspace.display()
        );
        permission_files(self.home.as_deref(), Some(&self.workspace))
    }
}

/// Returns where the files of the user and the project are.
pub(crate) fn permission_files(
    home: Option<&Path>,
    project: Option<&Path>,
) -> anyhow::Result<PermissionFiles> {
    let folder = match home {
        Some(home) => home.to_owned(),
        None => user_folder(".config/ostler", "--home")?,
    };
    Ok(PermissionFiles {
        user: Some(folder.join("permissions.toml")),
        project: project.map(Path::to_owned),
    })
}

/// Returns the file that threads are kept in.
pub(crate) fn threads_file(file: Option<&Path>, home: Option<&Path>) -> anyhow::Result<PathBuf> {
    Ok(match (file, home) {
        (Some(file), _) => file.to_owned(),
        (None, Some(home)) => home.join("threads.db"),
        (None, None) => user_folder(".local/share/ostler", "--threads")?.join("threads.db"),
    })
}

fn user_folder(path: &str, option: &str) -> anyhow::Result<PathBuf> {
    let home = std::env::home_dir();
    Ok(home.with_context(|| format!("there is no home folder; use {option}"))?.join(path))
}

/// The policies of `ostler run` where no rule applies: tools that only read are allowed.
pub(crate) fn default_policies() -> PermissionRules {
    PermissionRules {
        categories: [(ToolCategory::Read, PermissionPolicy::Allow)].into(),
        ..PermissionRules::default()
    }
}

/// The tools of `ostler run` whose names are known without starting anything.
pub(super) struct KnownTools(BTreeMap<String, ToolCategory>);

impl KnownTools {
    pub(super) fn load() -> anyhow::Result<Self> {
        let of_workspace = WorkspaceTools::new(Arc::new(RequestExtension)).into_tools();
        let of_web = ostler_tools::catalogue::web_tools(&Fetcher::public()?);
        let categories = of_workspace.iter().chain(&of_web).map(|tool: &Arc<dyn Tool>| {
            let spec = &tool.definition().spec;
            (spec.name.to_string(), spec.category)
        });
        Ok(Self(categories.collect()))
    }

    pub(super) fn category(&self, tool: &str) -> Option<ToolCategory> {
        let of_server = tool.starts_with("mcp__").then_some(ToolCategory::Mcp);
        self.0.get(tool).copied().or(of_server)
    }
}

/// Decides about a call in a session without grants.
pub(super) fn decide(
    loaded: &LoadedPermissions,
    query: PermissionQuery<'_>,
) -> (PermissionPolicy, PermissionSource) {
    let (rules, grants) = (default_policies(), SessionGrants::default());
    let facts = PermissionFacts { yolo: false, rules: &rules, grants: &grants };
    OrderedPermissions { facts, rules: &loaded.rules, now: now() }.resolve(query)
}

pub(super) fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}
