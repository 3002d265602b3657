//! `ostler dead-letter abandon`.

use clap::Args;
use ostler_api::dead_letter::AbandonRequest;
use serde_json::json;

use super::{DeadLetterArgs, find};
use crate::api_client::{Nothing, open_org};
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct AbandonArgs {
    #[command(flatten)]
    dead_letter: DeadLetterArgs,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

pub(super) async fn run(args: &AbandonArgs) -> anyhow::Result<()> {
    let DeadLetterArgs { message, target } = &args.dead_letter;
    let org = open_org(target).await?;
    let id = find(&org, message).await?;
    let request = AbandonRequest { why: args.reason.clone() };
    org.post::<Nothing>(&["dead-letters", &id, "abandon"], &request).await?;
    let done = json!({"id": id, "done": "abandoned"});
    print_result(&target.output, &done, &format!("{message} is abandoned"))
}
