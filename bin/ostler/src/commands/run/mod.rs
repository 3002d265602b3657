//! `ostler run`: answers one prompt with a model and tools, on an interactive harness.

mod ask;
mod end;
mod model;
mod output;
mod subagents;
mod tools;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::id::ThreadId;
use ostler_domain::money::Credits;
use ostler_engine::tool::Tool;
use ostler_harness::{
    AskEvent, Budget, EventKind, Harness, HarnessError, ModeDefinition, NoState, Subscription,
    TurnOutcome, WorkspaceSource, open_storage,
};
use ostler_workspace::sandbox::{HelperProgram, SandboxOptions};
use ostler_workspace::workspace::{Workspace, WorkspaceOptions};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::output::RunOutput;
use super::args::OutputArgs;
use crate::config::keys;
use crate::installation::Installation;
use crate::server_threads::reading_is_allowed;
use crate::thread_modes;

/// The exit code of a program that was ended by Ctrl-C.
const INTERRUPTED_EXIT_CODE: i32 = 130;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler run \"Hello!\" --script examples/scripts/support.yaml
  ostler run \"What is new in Rust?\" --model anthropic/claude-sonnet-4-5
  ostler run \"Add 2 and 3\" --model llama3 --url http://localhost:11434/v1 \\
      --mcp \"npx -y @modelcontextprotocol/server-everything\"
  ostler run \"Compare the two\" --model llama3 --subagents examples/subagents.toml
  git diff | ostler run - --model llama3 --system \"Review this change.\"
  ostler run \"Why does the build fail?\" --model llama3 --workspace .
  ostler run \"Remember the number 7\" --model llama3 --thread new

Tools that only read run at once; the others need your approval. Ctrl-C stops the
run cleanly, a second Ctrl-C ends it at once. With --json, every line is an event of
docs/HARNESS.md. Exit codes: 0 an answer, 1 no model answered, 3 no complete answer
within the limits, 4 not enough credits, 130 stopped.")]
pub(crate) struct RunArgs {
    /// Prompt; `-` reads it from standard input
    #[arg(value_name = "PROMPT", required_unless_present = "resume")]
    prompt: Option<String>,
    /// Thread to go on with, by id; `new` begins one that is kept
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// Continue the turn of the thread that was interrupted, and its questions
    #[arg(long, requires = "thread", conflicts_with = "prompt")]
    resume: bool,
    /// File that threads are kept in [default: threads.db in the home folder of ostler
    /// or, without one, in ~/.local/share/ostler]
    #[arg(long, value_name = "FILE")]
    threads: Option<PathBuf>,
    /// Mode: `build` answers and acts, `plan` submits a plan first, `chat` changes nothing;
    /// ostler.toml may have others
    #[arg(long, value_name = "NAME", default_value = "build")]
    mode: String,
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
    /// Folder that the agent may read and change, with commands in a sandbox; see
    /// docs/WORKSPACE.md
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
    /// Do not offer the tool that reads web pages
    #[arg(long)]
    no_web: bool,
    /// System prompt [default: the instructions of the mode]
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// Credit limit; 100 credits are one dollar
    #[arg(long, value_name = "N", default_value_t = 100)]
    credits: u64,
    /// Time limit in seconds
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    timeout: u64,
    /// Approve every tool call
    #[arg(long)]
    yes: bool,
    /// Folder with the ostler.toml whose providers and prices are used [default: the
    /// current folder]
    #[arg(long, value_name = "FOLDER", env = keys::HOME)]
    home: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// The wire format of a server.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum WireArg {
    Openai,
    Anthropic,
}

pub(crate) async fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let interrupts = watch_interrupts();
    let prompt = read_prompt(args)?;
    let model = model::select(args)?;
    let servers = tools::start_mcp_servers(args).await?;
    let tools = tools::load(args, servers.as_ref())?;
    let harness = build(args, model, tools).await?;
    let events = harness.subscribe();
    harness.init().await?;
    open_thread(args, &harness).await?;
    if args.mode != harness.current_mode_id().await {
        harness.switch_mode(&args.mode).await?;
    }
    let mut output = RunOutput::new(args.output.json);
    let sent = send(&harness, prompt);
    let outcome = follow(&harness, events, sent, interrupts, &mut output).await?;
    output.finish(&outcome.end, &harness).await;
    harness.close().await?;
    if let Some(servers) = servers {
        servers.shutdown().await;
    }
    Ok(end::exit_code(&outcome.end))
}

