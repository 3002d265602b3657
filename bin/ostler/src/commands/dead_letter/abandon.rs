//! `ostler dead-letter abandon`.

use clap::Args;
use serde_json::json;

use super::{DeadLetterArgs, find, format_id};
use crate::commands::operator::{open_org, print_result};

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
    let (operator, org) = open_org(target).await?;
    let id = find(&operator, &org, message).await?;
    operator.org(&org).abandon_dead_letter(id, &args.reason).await?;
    let done = json!({"id": format_id(id), "done": "abandoned"});
    print_result(&target.output, &done, &format!("{message} is abandoned"))
}
