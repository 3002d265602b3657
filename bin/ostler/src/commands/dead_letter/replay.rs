//! `ostler dead-letter replay`.

use serde_json::json;

use super::{DeadLetterArgs, find};
use crate::api_client::{Nothing, open_org};
use crate::commands::operator::print_result;

pub(super) async fn run(args: &DeadLetterArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.message).await?;
    org.post::<Nothing>(&["dead-letters", &id, "replay"], &()).await?;
    let done = json!({"id": id, "done": "replayed"});
    print_result(&args.target.output, &done, &format!("{} will be tried again", args.message))
}
