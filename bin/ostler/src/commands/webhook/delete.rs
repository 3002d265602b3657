//! `ostler webhook delete`.

use serde_json::json;

use super::{WebhookArgs, find};
use crate::api_client::{Nothing, open_org};
use crate::commands::operator::print_result;

pub(super) async fn run(args: &WebhookArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.webhook).await?.to_string();
    org.delete::<Nothing>(&["webhooks", &id]).await?;
    let done = json!({"id": id, "done": "deleted"});
    print_result(&args.target.output, &done, &format!("{} is deleted", args.webhook))
}
