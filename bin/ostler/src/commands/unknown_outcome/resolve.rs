//! `ostler unknown-outcome resolve`.

use anyhow::Context as _;
use clap::Args;
use ostler_api::unknown_outcome::{ResolveRequest, UnknownOutcome};
use ostler_domain::id::CallId;
use serde_json::json;

use super::LIST_LIMIT;
use crate::api_client::{Nothing, open_org};
use crate::commands::args::{OrgArgs, match_id};
use crate::commands::operator::print_result;

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
    let org = open_org(&args.target).await?;
    let calls: Vec<UnknownOutcome> = org.list(&["unknown-outcomes"], &[], LIST_LIMIT).await?;
    let known: Vec<CallId> = calls.iter().map(|call| call.id).collect();
    let id = match_id(&args.call, &known)?.with_context(|| {
        format!("no call {} in {} has an unknown outcome", args.call, org.org.name)
    })?;
    let request = ResolveRequest { outcome: args.outcome.clone() };
    let path = ["unknown-outcomes", &id.to_string(), "resolve"];
    org.post::<Nothing>(&path, &request).await?;
    let done = json!({"id": id, "outcome": args.outcome});
    let text = format!("{id} is resolved; the agent continues with this outcome");
    print_result(&args.target.output, &done, &text)
}
