//! `ostler webhook edit`.

use anyhow::bail;
use clap::Args;
use ostler_api::webhook::{Webhook, WebhookPatch};
use ostler_domain::event::OrgEventKind;
use serde_json::json;

use super::{WebhookArgs, events_text, find, parse_event};
use crate::api_client::open_org;
use crate::commands::operator::print_result;

#[derive(Debug, Args)]
pub(crate) struct WebhookEditArgs {
    #[command(flatten)]
    webhook: WebhookArgs,
    /// Another address
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Events that it gets, separated by commas
    #[arg(long, value_name = "EVENTS", value_delimiter = ',', value_parser = parse_event)]
    events: Vec<OrgEventKind>,
    /// Send all events
    #[arg(long, conflicts_with = "events")]
    all_events: bool,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Send events to it; what happened while it was off is sent too
    #[arg(long)]
    enable: bool,
    /// Send nothing to it until it is enabled
    #[arg(long, conflicts_with = "enable")]
    disable: bool,
    /// Leave out events until now that were not sent
    #[arg(long)]
    skip_missed: bool,
}

pub(super) async fn run(args: &WebhookEditArgs) -> anyhow::Result<()> {
    let has_events = args.all_events || !args.events.is_empty();
    let patch = WebhookPatch {
        url: args.url.clone(),
        description: args.description.clone(),
        events: has_events.then(|| args.events.iter().copied().collect()),
        enabled: (args.enable || args.disable).then_some(args.enable),
        skip_missed: args.skip_missed,
    };
    if patch == WebhookPatch::default() {
        bail!("say what to change: --url, --events, --description, --enable or --disable");
    }
    let WebhookArgs { webhook, target } = &args.webhook;
    let org = open_org(target).await?;
    let id = find(&org, webhook).await?.to_string();
    let changed: Webhook = org.patch(&["webhooks", &id], &patch).await?;
    let state = if args.disable { "is off" } else { "is changed" };
    let text = format!("{} {state}; it gets {}", changed.url, events_text(&changed));
    print_result(&target.output, &json!(changed), &text)
}
