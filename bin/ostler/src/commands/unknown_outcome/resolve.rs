//! `ostler unknown-outcome resolve`.

use clap::Args;
use ostler_domain::id::CallId;
use serde_json::json;

use crate::commands::args::OrgArgs;
use crate::commands::operator::{open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    /// Call, by id
    #[arg(value_name = "CALL")]
    call: CallId,
    /// Outcome, in words that the agent reads
    #[arg(value_name = "TEXT")]
    outcome: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ResolveArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    operator.org(&org).resolve_unknown(args.call, &args.outcome).await?;
    let done = json!({"call": args.call, "outcome": args.outcome});
    let text = format!("{} is resolved; the agent continues with this outcome", args.call);
    print_result(&args.target.output, &done, &text)
}