/// Returns the prompt; `None` to continue the thread.
fn read_prompt(args: &RunArgs) -> anyhow::Result<Option<String>> {
    if args.prompt.as_deref() != Some("-") {
        return Ok(args.prompt.clone());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read the prompt")?;
    anyhow::ensure!(!text.trim().is_empty(), "standard input has no prompt");
    Ok(Some(text))
}

async fn build(
    args: &RunArgs,
    model: model::SelectedModel,
    tools: Vec<Arc<dyn Tool>>,
) -> anyhow::Result<Harness> {
    let storage = match (&args.thread, &args.threads) {
        (None, None) => open_storage("sqlite::memory:").await?,
        (_, file) => {
            open_storage(&format!("sqlite:{}", threads_file(args, file)?.display())).await?
        }
    };
    let tool_names: Vec<_> = tools.iter().map(|tool| tool.definition().spec.name.clone()).collect();
    let subagents = subagents::load(args, &tool_names)?;
    let default_model = model.name().to_owned();
    let modes = modes(args, &default_model)?;
    let mut builder = Harness::<NoState>::builder("run", storage)
        .models(Arc::new(model))
        .permission_rules(reading_is_allowed())
        .initial_state(json!({"yolo": args.yes}))
        .budget(Budget::Thread(Credits::new(args.credits)))
        .turn_timeout(Duration::from_secs(args.timeout));
    for mode in modes {
        builder = builder.mode(mode.into());
    }
    for tool in tools {
        builder = builder.tool(tool);
    }
    if let Some(root) = &args.workspace {
        builder = builder.workspace(open_workspace(root)?);
    }
    for subagent in subagents.subagents() {
        builder = builder.subagent(subagent);
    }
    Ok(builder.build()?)
}

/// Returns the modes of the installation, with the prompt and the model of the arguments.
fn modes(args: &RunArgs, model: &str) -> anyhow::Result<Vec<ModeDefinition>> {
    let installation = Installation::find_optional(args.home.as_deref())?;
    let mut modes = thread_modes::modes(&installation)?;
    for mode in &mut modes {
        if let Some(system) = &args.system {
            mode.instructions = match &*mode.id {
                "plan" => format!("{system}\n\n{}", mode.instructions).into(),
                _ => system.clone().into(),
            };
        }
        if mode.model.is_none() || args.model.is_some() || args.script.is_some() {
            mode.model = Some(model.to_owned());
        }
    }
    Ok(modes)
}

/// Opens the folder that the agent works in.
fn open_workspace(root: &Path) -> anyhow::Result<WorkspaceSource> {
    let sandbox = SandboxOptions::new(HelperProgram::this_program()?);
    let workspace = Workspace::open(WorkspaceOptions::new(root, sandbox))
        .with_context(|| format!("cannot work in {}", root.display()))?;
    Ok(WorkspaceSource::Instance(Arc::new(workspace)))
}

/// Returns the file that threads are kept in, in a folder that exists.
fn threads_file(args: &RunArgs, file: &Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let path = match (file, &args.home) {
        (Some(file), _) => file.clone(),
        (None, Some(home)) => home.join("threads.db"),
        (None, None) => {
            let home = std::env::home_dir().context("there is no home folder; use --threads")?;
            home.join(".local/share/ostler/threads.db")
        }
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    Ok(path)
}

async fn open_thread(args: &RunArgs, harness: &Harness) -> anyhow::Result<()> {
    match args.thread.as_deref() {
        None | Some("new") => {
            harness.create_thread(None).await?;
        }
        Some(id) => {
            let id: ThreadId = id.parse().context("threads are named by their id")?;
            harness.switch_thread(id).await?;
        }
    }
    Ok(())
}

type Sent = JoinHandle<Result<TurnOutcome, HarnessError>>;

/// Sends the prompt, or continues the thread.
fn send(harness: &Harness, prompt: Option<String>) -> Sent {
    let harness = harness.clone();
    tokio::spawn(async move {
        let first = match prompt {
            Some(prompt) => harness.send_message(prompt).await?,
            None => harness.resume().await?,
        };
        // An approved plan is carried out by another turn.
        Ok(harness.wait_until_idle().await.unwrap_or(first))
    })
}

/// Receives each Ctrl-C. The second one ends the program at once.
fn watch_interrupts() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let mut interrupted = false;
        while tokio::signal::ctrl_c().await.is_ok() {
            if std::mem::replace(&mut interrupted, true) {
                std::process::exit(INTERRUPTED_EXIT_CODE);
            }
            let _ = sender.send(()).await;
        }
    });
    receiver
}

/// Prints events and answers questions until the run ends. Ctrl-C stops it cleanly.
async fn follow(
    harness: &Harness,
    mut events: Subscription,
    mut sent: Sent,
    mut interrupts: mpsc::Receiver<()>,
    output: &mut RunOutput,
) -> anyhow::Result<TurnOutcome> {
    let outcome = loop {
        let question = tokio::select! {
            biased;
            event = events.next() => {
                output.event(&event);
                matches!(&event.kind, EventKind::Ask(ask) if !matches!(ask, AskEvent::AskClosed { .. }))
            }
            Some(()) = interrupts.recv() => {
                harness.abort().await;
                false
            }
            outcome = &mut sent => break outcome??,
        };
        if question {
            for ask in harness.open_asks().await {
                tokio::select! {
                    answered = ask::answer(harness, &ask) => answered?,
                    Some(()) = interrupts.recv() => {
                        // The cursor is behind the question.
                        anstream::eprintln!();
                        harness.abort().await;
                        break;
                    }
                }
            }
        }
    };
    while let Some(event) = events.try_next() {
        output.event(&event);
    }
    Ok(outcome)
}
