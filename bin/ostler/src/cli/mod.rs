//! What can be typed.

pub(crate) mod channel;
pub(crate) mod operate;
pub(crate) mod queue;
pub(crate) mod talk;
pub(crate) mod workflow;

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use ostler_domain::id::ContactId;

/// Runs AI agents inside harnesses: scope, budget, escalation, isolation and
/// coordination, enforced by the runtime and not by the prompt.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  ostler demo
  ostler layer --world examples/harbour.toml
  ostler tools explain --world examples/harbour.toml --agent gia --session rosa"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plant a small world, play a short story in it, and stay up for more
    #[command(after_help = "\
Examples:
  ostler demo
  ostler demo --reset
  ostler demo --once --home /tmp/demo")]
    Demo(talk::Demo),
    /// Answer conversations, send, and serve the HTTP API
    #[command(after_help = "\
Examples:
  ostler serve --home target/demo
  ostler serve --listen 127.0.0.1:8080 --at-once 64")]
    Serve(talk::Serve),
    /// Answer conversations and send, and serve nothing
    #[command(after_help = "\
Examples:
  ostler worker --home target/demo
  OSTLER_DATABASE_URL=postgres://ostler@localhost/ostler ostler worker --at-once 64")]
    Worker(talk::Work),
    /// Write as a customer, and print what is answered
    #[command(after_help = "\
Examples:
  ostler send --org bella --contact rosa \"Are you open on Monday?\"
  ostler send --org bella --contact otto --attach burnt.jpg \"Look at this!\"
  ostler send --org bella --contact otto --json \"I paid twice. Order 1234.\"")]
    Send(talk::Send),
    /// Print the words of a PDF; a process of its own, since a bad file may end it
    #[command(hide = true)]
    PdfText(PdfText),
    /// Look at conversations, take them over, hand them back
    #[command(subcommand)]
    Session(talk::Session),
    /// Decide on calls that wait for a person
    #[command(subcommand)]
    Approval(operate::Approval),
    /// See who waits for a person
    #[command(subcommand)]
    Escalation(operate::Escalation),
    /// See what an org has to spend, and what it spent
    #[command(subcommand)]
    Credit(operate::Credit),
    /// See messages that could not be answered or sent
    #[command(subcommand)]
    Deadletter(operate::Deadletter),
    /// See calls of which nobody knows what became, and say it
    #[command(subcommand)]
    Outcome(operate::Outcome),
    /// See what the org's owner was told
    #[command(subcommand)]
    Notice(operate::Notice),
    /// Tell agents what an org knows
    #[command(subcommand)]
    Knowledge(operate::Knowledge),
    /// Connect services that tools use
    #[command(subcommand)]
    Integration(operate::Integration),
    /// Connect channels through which an org is reached
    #[command(subcommand)]
    Channel(channel::Channel),
    /// Make keys for programs that use the HTTP API
    #[command(subcommand)]
    Key(operate::Key),
    /// Look at the harness that an agent worked in
    #[command(subcommand)]
    Harness(talk::Harness),
    /// Look at agents on queues, and write to them
    #[command(subcommand)]
    Agent(queue::Agent),
    /// Make teams of agents, ask them, dissolve them
    #[command(subcommand)]
    Team(queue::Team),
    /// Look at work that was given to agents, and say where it stands
    #[command(subcommand)]
    Delegation(queue::Delegation),
    /// Run durable graphs of steps, and answer what they ask
    #[command(subcommand)]
    Workflow(workflow::Workflow),
    /// Look at queues and dead letters
    #[command(subcommand)]
    Bus(queue::Bus),
    /// Show the org tree with business layers, and the guardrail matrix
    #[command(after_help = "\
Examples:
  ostler layer --world examples/harbour.toml
  ostler layer --world examples/harbour.toml --json")]
    Layer(Layer),
    /// Look at tools
    #[command(subcommand)]
    Tools(Tools),
    /// Make the tables of a database, or bring them up to date
    #[command(after_help = "\
