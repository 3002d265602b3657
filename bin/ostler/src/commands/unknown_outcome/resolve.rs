//! `ostler unknown-outcome resolve`.

use anyhow::Context as _;
use clap::Args;
use ostler_domain::id::CallId;
use serde_json::json;

use super::LIST_LIMIT;
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::{open_org, print_result};

#[derive(Debug, Args)]
pub(crate) struct ResolveArgs {
    /// Call, by id or the end of its id
    #[arg(value_name = "CALL")]
    call: String,
    /// Outcome, in words that the agent reads
    #[arg(value_name = "TEXT")]
    outcome: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &ResolveArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let calls = operator.org(&org).unknown_calls(None, LIST_LIMIT).await?;
    let known: Vec<CallId> = calls.iter().map(|call| call.intent.call).collect();
    let id = match_id(&args.call, &known)?
        .with_context(|| format!("no call {} in {} has an unknown outcome", args.call, org.name))?;
    operator.org(&org).resolve_unknown(id, &args.outcome).await?;
    let done = json!({"id": id, "outcome": args.outcome});
    let text = format!("{id} is resolved; the agent continues with this outcome");
    print_result(&args.target.output, &done, &text)
}
