//! `ostler org`: organizations.

mod create;
mod ls;
pub(super) mod tree;

use clap::{Args, Subcommand};
use ostler_world::Address;

use super::args::{InstallationArgs, OutputArgs};
use super::resource::{Ask, Assignment, Change, ChangeArgs, ResourceEditor};
use crate::api_client::ApiClient;

#[derive(Debug, Subcommand)]
pub(crate) enum OrgCommand {
    /// List the organizations
    #[command(after_help = "\
Examples:
  ostler org ls
  ostler org ls --all --json")]
    Ls(ls::OrgLsArgs),
    /// Show an organization with its settings, as in a world file
    #[command(after_help = "\
Examples:
  ostler org show nordlicht
  ostler org show nordlicht --json")]
    Show(OrgShowArgs),
    /// Show the organizations with their agents and business layers, and the guardrail matrix
    #[command(after_help = "\
Examples:
  ostler org tree
  ostler org tree --world examples/harbour.toml --json")]
    Tree(tree::OrgTreeArgs),
    /// Create an organization
    #[command(after_help = "\
Examples:
  ostler org create harbour --name \"Harbour Agency\" --plan agency --sub-orgs
  ostler org create nordlicht --name \"Nordlicht Bikes\" --parent harbour \\
      --plan professional --time-zone Europe/Berlin --retention-days 90
  ostler org create pasta --parent harbour --owner ada@pasta.example \\
      --coordinator")]
    Create(create::OrgCreateArgs),
    /// Change fields of an organization
    #[command(after_help = "\
Examples:
  ostler org set nordlicht plan=pro retention_days=30
  ostler org set nordlicht credits.monthly=500
  ostler org set harbour sharing.max_per_child=200

`ostler org show` prints the fields. An empty value removes one.")]
    Set(OrgSetArgs),
    /// Edit an organization in your editor and look at the plan before it changes
    #[command(after_help = "\
Examples:
  ostler org edit nordlicht
  EDITOR=nano ostler org edit nordlicht")]
    Edit(OrgEditArgs),
    /// Retire an organization: its channels are closed, its records stay
    #[command(after_help = "\
Examples:
  ostler org archive nordlicht")]
    Archive(OrgEditArgs),
}

#[derive(Debug, Args)]
pub(crate) struct OrgShowArgs {
    /// Organization, by slug or id
    #[arg(value_name = "ORG")]
    org: String,
    #[command(flatten)]
    installation: InstallationArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OrgEditArgs {
    #[command(flatten)]
    target: OrgShowArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OrgSetArgs {
    #[command(flatten)]
    target: OrgShowArgs,
    /// Fields and their new values
    #[arg(value_name = "KEY=VALUE", required = true)]
    fields: Vec<Assignment>,
    #[command(flatten)]
    change: ChangeArgs,
}

pub(crate) async fn run(command: &OrgCommand) -> anyhow::Result<()> {
    match command {
        OrgCommand::Ls(args) => ls::run(args).await,
        OrgCommand::Tree(args) => tree::run(args).await,
        OrgCommand::Create(args) => create::run(args).await,
        OrgCommand::Show(args) => {
            let (api, address) = open(args).await?;
            ResourceEditor::open(&api).await?.show(&address, &args.output)
        }
        OrgCommand::Set(args) => set(&args.target, &args.fields, &args.change, Ask::Never).await,
        OrgCommand::Edit(args) => {
            let (api, address) = open(&args.target).await?;
            let how = Change { args: &args.change, output: &args.target.output, ask: Ask::First };
            ResourceEditor::open(&api).await?.edit(&address, &how).await
        }
        OrgCommand::Archive(args) => {
            let archived = [Assignment::new("archived", true)];
            set(&args.target, &archived, &args.change, Ask::First).await
        }
    }
}

async fn set(
    target: &OrgShowArgs,
    fields: &[Assignment],
    change: &ChangeArgs,
    ask: Ask,
) -> anyhow::Result<()> {
    let (api, address) = open(target).await?;
    let how = Change { args: change, output: &target.output, ask };
    ResourceEditor::open(&api).await?.set(&address, fields, &how).await
}

async fn open(args: &OrgShowArgs) -> anyhow::Result<(ApiClient, Address)> {
    let api = ApiClient::open(&args.installation).await?;
    let org = api.find_org(&args.org).await?;
    Ok((api, Address::of_org(&org.org.slug)))
}
