//! `ostler webhook rotate`.

use clap::Args;
use ostler_api::webhook::{RotateKeyRequest, RotatedKey};
use serde_json::json;

use super::{WebhookArgs, find};
use crate::api_client::open_org;
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct WebhookRotateArgs {
    #[command(flatten)]
    webhook: WebhookArgs,
    /// Stop signing with the old key now, because somebody else may have it
    #[arg(long)]
    at_once: bool,
}

pub(super) async fn run(args: &WebhookRotateArgs) -> anyhow::Result<()> {
    let WebhookArgs { webhook, target } = &args.webhook;
    let org = open_org(target).await?;
    let id = find(&org, webhook).await?.to_string();
    let request = RotateKeyRequest { at_once: args.at_once };
    let RotatedKey { secret } = org.post(&["webhooks", &id, "rotate"], &request).await?;
    let old = if args.at_once { "no longer signs" } else { "signs too for a day" };
    let text = format!("signing key  {secret}\nThe old key {old}. This one is not shown again.");
    print_result(&target.output, &json!({"id": id, "secret": secret}), &text)
}
