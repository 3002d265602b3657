//! `ostler agent`: the configuration of agents, and agents on queues.

mod configure;
mod ls;
mod promotion;
mod send;
mod show;
pub(super) mod start;
mod stop;

use clap::Subcommand;

use super::resource::Ask;

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Create an agent of an org
    #[command(after_help = "\
Examples:
  ostler agent create support --org nordlicht --name Ida
  ostler agent create billing --org nordlicht --subtype billing --custom \\
      --autonomy supervised --model openai/gpt-5-mini \\
      --set 'require_approval_for=[\"refund_payment\"]'")]
    Create(configure::AgentCreateArgs),
    /// Change fields of an agent
    #[command(after_help = "\
Examples:
  ostler agent set support --org nordlicht autonomy=semi_autonomous
  ostler agent set support --org nordlicht 'models=[\"local/llama\"]' \\
      limits.max_messages_per_day=50

`ostler agent edit` shows the fields.")]
    Set(configure::AgentSetArgs),
    /// Edit an agent in your editor and look at the plan before it changes
    #[command(after_help = "\
Examples:
  ostler agent edit support --org nordlicht")]
    Edit(configure::AgentEditArgs),
    /// Stop an agent from answering
    #[command(after_help = "\
Examples:
  ostler agent pause support --org nordlicht")]
    Pause(configure::AgentEditArgs),
    /// Let a paused agent answer again
    #[command(after_help = "\
Examples:
  ostler agent resume support --org nordlicht")]
    Resume(configure::AgentEditArgs),
    /// Retire an agent; what it did stays on record
    #[command(after_help = "\
Examples:
  ostler agent archive support --org nordlicht")]
    Archive(configure::AgentEditArgs),
    /// Review autonomy levels, and decide on those that the figures call for
    #[command(subcommand)]
    Promotion(promotion::PromotionCommand),
    /// List agents: those that answer people, and those on queues
    #[command(after_help = "\
Examples:
  ostler agent ls --org bella
  ostler agent ls --queues
  ostler agent ls --can review --json")]
    Ls(ls::AgentLsArgs),
    /// Show an agent: its configuration and channels, and its work on queues
    #[command(after_help = "\
Examples:
  ostler agent show gia --org bella
  ostler agent show legal --json")]
    Show(show::AgentShowArgs),
    /// Start an agent on queues, and register it if it is new
    #[command(after_help = "\
Examples:
  ostler agent start ada --type human --can review,sign
  ostler agent start gia --org bella
  ostler agent start ada --json")]
    Start(start::AgentStartArgs),
    /// Stop an agent on queues; it takes no messages until it is started again
    #[command(after_help = "\
Examples:
  ostler agent stop ada
  ostler agent stop gia --org bella --json")]
    Stop(stop::AgentNameArgs),
    /// Remove an agent from the queues; it must be in no team
    #[command(after_help = "\
Examples:
  ostler agent rm ada
  ostler agent rm ada --json")]
    Rm(stop::AgentNameArgs),
    /// Send a message to an agent and print the reply
    #[command(after_help = "\
Examples:
  ostler agent send legal \"May we ship this?\"
  ostler agent send legal \"Look at this when you can\" --no-reply
  ostler agent send legal \"Sign the contract\" --approver boss --no-reply
  ostler agent send legal \"May we ship this?\" --type review --timeout 2m --json")]
    Send(send::AgentSendArgs),
}

pub(crate) async fn run(command: &AgentCommand) -> anyhow::Result<()> {
    match command {
        AgentCommand::Create(args) => configure::create(args).await,
        AgentCommand::Set(args) => configure::set(args).await,
        AgentCommand::Edit(args) => configure::edit(args).await,
        AgentCommand::Pause(args) => configure::set_status(args, "paused", Ask::Never).await,
        AgentCommand::Resume(args) => configure::set_status(args, "active", Ask::Never).await,
        AgentCommand::Archive(args) => configure::set_status(args, "archived", Ask::First).await,
        AgentCommand::Promotion(command) => promotion::run(command).await,
        AgentCommand::Ls(args) => ls::run(args).await,
        AgentCommand::Show(args) => show::run(args).await,
        AgentCommand::Start(args) => start::run(args).await,
        AgentCommand::Stop(args) => stop::stop(args).await,
        AgentCommand::Rm(args) => stop::remove(args).await,
        AgentCommand::Send(args) => send::run(args).await,
    }
}
