//! `ostler context`: the servers that somebody has logged in to.

use clap::{Args, Subcommand};
use serde_json::json;

use super::args::OutputArgs;
use super::operator::print_result;
use crate::api_client::contexts::Contexts;
use crate::screen::{Cell, GOOD, HEADER, NextCommand, print_next, print_rows};

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// List the servers that you have logged in to
    #[command(after_help = "\
Examples:
  ostler context ls
  ostler context ls --json")]
    Ls(OutputArgs),
    /// Choose the server that commands work on without --context
    #[command(after_help = "\
Examples:
  ostler context use work
  ostler context use --none")]
    Use(ContextUseArgs),
    /// Remove the log-in to a server from this machine
    #[command(after_help = "\
Examples:
  ostler context rm work")]
    Rm(ContextRmArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ContextUseArgs {
    /// Name of the context
    #[arg(value_name = "NAME", required_unless_present = "none")]
    name: Option<String>,
    /// Use no context: commands work on local installations
    #[arg(long, conflicts_with = "name")]
    none: bool,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ContextRmArgs {
    /// Name of the context
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(command: &ContextCommand) -> anyhow::Result<()> {
    let mut contexts = Contexts::load()?;
    match command {
        ContextCommand::Ls(output) => list(&contexts, output),
        ContextCommand::Use(ContextUseArgs { name: Some(name), output, .. }) => {
            contexts.choose(name)?;
            print_result(output, &json!({"current": name}), &format!("commands work on `{name}`"))
        }
        ContextCommand::Use(ContextUseArgs { name: None, output, .. }) => {
            contexts.choose_none()?;
            let text = "commands work on local installations";
            print_result(output, &json!({"current": null}), text)
        }
        ContextCommand::Rm(ContextRmArgs { name, output }) => {
            contexts.remove(name)?;
            print_result(output, &json!({"removed": name}), &format!("removed `{name}`"))
        }
    }
}

fn list(contexts: &Contexts, output: &OutputArgs) -> anyhow::Result<()> {
    let all = contexts.summaries();
    if output.json {
        return super::print_json(&all);
    }
    if all.is_empty() {
        anstream::println!("you are not logged in to any server");
        print_next([NextCommand::new("ostler login https://ostler.example.com", "")]);
        return Ok(());
    }
    let mut rows = vec![["context", "server", "as", ""].map(|text| Cell::styled(text, HEADER))];
    rows.extend(all.iter().map(|context| {
        let current = if context.current { Cell::styled("current", GOOD) } else { "".into() };
        [
            context.name.as_str().into(),
            context.url.as_str().into(),
            context.who.as_str().into(),
            current,
        ]
    }));
    print_rows(&rows);
    Ok(())
}
