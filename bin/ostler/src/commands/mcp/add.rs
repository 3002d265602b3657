//! `ostler mcp add`.

use std::path::PathBuf;

use clap::Args;
use ostler_domain::tool::org_tools::OrgTool;

use crate::commands::args::OrgArgs;
use crate::commands::operator::open_org;
use crate::commands::tools::definition;

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// File with the definition as TOML, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &AddArgs) -> anyhow::Result<()> {
    let server = OrgTool::Mcp(definition::read(&args.file)?);
    let (operator, org) = open_org(&args.target).await?;
    let next = format!("next  ostler mcp test {} --org {}  see its tools", server.name(), org.slug);
    definition::save(&operator, &org, server, &args.target.output, &next).await
}
