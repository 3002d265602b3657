//! `ostler run`: answers one prompt with a model and tools, on an interactive harness.

mod always;
mod ask;
mod end;
mod output;

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use ostler_domain::id::ThreadId;
use ostler_engine::tool::Tool;
use ostler_harness::{
    AskEvent, EventKind, Harness, HarnessError, Subscription, TurnOutcome, WorkspaceSource,
    open_storage,
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::output::RunOutput;
use super::args::OutputArgs;
use super::local_agent::{LocalAgentArgs, model, open_workspace, tools};

/// What the threads of `ostler run` belong to.
pub(crate) const RUN_RESOURCE: &str = "run";
/// The exit code of a program that was ended by Ctrl-C.
const INTERRUPTED_EXIT_CODE: i32 = 130;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler run \"Hello!\" --script examples/scripts/support.yaml
  ostler run \"What is new in Rust?\" --model anthropic/claude-sonnet-4-5
  ostler run \"Add 2 and 3\" --model llama3 --url http://localhost:11434/v1 \\
      --mcp \"npx -y @modelcontextprotocol/server-everything\"
  ostler run \"Compare the two\" --model llama3 \\
      --subagents examples/subagents.toml
  git diff | ostler run - --model llama3 --system \"Review this change.\"
  ostler run \"Why does the build fail?\" --model llama3 --workspace .
  ostler run \"Remember the number 7\" --model llama3 --thread new

Tools that only read run at once; the others need your approval, unless a rule in your
permissions.toml decides: see docs/PERMISSIONS.md and `ostler permission`. Ctrl-C stops the
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
    /// Mode: `build` answers and acts, `plan` submits a plan first, `chat` changes nothing;
    /// ostler.toml may have others
    #[arg(long, value_name = "NAME", default_value = "build")]
    mode: String,
    /// Folder that the agent may read and change, with commands in a sandbox; see
    /// docs/WORKSPACE.md
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
    /// Time limit in seconds
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    timeout: u64,
    /// Approve every tool call
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    agent: LocalAgentArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) async fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let interrupts = watch_interrupts();
    let prompt = read_prompt(args)?;
    let model = model::select(&args.agent)?;
    let servers = tools::start_mcp_servers(&args.agent, Vec::new()).await?;
    let tools = tools::load(&args.agent, servers.as_ref())?;
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
    let url = match (&args.thread, &args.agent.threads) {
        (None, None) => "sqlite::memory:".to_owned(),
        _ => format!("sqlite:{}", args.agent.threads_file()?.display()),
    };
    let storage = open_storage(&url).await?;
    let mut builder = args
        .agent
        .builder(RUN_RESOURCE, storage, args.workspace.as_deref(), Arc::new(model), tools)?
        .initial_state(json!({"yolo": args.yes}))
        .turn_timeout(Duration::from_secs(args.timeout));
    if let Some(root) = &args.workspace {
        builder = builder.workspace(WorkspaceSource::Instance(open_workspace(root)?));
    }
    Ok(builder.build()?)
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
