//! `ostler chat`: the terminal UI of an agent on this machine, or of a thread on a server.
//!
//! | module | holds |
//! |---|---|
//! | `agent` | the agent behind the UI: requests to the harness, events to the UI |
//! | `remote` | the same for a thread on a server |

mod agent;
mod remote;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use ostler_api::thread::ThreadMode;
use ostler_domain::id::ThreadId;
use ostler_harness::{Harness, HarnessThread, WorkspaceSource, open_storage};
use ostler_tui::protocol::{ChatModel, ChatSetting};
use ostler_tui::{ChatChannels, ChatOptions, ScreenKind};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use self::agent::LocalAgent;
use super::appearance::{AppearanceArgs, KEYS_FILE, variable};
use super::local_agent::found_model::{self, FoundModel};
use super::local_agent::{LocalAgentArgs, model, open_workspace, switch_when_free, tools};
use crate::config::keys;

/// What the threads of `ostler chat` belong to.
const RESOURCE: &str = "chat";
/// The setting of a thread with the folder it works in.
const FOLDER: &str = "chatFolder";
/// How long the thread of a process that died stays closed to others.
const LEASE: Duration = Duration::from_secs(5);
/// How many updates wait for the UI.
const UPDATES: usize = 1024;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler chat
  ostler chat --model anthropic/claude-sonnet-4-5
  ostler chat --model llama3 --url http://localhost:11434/v1 --mode plan
  ostler chat --script examples/scripts/coding.yaml
  ostler chat --resume
  ostler chat --connect https://ostler.example.com --org bella
  echo \"What does this folder contain?\" | ostler chat --linear

The current folder is the workspace. Without a model, the first that can be used answers:
Anthropic or OpenAI if their key is set, a server on this machine, else a script that says
how to add one. Press ? for the keys; docs/CHAT.md has everything.")]
pub(crate) struct ChatArgs {
    /// Continue the newest thread of this folder, or the thread with this id
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,
    /// Mode: `build` answers and acts, `plan` submits a plan first, `chat` changes nothing;
    /// ostler.toml may have others
    #[arg(long, value_name = "NAME")]
    mode: Option<String>,
    /// Talk with an agent on this server, to which you have logged in; its thread is kept
    /// there
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = [
            "workspace", "yes", "model", "url", "script", "mcp", "subagents", "no_web", "untrusted",
            "system", "credits"
        ]
    )]
    connect: Option<String>,
    /// Org of the thread, with --connect [default: the only one beside the platform]
    #[arg(
        long,
        value_name = "ORG",
        env = keys::ORG,
        default_value = "",
        hide_default_value = true
    )]
    org: String,
    /// Folder that the agent may read and change, with commands in a sandbox [default: the
    /// current folder]
    #[arg(long, value_name = "FOLDER", default_value = ".", hide_default_value = true)]
    workspace: PathBuf,
    /// Approve every tool call
    #[arg(long)]
    yes: bool,
    /// Use the whole screen instead of the scrollback of the terminal
    #[arg(long, conflicts_with = "linear")]
    full_screen: bool,
    #[command(flatten)]
    appearance: AppearanceArgs,
    #[command(flatten)]
    agent: LocalAgentArgs,
}

