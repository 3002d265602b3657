//! `ostler settings`: how the conversations of an org work.

use clap::{Args, Subcommand};
use ostler_world::Address;

use serde_json::Value;

use super::args::OrgArgs;
use super::resource::{Ask, Assignment, Change, ChangeArgs, ResourceEditor};
use crate::api_client::open_org;

#[derive(Debug, Subcommand)]
pub(crate) enum SettingsCommand {
    /// Show every setting of an organization, also those at their default
    #[command(after_help = "\
Examples:
  ostler settings show --org nordlicht
  ostler settings show --org nordlicht --json")]
    Show(OrgArgs),
    /// Change settings of an organization
    #[command(after_help = "\
Examples:
  ostler settings set team.max_handoffs=3 --org nordlicht
  ostler settings set session_budget.cap=80 session_budget.warning=60 \\
      --org nordlicht
  ostler settings set 'people.owner={channel = \"bot\", identifier = \"4711\"}' \\
      --org nordlicht
  ostler settings set \\
      'lifetimes.webchat={idle_secs = 900, longest_secs = 7200}' \\
      --org nordlicht

`ostler settings show` prints the keys. Values are written as in a world file; a
text needs no quotes, and an empty value resets the key to its default.")]
    Set(SettingsSetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SettingsSetArgs {
    /// Settings and their new values
    #[arg(value_name = "KEY=VALUE", required = true)]
    fields: Vec<Assignment>,
    #[command(flatten)]
    change: ChangeArgs,
    #[command(flatten)]
    target: OrgArgs,
}

pub(crate) async fn run(command: &SettingsCommand) -> anyhow::Result<()> {
    match command {
        SettingsCommand::Show(args) => show(args).await,
        SettingsCommand::Set(args) => set(args).await,
    }
}

async fn show(args: &OrgArgs) -> anyhow::Result<()> {
    let org = open_org(args).await?;
    let settings: Value = org.get(&["settings"]).await?;
    if args.output.json {
        return super::print_json(&settings);
    }
    for (path, value) in ostler_world::plan::flatten(&settings) {
        anstream::println!("{path} = {}", super::apply::short(&value));
    }
    Ok(())
}

async fn set(args: &SettingsSetArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let fields: Vec<Assignment> =
        args.fields.iter().map(|field| field.inside("settings")).collect();
    let how = Change { args: &args.change, output: &args.target.output, ask: Ask::Never };
    let editor = ResourceEditor::open(&org.api).await?;
    editor.set(&Address::of_org(&org.org.slug), &fields, &how).await
}
