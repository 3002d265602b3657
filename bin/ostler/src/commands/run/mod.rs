//! `ostler run`: answers one prompt with a model and tools. Nothing is stored.

mod ask;
mod end;
mod interrupt;
mod model;
mod output;
mod subagents;
mod tools;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ostler_domain::gate::GateRules;
use ostler_domain::gate::permission::{
    PermissionFacts, PermissionPolicy, PermissionRules, SessionGrants,
};
use ostler_domain::id::{AgentId, OrgId};
use ostler_domain::money::Credits;
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::scope::ToolScope;
use ostler_domain::session::errors::{ErrorPolicy, ErrorState};
use ostler_domain::tool::{Audience, ToolCategory, Trust};
use ostler_engine::driver::{Driver, Host as _, TurnContext, TurnProgress, command_channel};
use ostler_engine::history::Item;
use ostler_engine::tool::ToolSet;
use ostler_engine::turn::{KnownOutcomes, NewTurn, Turn, TurnEnd, TurnLimits, TurnRules};

use self::interrupt::Interrupt;
use self::model::SelectedModel;
use self::output::RunOutput;
use super::args::OutputArgs;
use crate::config::keys;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ostler run \"Hello!\" --script examples/scripts/support.yaml
  ostler run \"What is new in Rust?\" --model anthropic/claude-sonnet-4-5
  ostler run \"Add 2 and 3\" --model llama3 --url http://localhost:11434/v1 \\
      --mcp \"npx -y @modelcontextprotocol/server-everything\"
  ostler run \"Compare the two\" --model llama3 --subagents examples/subagents.toml

Tools that only read run at once; the others need your approval. Ctrl-C stops the
run cleanly, a second Ctrl-C ends it at once. Exit codes: 0 an answer, 1 no model
answered, 3 no answer within the limits, 4 not enough credits, 130 stopped.")]
pub(crate) struct RunArgs {
    /// Prompt
    #[arg(value_name = "PROMPT")]
    prompt: String,
    /// Model, as provider/model; `ostler model ls` lists models [default: the one in
    /// ostler.toml or OSTLER_MODEL]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// OpenAI-compatible server that has the model
    #[arg(long, value_name = "URL")]
    url: Option<String>,
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
    /// System prompt
    #[arg(long, value_name = "TEXT", default_value = "You are a helpful agent. Answer briefly.")]
    system: String,
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

pub(crate) async fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let interrupt = Interrupt::watch();
    let model = model::select(args)?;
    let servers = tools::start_mcp_servers(args).await?;
    let mut tools = tools::load(args, servers.as_ref())?;
    tools.extend(subagents::load(args, &model, &tools)?);
    let tools = Arc::new(ToolSet::new(tools)?);
    let output = RunOutput::new(args.output.json);
    let mut turn = Turn::new(new_turn(args, &output));
    let end = drive(args, &model, &tools, &output, &interrupt, &mut turn).await?;
    if let Some(servers) = servers {
        servers.shutdown().await;
    }
    output.finish(&end, &turn);
    Ok(end::exit_code(&end))
}

fn new_turn(args: &RunArgs, output: &RunOutput) -> NewTurn {
    let credits = Credits::new(args.credits);
    NewTurn {
        system: args.system.as_str().into(),
        history: vec![Item::user(args.prompt.as_str())],
        approved: None,
        trust: Trust::Trusted,
        budget: TurnBudget {
            reserved: credits,
            top_up: Credits::ZERO,
            session: credits,
            read_reserve: Credits::ZERO,
            team: None,
        },
        errors: ErrorState::default(),
        limits: TurnLimits::default(),
        now: output.now(),
    }
}

/// Runs the turn to its end and asks on the terminal whenever it waits.
async fn drive(
    args: &RunArgs,
    model: &SelectedModel,
    tools: &Arc<ToolSet>,
    output: &RunOutput,
    interrupt: &Interrupt,
    turn: &mut Turn,
) -> anyhow::Result<TurnEnd> {
    // Tools that only read are allowed; all others need an answer.
    let permissions = PermissionRules {
        categories: [(ToolCategory::Read, PermissionPolicy::Allow)].into(),
        ..PermissionRules::default()
    };
    let (scope, no_tools) = (ToolScope::unrestricted(tools.specs().cloned()), BTreeSet::new());
    let context = TurnContext {
        org: OrgId::from_u128(0),
        agent: AgentId::from_u128(0),
        session: None,
        contact: None,
        audience: Audience::Staff,
        idempotency_prefix: format!("run-{}", std::process::id()),
        timeout: Duration::from_secs(args.timeout),
    };
    let mut grants = SessionGrants::default();
    let (mut responses, mut stopped) = (Vec::new(), false);
    loop {
        let facts = PermissionFacts { yolo: args.yes, rules: &permissions, grants: &grants };
        let rules = TurnRules {
            scope: &scope,
            tools,
            require_approval_for: &no_tools,
            authority: GateRules::Interactive(&facts),
            errors: ErrorPolicy::default(),
            models: model,
            now: output.now(),
        };
        let driver = Driver { context: &context, rules, host: output };
        let (handle, mut commands) = command_channel();
        for response in responses.drain(..) {
            ask::send_response(&handle, response)?;
        }
        if stopped {
            handle.abort();
        }
        let guard = interrupt.abort_on_ctrl_c(&handle);
        let progress = driver.drive(turn, &KnownOutcomes::new(), &mut commands).await;
        drop(guard);
        let questions = match progress {
            Ok(TurnProgress::Ended(end)) => return Ok(end),
            Ok(TurnProgress::Suspended(questions)) => questions,
            Err(never) => match never {},
        };
        for (path, question) in questions {
            match interrupt
                .unless_pressed(ask::ask_user(&question, path, &scope, &mut grants))
                .await
            {
                Some(response) => responses.push(response?),
                None => {
                    // Ctrl-C leaves the cursor behind the question.
                    anstream::eprintln!();
                    stopped = true;
                }
            }
        }
    }
}