Examples:
  ostler migrate
  ostler migrate --database sqlite:ostler.db
  OSTLER_DATABASE_URL=postgres://ostler@localhost/ostler ostler migrate")]
    Migrate(Migrate),
    /// Look at a database, say what is wrong with it and what to do
    #[command(after_help = "\
Examples:
  ostler doctor
  ostler doctor --database sqlite:ostler.db
  ostler doctor --database postgres://ostler@localhost/ostler --json")]
    Doctor(Doctor),
    /// Delete what is over and older than the retention days of its org
    #[command(after_help = "\
Examples:
  ostler prune --dry-run
  ostler prune --database postgres://ostler@localhost/ostler --json")]
    Prune(Prune),
    /// Hand over or delete all that an org keeps of one person
    #[command(
        subcommand,
        after_help = "\
Examples:
  ostler contact export con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --out rosa.json
  ostler contact delete con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --yes"
    )]
    Contact(Contact),
    /// Measure speed, beside the bare parts doing the same work
    #[command(after_help = "\
Examples:
  ostler bench store
  ostler bench store --seconds 10 --json
  ostler bench bus --amqp amqp://localhost
  ostler bench turn
  ostler bench pipeline --seconds 20
  ostler bench store --postgres postgres://ostler@localhost/postgres")]
    Bench(Bench),
    /// Answer one prompt with a model and tools, every call inside the gate
    #[command(after_help = "\
Examples:
  ostler run \"Where is order 7?\" --script examples/scripts/support.yaml
  ostler run \"What is new in Rust?\" --model anthropic/claude-sonnet-4-5
  ostler run \"Add 2 and 3\" --model llama3 --url http://localhost:11434/v1 \\
      --mcp \"npx -y @modelcontextprotocol/server-everything\"
  ostler run \"Compare the two\" --model llama3 --subagents examples/subagents.toml

Tools that only look something up run; others are asked about. Ctrl-C stops
cleanly, twice ends at once. Exit codes: 0 an answer, 1 no model answered, 3 it
did not come to an end, 4 the credits did not reach, 130 it was stopped.")]
    Run(Run),
    /// Play a model provider: answer from a script, over HTTP
    #[command(after_help = "\
Examples:
  ostler mock-model --port 8080 --script examples/scripts/support.yaml
  ostler mock-model --port 0 --script examples/scripts/faults.yaml

It answers POST /v1/chat/completions (OpenAI), POST /v1/messages (Anthropic) and
GET /v1/models until Ctrl-C. docs/SCRIPTED_MODEL.md describes scripts.")]
    MockModel(MockModel),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// What to answer
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    /// The model, as provider/model; keys come from the environment
    #[arg(long, value_name = "NAME", env = "OSTLER_MODEL")]
    pub(crate) model: Option<String>,
    /// An OpenAI-compatible server to ask for the model
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Answer from a script instead of a model; docs/SCRIPTED_MODEL.md describes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url"])]
    pub(crate) script: Option<PathBuf>,
    /// An MCP server whose tools may be used: a command or an address, with
    /// `NAME=` before it to name it
    #[arg(long, value_name = "COMMAND")]
    pub(crate) mcp: Vec<String>,
    /// A TOML file with agents that the model may give work to
    #[arg(long, value_name = "FILE")]
    pub(crate) subagents: Option<PathBuf>,
    /// Leave out the tool that reads web pages
    #[arg(long)]
    pub(crate) no_web: bool,
    /// What the model is told first
    #[arg(long, value_name = "TEXT", default_value = "You are a helpful agent. Answer briefly.")]
    pub(crate) system: String,
    /// The most credits it may cost; a hundred are a dollar
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) credits: u64,
    /// How long it may take, in seconds
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub(crate) timeout: u64,
    /// Ask about nothing
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct PdfText {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct MockModel {
    /// The port to listen on; 0 is any free one, which is printed
    #[arg(long, value_name = "N")]
    pub(crate) port: u16,
    /// A YAML file with rules; examples/scripts/support.yaml is one
    #[arg(long, value_name = "FILE")]
    pub(crate) script: PathBuf,
    /// The address to listen on; anything but a loopback address lets others ask
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// What to measure
    #[arg(value_name = "SUITE")]
    pub(crate) suite: Suite,
    /// How long it may take, in seconds
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) seconds: u64,
    /// A PostgreSQL server to measure, too; a database is made there and dropped
    #[arg(long, value_name = "URL", env = "OSTLER_BENCH_POSTGRES_URL", hide_env_values = true)]
    pub(crate) postgres: Option<String>,
    /// A RabbitMQ broker to measure, too; queues are made there and deleted
    #[arg(long, value_name = "URL", env = "OSTLER_BENCH_AMQP_URL", hide_env_values = true)]
    pub(crate) amqp: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Suite {
    /// Commits of turns and reads of history
    Store,
    /// Agents on queues: questions, broadcasts, what idle agents cost
    Bus,
    /// Whole turns with a model that answers at once, nothing stored
    Turn,
    /// Customers' conversations, from the message to the commit
    Pipeline,
}

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    pub(crate) at: talk::At,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) at: talk::At,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    #[command(flatten)]
    pub(crate) at: talk::At,
    /// Count what would be deleted, and delete nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Contact {
    /// Write all that an org keeps of a contact as one JSON document
    #[command(after_help = "\
