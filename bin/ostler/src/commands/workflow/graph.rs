//! `ostler workflow graph`.

use std::path::PathBuf;

use clap::Args;
use ostler_api::workflow::WorkflowGraph;
use ostler_domain::workflow::graph::{mermaid, svg};

use super::definition::read_definition;
use super::find;
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct WorkflowGraphArgs {
    /// TOML file that defines a workflow, or a workflow that was started, by its id or the
    /// end of it
    #[arg(value_name = "FILE|WORKFLOW")]
    workflow: String,
    /// Print an SVG picture instead of Mermaid
    #[arg(long)]
    svg: bool,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WorkflowGraphArgs) -> anyhow::Result<()> {
    let file = PathBuf::from(&args.workflow);
    let text = if file.is_file() {
        let definition = read_definition(&file)?;
        if args.svg { svg(&definition, None) } else { mermaid(&definition, None) }
    } else {
        let org = open_org(&args.target).await?;
        let id = find(&org, &args.workflow).await?.to_string();
        let graph: WorkflowGraph = org.get(&["workflows", &id, "graph"]).await?;
        if args.svg { graph.svg } else { graph.mermaid }
    };
    if args.target.output.json {
        return crate::commands::print_json(&serde_json::json!({"graph": text}));
    }
    anstream::print!("{text}");
    Ok(())
}
