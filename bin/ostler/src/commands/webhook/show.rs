//! `ostler webhook show`.

use ostler_api::webhook::{Webhook, WebhookDelivery};

use super::{WebhookArgs, events_text, find, host, status_cell};
use crate::api_client::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, DIM, NextCommand, print_fields, print_next};

/// How many deliveries are counted.
const RECENT: usize = 100;

pub(super) async fn run(args: &WebhookArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.webhook).await?.to_string();
    let webhook: Webhook = org.get(&["webhooks", &id]).await?;
    if args.target.output.json {
        return crate::commands::print_json(&webhook);
    }
    let waiting: Vec<WebhookDelivery> =
        org.list(&["webhooks", &id, "deliveries"], &[("state", "pending")], RECENT).await?;
    let name = |text: &str| Cell::styled(text, DIM);
    let mut rows = vec![
        [name("webhook"), Cell::whole(id)],
        [name("address"), webhook.url.as_str().into()],
        [name("events"), events_text(&webhook).into()],
        [name("state"), status_cell(&webhook)],
    ];
    if !webhook.description.is_empty() {
        rows.insert(1, [name("for"), webhook.description.as_str().into()]);
    }
    if let Some(reason) = &webhook.reason {
        rows.push([name("reason"), reason.as_str().into()]);
    }
    if let Some(since) = webhook.failing_since {
        rows.push([name("failing since"), format_time(since).into()]);
    }
    if let Some(until) = webhook.old_key_until {
        rows.push([name("old key until"), format_time(until).into()]);
    }
    let more = if waiting.len() >= RECENT { " or more" } else { "" };
    rows.push([name("waiting"), format!("{}{more}", waiting.len()).into()]);
    rows.push([name("made"), format_time(webhook.created_at).into()]);
    print_fields(&rows);
    let (host, slug) = (host(&webhook.url), &org.org.slug);
    print_next([NextCommand::new(format!("ostler webhook deliveries {host} --org {slug}"), "")]);
    Ok(())
}
