//! `ostler bus`: queues and dead letters of the message bus.

mod dead_letters;
mod replay;
mod status;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum BusCommand {
    /// Show which capabilities are available, and how many messages wait in queues
    #[command(after_help = "\
Examples:
  ostler bus status
  OSTLER_BUS_URL=amqp://localhost ostler bus status --json")]
    Status(status::BusStatusArgs),
    /// List messages that could not be handled, with the reason
    #[command(after_help = "\
Examples:
  ostler bus dead-letters
  ostler bus dead-letters --queue agent.legal --limit 5 --json")]
    DeadLetters(dead_letters::BusDeadLettersArgs),
    /// Put dead letters back into their queues
    #[command(after_help = "\
Examples:
  ostler bus replay --all
  ostler bus replay --queue agent.legal
  ostler bus replay --queue agent.legal --message env_01jd0v4k9pf2ht6z3m8w5x7ybc")]
    Replay(replay::BusReplayArgs),
}

pub(crate) async fn run(command: &BusCommand) -> anyhow::Result<()> {
    match command {
        BusCommand::Status(args) => status::run(args).await,
        BusCommand::DeadLetters(args) => dead_letters::run(args).await,
        BusCommand::Replay(args) => replay::run(args).await,
    }
}