pub(crate) async fn run(mut args: ChatArgs) -> anyhow::Result<()> {
    if let Some(url) = &args.connect {
        return remote::run(&args, url).await;
    }
    let root = args
        .workspace
        .canonicalize()
        .with_context(|| format!("cannot work in {}", args.workspace.display()))?;
    let (selected, greeting) = match found_model::find(&mut args.agent).await? {
        FoundModel::Chosen(greeting) => (model::select(&args.agent)?, greeting),
        FoundModel::Script(model, greeting) => (*model, greeting),
    };
    let selected = Arc::new(selected);
    let servers = tools::start_mcp_servers(&args.agent, Vec::new()).await?;
    let tools = tools::load(&args.agent, servers.as_ref())?;
    let file = args.agent.threads_file()?;
    let storage = open_storage(&format!("sqlite:{}", file.display())).await?;
    let workspace = open_workspace(&root)?;
    let harness = args
        .agent
        .builder(RESOURCE, storage, Some(&root), selected.clone(), tools)?
        .workspace(WorkspaceSource::Instance(workspace.clone()))
        .lease(LEASE)
        .build()?;
    let events = harness.subscribe();
    harness.init().await?;
    // What an earlier session allowed is not allowed in this one.
    harness.set_state(json!({"yolo": args.yes})).await?;

    let options = ChatOptions {
        setting: setting(&args, &harness, &selected, greeting, &root),
        ..options(&args, &file)
    };
    let (requests, received) = mpsc::unbounded_channel();
    let (updates, shown) = mpsc::channel(UPDATES);
    let agent = LocalAgent::new(harness.clone(), updates, root.clone(), workspace);
    open_thread(&args, &harness, &root).await?;
    let agent = tokio::spawn(agent.run(received, events));
    let result = ostler_tui::run(options, ChatChannels { requests, updates: shown }).await;
    agent.abort();
    close(&harness).await;
    if let Some(servers) = servers {
        servers.shutdown().await;
    }
    Ok(result?)
}

/// Returns the options of the UI, with its files beside the one with the threads.
fn options(args: &ChatArgs, threads: &Path) -> ChatOptions {
    let folder = threads.parent().unwrap_or(Path::new("."));
    let screen = match (args.appearance.is_linear(), args.full_screen) {
        (true, _) => ScreenKind::Linear,
        (false, true) => ScreenKind::Full,
        (false, false) => ScreenKind::Inline,
    };
    ChatOptions {
        screen,
        theme: args.appearance.theme(),
        keys: Some(folder.join(KEYS_FILE)),
        history: Some(folder.join("chat-history")),
        draft: Some(folder.join("chat-draft")),
        editor: variable("VISUAL").or_else(|| variable("EDITOR")),
        ..ChatOptions::default()
    }
}

fn setting(
    args: &ChatArgs,
    harness: &Harness,
    model: &model::SelectedModel,
    greeting: Vec<String>,
    root: &Path,
) -> ChatSetting {
    let modes = harness.list_modes().iter();
    let modes = modes.map(|mode| ThreadMode { id: mode.id.clone(), name: mode.name.clone() });
    let models = model.prices().into_iter().map(|(id, detail)| ChatModel { id, detail });
    ChatSetting {
        folder: Some(short_folder(root)),
        sandbox: None,
        modes: modes.collect(),
        models: models.collect(),
        credit_limit: Some(args.agent.credit_limit()),
        greeting,
    }
}

/// Returns a folder as people write it.
fn short_folder(root: &Path) -> String {
    let home = std::env::home_dir();
    match home.as_deref().and_then(|home| root.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => root.display().to_string(),
    }
}

/// Opens the thread of the arguments; a new one is created with the first message.
async fn open_thread(args: &ChatArgs, harness: &Harness, root: &Path) -> anyhow::Result<()> {
    match args.resume.as_deref() {
        None => {}
        Some("") => {
            let threads = harness.list_threads().await?;
            let latest = threads.iter().find(|thread| is_of_folder(thread, root));
            let latest = latest.with_context(|| {
                format!(
                    "there is no thread of {} to resume; `ostler chat` begins one",
                    root.display()
                )
            })?;
            switch_when_free(harness, latest.id, LEASE * 2).await?;
        }
        Some(id) => {
            let id: ThreadId = id.parse().context("threads are named by their id")?;
            switch_when_free(harness, id, LEASE * 2).await?;
        }
    }
    if let Some(mode) = args.mode.as_deref()
        && mode != harness.current_mode_id().await
    {
        harness.switch_mode(mode).await?;
    }
    Ok(())
}

fn is_of_folder(thread: &HarnessThread, root: &Path) -> bool {
    let folder = thread.metadata.settings.get(FOLDER).and_then(Value::as_str);
    folder.is_some_and(|folder| Path::new(folder) == root)
}

/// Lets go of the thread. One that waits for an answer keeps its question.
async fn close(harness: &Harness) {
    let closed = match harness.open_asks().await.is_empty() {
        true => harness.close().await,
        false => harness.suspend().await,
    };
    if let Err(error) = closed {
        tracing::warn!(%error, "the thread was not released");
    }
}
