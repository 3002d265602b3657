//! `ostler webhook create`.

use clap::Args;
use ostler_api::webhook::{CreatedWebhook, NewWebhook};
use ostler_domain::event::OrgEventKind;

use super::{events_text, host, parse_event};
use crate::api_client::open_org;
use crate::commands::args::OrgArgs;
use crate::screen::{DIM, NextCommand, print_next, print_paragraph};

#[derive(Debug, Args)]
pub(crate) struct WebhookCreateArgs {
    /// Address that gets the events: https://…; http:// only within the server's own
    /// network
    #[arg(value_name = "URL")]
    url: String,
    /// Events that it gets, separated by commas [default: all]
    #[arg(long, value_name = "EVENTS", value_delimiter = ',', value_parser = parse_event)]
    events: Vec<OrgEventKind>,
    /// What it is for
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WebhookCreateArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let new = NewWebhook {
        url: args.url.clone(),
        description: args.description.clone(),
        events: args.events.iter().copied().collect(),
    };
    let created: CreatedWebhook = org.post(&["webhooks"], &new).await?;
    if args.target.output.json {
        return crate::commands::print_json(&created);
    }
    let CreatedWebhook { webhook, secret } = created;
    anstream::println!("{} gets {} from now on", webhook.url, events_text(&webhook));
    anstream::println!("signing key  {secret}");
    let note = "Keep the key where the receiver verifies signatures; it is not shown again.";
    print_paragraph(note, DIM);
    let (name, slug) = (host(&webhook.url), &org.org.slug);
    print_next([NextCommand::new(format!("ostler webhook test {name} --org {slug}"), "")]);
    Ok(())
}
