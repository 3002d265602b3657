//! `ostler acp`: the agent of an editor, over the Agent Client Protocol on standard input and
//! output. Standard output carries the protocol only.
//!
//! | module | holds |
//! |---|---|
//! | `connection` | the methods of the protocol |
//! | `sessions` | opening, listing and closing sessions; each is a thread with a harness |
//! | `session` | one session: prompts, cancellation, what it tells the client |
//! | `updates`, `tool_call`, `replay` | events and stored messages as session updates |
//! | `ask` | approvals, plans and questions as permission requests |
//! | `prompt` | the content of a prompt, and how a turn ended |
//! | `mcp` | the MCP servers that a client names |
//!
//! A session reports events on its own, whether a prompt is being answered or not; a prompt
//! only waits for the end of its turn. A version of the protocol in which prompts return at
//! once needs another `connection` and nothing else.

mod ask;
mod connection;
mod mcp;
mod prompt;
mod replay;
mod session;
mod sessions;
mod tool_call;
mod updates;

use std::sync::Arc;

use clap::Args;
use ostler_harness::open_storage;

use self::sessions::Sessions;
use super::local_agent::{LocalAgentArgs, model};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler acp --model anthropic/claude-sonnet-4-5
  ostler acp --script examples/scripts/coding.yaml
  ostler acp --model llama3 --url http://localhost:11434/v1 --credits 1000

Zed, in settings.json:
  \"agent_servers\": { \"Ostler\": { \"command\": \"ostler\",
    \"args\": [\"acp\", \"--model\", \"anthropic/claude-sonnet-4-5\"] } }

An editor starts this program and speaks the Agent Client Protocol (version 1) with
it. Its folder is the workspace. Tools that only read run at once; the others ask in
the editor. Sessions are kept as threads. See docs/ACP.md.")]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    agent: LocalAgentArgs,
}

/// Serves one client until it closes standard input.
pub(crate) async fn run(args: AcpArgs) -> anyhow::Result<()> {
    crate::log::init(None, None)?;
    let model = Arc::new(model::select(&args.agent)?);
    let file = args.agent.threads_file()?;
    let storage = open_storage(&format!("sqlite:{}", file.display())).await?;
    let sessions = Arc::new(Sessions::new(args.agent, model, storage));
    let served = connection::serve(sessions.clone()).await;
    sessions.close_all().await;
    served.map_err(|error| anyhow::anyhow!("the connection to the client failed: {error}"))
}
