//! `ostler dead-letter replay`.

use serde_json::json;

use super::{DeadLetterArgs, find, format_id};
use crate::commands::operator::{open_org, print_result};

pub(super) async fn run(args: &DeadLetterArgs) -> anyhow::Result<()> {
    let (operator, org) = open_org(&args.target).await?;
    let id = find(&operator, &org, &args.message).await?;
    operator.org(&org).replay_dead_letter(id).await?;
    let done = json!({"id": format_id(id), "done": "replayed"});
    print_result(&args.target.output, &done, &format!("{} will be tried again", args.message))
}
