//! `ostler model`: the models that agents can use.

mod choose;
mod ls;
mod test;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List models: whether their keys are set, their prices, and how often they were used
    #[command(after_help = "\
Examples:
  ostler model ls
  ostler model ls --all
  ostler model ls --json

Any model of a provider can be used, also if it is not listed. Prices are in dollars
for a million tokens. docs/CONFIGURATION.md describes how to add a provider.")]
    Ls(ls::ModelLsArgs),
    /// Ask a model one short question and show how long it takes
    #[command(after_help = "\
Examples:
  ostler model test
  ostler model test ollama/llama3
  ostler model test shop/llama3 --json

Without a name it tests the model of agents that name none. The call costs a few
tokens. Exit codes: 0 the model answered, 1 it did not.")]
    Test(test::ModelTestArgs),
    /// Choose the model of an org's agents that name none
    #[command(after_help = "\
Examples:
  ostler model use ollama/llama3 --org bella
  ostler model use anthropic/claude-sonnet-4-5 openai/gpt-5-mini --org bella
  ostler model use --default --org bella")]
    Use(choose::ModelUseArgs),
}

pub(crate) async fn run(command: &ModelCommand) -> anyhow::Result<ExitCode> {
    match command {
        ModelCommand::Ls(args) => ls::run(args).await.map(|()| ExitCode::SUCCESS),
        ModelCommand::Test(args) => test::run(args).await,
        ModelCommand::Use(args) => choose::run(args).await.map(|()| ExitCode::SUCCESS),
    }
}
