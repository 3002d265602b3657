//! The command line: the list of all commands. Each command declares its own arguments.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

use crate::commands::acp::AcpArgs;
use crate::commands::agent::AgentCommand;
use crate::commands::apply::ApplyArgs;
use crate::commands::approval::ApprovalCommand;
use crate::commands::audit::AuditCommand;
use crate::commands::backup::BackupArgs;
use crate::commands::bench::BenchArgs;
use crate::commands::budget::BudgetCommand;
use crate::commands::bus::BusCommand;
use crate::commands::channel::ChannelCommand;
use crate::commands::chat::ChatArgs;
use crate::commands::completions::CompletionsCommand;
use crate::commands::config::ConfigArgs;
use crate::commands::contact::ContactCommand;
use crate::commands::context::ContextCommand;
use crate::commands::credit::CreditCommand;
use crate::commands::data::DataCommand;
use crate::commands::dead_letter::DeadLetterCommand;
use crate::commands::deep_link::DeepLinkCommand;
use crate::commands::delegation::DelegationCommand;
use crate::commands::demo::DemoArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::escalation::EscalationCommand;
use crate::commands::export::ExportArgs;
use crate::commands::harness::HarnessCommand;
use crate::commands::inbox::InboxArgs;
use crate::commands::init::InitArgs;
use crate::commands::insight::InsightCommand;
use crate::commands::instruction::InstructionCommand;
use crate::commands::integration::IntegrationCommand;
use crate::commands::issue::IssueCommand;
use crate::commands::key::KeyCommand;
use crate::commands::knowledge::KnowledgeCommand;
use crate::commands::link::LinkCommand;
use crate::commands::login::{LoginArgs, LogoutArgs};
use crate::commands::mcp::McpCommand;
use crate::commands::member::MemberCommand;
use crate::commands::migrate::MigrateArgs;
use crate::commands::mock_model::MockModelArgs;
use crate::commands::model::ModelCommand;
use crate::commands::notice::NoticeCommand;
use crate::commands::org::OrgCommand;
use crate::commands::org_delegation::OrgDelegationCommand;
use crate::commands::pdf_text::PdfTextArgs;
use crate::commands::permission::PermissionCommand;
use crate::commands::plan::PlanCommand;
use crate::commands::policy::PolicyCommand;
use crate::commands::prune::PruneArgs;
use crate::commands::refund::RefundCommand;
use crate::commands::restore::RestoreArgs;
use crate::commands::run::RunArgs;
use crate::commands::schema::SchemaArgs;
use crate::commands::send::SendArgs;
use crate::commands::serve::ServeArgs;
use crate::commands::session::SessionCommand;
use crate::commands::settings::SettingsCommand;
use crate::commands::soul::SoulCommand;
use crate::commands::team::TeamCommand;
use crate::commands::tools::ToolsCommand;
use crate::commands::unknown_outcome::UnknownOutcomeCommand;
use crate::commands::user::UserCommand;
use crate::commands::webhook::WebhookCommand;
use crate::commands::worker::WorkerArgs;
use crate::commands::workflow::WorkflowCommand;
use crate::commands::worklist::WorklistCommand;

/// Runs AI agents inside harnesses: scope, budget, escalation, isolation and
/// coordination, enforced by the runtime and not by the prompt.
#[derive(Debug, Parser)]
#[command(
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  ostler demo
  ostler init
  ostler login https://ostler.example.com
  ostler org tree --world examples/harbour.toml
  ostler tools explain --world examples/harbour.toml --agent gia --session rosa"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Returns whether a command line failed because the command takes no `--server` or `--context`.
