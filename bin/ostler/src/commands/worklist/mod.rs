//! `ostler worklist`: messages that wait for human agents.

mod answer;
mod ls;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum WorklistCommand {
    /// List the messages that wait for human agents
    #[command(after_help = "\
Examples:
  ostler worklist ls
  ostler worklist ls --agent ada --json")]
    Ls(ls::WorklistLsArgs),
    /// Answer a message in the name of its human agent
    #[command(after_help = "\
Examples:
  ostler worklist answer env_01jd0v4k9pf2ht6z3m8w5x7ybc \"Yes, ship it\"
  ostler worklist answer …7ybc \"Not yet\" --json")]
    Answer(answer::WorklistAnswerArgs),
}

pub(crate) async fn run(command: &WorklistCommand) -> anyhow::Result<()> {
    match command {
        WorklistCommand::Ls(args) => ls::run(args).await,
        WorklistCommand::Answer(args) => answer::run(args).await,
    }
}
