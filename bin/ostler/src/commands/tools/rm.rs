//! `ostler tools rm`.

use clap::Args;
use serde_json::json;

use crate::api_client::{Nothing, open_org};
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Name of the tool
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &RmArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let _: Nothing = org.delete(&["tools", &args.name]).await?;
    let json = json!({"org": org.org.id, "name": args.name, "change": "removed"});
    let text = format!("HTTP tool {} removed; agents lose it from their next turn on", args.name);
    print_result(&args.target.output, &json, &text)
}