pub(crate) fn is_server_option(error: &clap::Error) -> bool {
    let argument = error.get(ContextKind::InvalidArg);
    error.kind() == ErrorKind::UnknownArgument
        && matches!(argument, Some(ContextValue::String(name))
            if matches!(name.as_str(), "--server" | "--context"))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make an installation: configuration, tables, platform and first administrator
    Init(InitArgs),
    /// Create a sample installation, play a short story in it and keep it running
    Demo(DemoArgs),
    /// Make the installation what files say: organizations, agents and all that belongs to them
    Apply(ApplyArgs),
    /// Write what lives as files for `ostler apply`
    Export(ExportArgs),
    /// Print the JSON Schema of the files for `ostler apply`, or of permissions files
    Schema(SchemaArgs),
    /// Log in to a server, so that commands work there
    Login(LoginArgs),
    /// Log out of a server
    Logout(LogoutArgs),
    /// List the servers that you have logged in to, and choose one
    #[command(subcommand)]
    Context(ContextCommand),
    /// Answer conversations, send replies and serve the HTTP API
    Serve(ServeArgs),
    /// Answer conversations and send replies, without the HTTP API
    Worker(WorkerArgs),
    /// Write as a customer and print the reply
    Send(SendArgs),
    /// Print the text of a PDF
    #[command(hide = true)]
    PdfText(PdfTextArgs),
    /// Watch the conversations of an org in the terminal, answer them, decide about calls
    Inbox(InboxArgs),
    /// List and show conversations, take them over, hand them back
    #[command(subcommand)]
    Session(SessionCommand),
    /// Approve or reject tool calls that wait for a person
    #[command(subcommand)]
    Approval(ApprovalCommand),
    /// List the refunds that agents asked for, and record that they were paid or refused
    #[command(subcommand)]
    Refund(RefundCommand),
    /// List the customers who wait for a person
    #[command(subcommand)]
    Escalation(EscalationCommand),
    /// List and settle the issues that agents sent to the PM above them
    #[command(subcommand)]
    Issue(IssueCommand),
    /// Give work to a client or an agency, list it and answer it
    #[command(subcommand)]
    OrgDelegation(OrgDelegationCommand),
    /// List and acknowledge what the agents of clients have learned
    #[command(subcommand)]
    Insight(InsightCommand),
    /// List and withdraw what the PM told an agent
    #[command(subcommand)]
    Instruction(InstructionCommand),
    /// Show and grant the credits of an org
    #[command(subcommand)]
    Credit(CreditCommand),
    /// List, replay or abandon messages that could not be answered or sent
    #[command(subcommand)]
    DeadLetter(DeadLetterCommand),
    /// List tool calls whose outcome is unknown, and record their outcome
    #[command(subcommand)]
    UnknownOutcome(UnknownOutcomeCommand),
    /// List the notices to the owner of an org
    #[command(subcommand)]
    Notice(NoticeCommand),
    /// Manage the documents that the agents of an org may read
    #[command(subcommand)]
    Knowledge(KnowledgeCommand),
    /// Connect the services that tools use
    #[command(subcommand)]
    Integration(IntegrationCommand),
    /// Connect the channels through which customers reach an org
    #[command(subcommand)]
    Channel(ChannelCommand),
    /// Send the events of an org to other systems, and see what arrived
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Manage keys for programs that use the HTTP API
    #[command(subcommand)]
    Key(KeyCommand),
    /// Manage the members of an org and invite new ones
    #[command(subcommand)]
    Member(MemberCommand),
    /// List and change the user accounts of the installation
    #[command(subcommand)]
    User(UserCommand),
    /// Link accounts on channels to users, so that they are recognized there
    #[command(subcommand)]
    Link(LinkCommand),
    /// Create, list and revoke links that open a conversation with an org in Telegram
    #[command(subcommand)]
    DeepLink(DeepLinkCommand),
    /// Show who changed what and when
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Import and look up products, orders and other business data
    #[command(subcommand)]
    Data(DataCommand),
    /// Show the harness of an agent in a run
    #[command(subcommand)]
    Harness(HarnessCommand),
    /// Create, change, pause and archive agents; start and stop agents on queues, and send them
    /// messages
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Create teams of agents, ask them, dissolve them
    #[command(subcommand)]
    Team(TeamCommand),
    /// Give work to agents, list it and update its status
    #[command(subcommand)]
    Delegation(DelegationCommand),
    /// List and answer the messages that wait for human agents
    #[command(subcommand)]
    Worklist(WorklistCommand),
    /// Approve or reject what agents want to do
    #[command(subcommand)]
    Plan(PlanCommand),
    /// Run durable workflows and answer the questions of their steps
    #[command(subcommand)]
    Workflow(WorkflowCommand),
    /// Show queues and dead letters of the message bus
    #[command(subcommand)]
    Bus(BusCommand),
    /// List, create, change and archive organizations
    #[command(subcommand)]
    Org(OrgCommand),
    /// Show, edit, compare and restore the soul of an agent
    #[command(subcommand)]
    Soul(SoulCommand),
    /// Show and change how the conversations of an org work
    #[command(subcommand)]
    Settings(SettingsCommand),
    /// Show and change which tools the platform, an org and its agents allow
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// List and test the permission rules of `ostler run`, and try others on recorded calls
    #[command(subcommand)]
    Permission(PermissionCommand),
    /// Show and change what an org, its clients, sessions and agents may spend
    #[command(subcommand)]
    Budget(BudgetCommand),
    /// List tools, define HTTP tools of an org, explain which tools an agent may use
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Manage the MCP servers of an org, whose tools its agents may use
    #[command(subcommand)]
    Mcp(McpCommand),
    /// List the models that agents can use, and test one
    #[command(subcommand)]
    Model(ModelCommand),
    /// Show the configuration that applies, and where each value comes from
    Config(ConfigArgs),
    /// Create the tables of a database or update them to this version
    Migrate(MigrateArgs),
    /// Write all data of a running installation to a file
    Backup(BackupArgs),
    /// Fill an empty database from a backup
    Restore(RestoreArgs),
    /// Check the installation and say what is wrong and what to do
    Doctor(DoctorArgs),
    /// Delete finished records that are older than the retention days of their org
    Prune(PruneArgs),
    /// List, merge, export and delete the people who write to an org
    #[command(
        subcommand,
        after_help = "\
Examples:
  ostler contact ls --org bella
  ostler contact export rosa@example.com --org bella --out rosa.json
  ostler contact delete \"Rosa Bianchi\" --org bella --yes"
    )]
    Contact(ContactCommand),
    /// Print completion scripts of shells, or write manual pages
    #[command(subcommand)]
    Completions(CompletionsCommand),
    /// Measure speed, next to the bare parts doing the same work
    Bench(BenchArgs),
    /// Talk with an agent in the terminal; every call passes the gate
    Chat(ChatArgs),
    /// Answer one prompt with a model and tools; every call passes the gate
    Run(RunArgs),
    /// Be the agent of an editor, over the Agent Client Protocol on stdio
    Acp(AcpArgs),
    /// Imitate a model provider: answer HTTP requests from a script
    MockModel(MockModelArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use unicode_width::UnicodeWidthStr as _;

    use super::Cli;

    /// O24: an example that a terminal of 80 columns broke could not be copied.
    #[test]
    fn o24_every_command_has_examples_that_fit_a_terminal() {
        let mut commands = vec![Cli::command()];
        let mut examples = 0;
        while let Some(command) = commands.pop() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (name, is_leaf) = (command.get_name(), !command.has_subcommands());
            assert!(!is_leaf || command.is_hide_set() || help.contains("  ostler "), "{name}");
            for line in help.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.width() <= 80, "{name}: {line}");
                examples += 1;
            }
            commands
                .extend(command.get_subcommands().filter(|one| one.get_name() != "help").cloned());
        }
        assert!(examples > 300, "only {examples} lines were found");
    }
}
