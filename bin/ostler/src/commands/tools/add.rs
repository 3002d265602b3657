//! `ostler tools add`.

use std::path::PathBuf;

use clap::Args;
use ostler_domain::tool::org_tools::OrgTool;

use super::definition;
use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;

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
    let (operator, org) = open_org(&args.target).await?;
    let next = format!(
        "next  ostler tools test {} --org {} --arguments '{{…}}'  try it",
        tool.name(),
        org.slug
    );
    definition::save(&operator, &org, tool, &args.target.output, &next).await
}
