//! `ostler tools add`.

use std::path::PathBuf;

use clap::Args;
use ostler_domain::tool::org_tools::OrgTool;

use super::definition;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// File with the definition as TOML, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &AddArgs) -> anyhow::Result<()> {
    let tool = OrgTool::Http(definition::read(&args.file)?);
    let org = open_org(&args.target).await?;
    let next = format!(
        "next  ostler tools test {} --org {} --arguments '{{…}}'  try it",
        tool.name(),
        org.org.slug
    );
    definition::save(&org, &tool, &args.target.output, &next).await
}