Examples:
  ostler contact export con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler contact export con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --out rosa.json --files rosa")]
    Export(ContactExport),
    /// Delete all that an org keeps of a contact; without --yes, say what it is
    #[command(after_help = "\
Examples:
  ostler contact delete con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella
  ostler contact delete con_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --yes")]
    Delete(ContactDelete),
}

#[derive(Debug, Args)]
pub(crate) struct ContactExport {
    #[command(flatten)]
    pub(crate) of: ContactOf,
    /// Write to this file, which only you can read, and not to the screen
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write the files beside the messages into this folder as well
    #[arg(long, value_name = "FOLDER")]
    pub(crate) files: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ContactDelete {
    #[command(flatten)]
    pub(crate) of: ContactOf,
    /// Do delete it; this cannot be undone
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ContactOf {
    /// The contact, by its id
    #[arg(value_name = "CONTACT")]
    pub(crate) contact: ContactId,
    /// The org, by its slug or its id
    #[arg(long, value_name = "ORG")]
    pub(crate) org: String,
    #[command(flatten)]
    pub(crate) at: talk::At,
}

#[derive(Debug, Args)]
pub(crate) struct Layer {
    #[command(flatten)]
    pub(crate) world: WorldFile,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// Show which tools an agent has, and the first rule that removed the rest
    #[command(after_help = "\
Examples:
  ostler tools explain --session rosa
  ostler tools explain --session ses_…9d --agent enzo --tool refund_payment
  ostler tools explain --session rosa --org bella --json
  ostler tools explain --world examples/harbour.toml --agent gia
  ostler tools explain --world examples/harbour.toml --agent enzo --session rosa")]
    Explain(Explain),
    /// List the tools that agents can have here, and what they need
    #[command(after_help = "\
Examples:
  ostler tools ls
  ostler tools ls --org bella --json")]
    Ls(ToolsLs),
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A session: its id, the end of its id, or what the channel calls the person
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// The agent, by its slug; in a live session otherwise the one that answers
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// One tool only, stage by stage
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// The org, if several have a session of that name
    #[arg(long, value_name = "ORG")]
    pub(crate) org: Option<String>,
    /// Look into a world file instead of an installation; without a session at a
    /// fresh one. examples/harbour.toml is one
    #[arg(long, value_name = "FILE")]
    pub(crate) world: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) at: talk::At,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsLs {
    /// The org whose connected services count; without one, none is looked at
    #[arg(long, value_name = "ORG")]
    pub(crate) org: Option<String>,
    #[command(flatten)]
    pub(crate) at: talk::At,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct WorldFile {
    /// A TOML file with orgs, agents and policies; examples/harbour.toml is one
    #[arg(long = "world", value_name = "FILE")]
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
