//! `ostler mcp add`.

use std::path::PathBuf;

use clap::Args;
use ostler_domain::tool::org_tools::OrgTool;

use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
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
    let org = open_org(&args.target).await?;
    let (name, slug) = (server.name(), &org.org.slug);
    let next = format!("next  ostler mcp test {name} --org {slug}  see its tools");
    definition::save(&org, &server, &args.target.output, &next).await
}
