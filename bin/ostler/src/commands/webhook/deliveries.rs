//! `ostler webhook deliveries`.

use anyhow::Context as _;
use clap::Args;
use ostler_api::webhook::WebhookDelivery;
use ostler_domain::id::WebhookDeliveryId;
use ostler_domain::webhook::WebhookDeliveryState;

use super::{WebhookArgs, find};
use crate::api_client::{OrgApi, open_org};
use crate::commands::args::match_id;
use crate::commands::session::view::format_time;
use crate::screen::{BAD, Cell, DIM, GOOD, HEADER, NextCommand, WARNING, print_next, print_rows};

/// The most deliveries that are listed without `--limit`.
const DEFAULT_LIMIT: usize = 50;
/// How many deliveries are searched for the end of an id.
const SEARCHED: usize = 1000;

#[derive(Debug, Args)]
pub(crate) struct WebhookDeliveriesArgs {
    #[command(flatten)]
    webhook: WebhookArgs,
    /// Delivery to show with its body, by id or the end of its id
    #[arg(value_name = "DELIVERY")]
    delivery: Option<String>,
    /// Only deliveries in this state: pending, delivered or failed
    #[arg(long, value_name = "STATE", value_parser = parse_state)]
    state: Option<WebhookDeliveryState>,
    /// The most deliveries to list
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_LIMIT)]
    limit: usize,
}

pub(super) async fn run(args: &WebhookDeliveriesArgs) -> anyhow::Result<()> {
    let WebhookArgs { webhook, target } = &args.webhook;
    let org = open_org(target).await?;
    let id = find(&org, webhook).await?.to_string();
    let path = ["webhooks", id.as_str(), "deliveries"];
    if let Some(delivery) = &args.delivery {
        let delivery = find_delivery(&org, &id, delivery).await?.to_string();
        let found: WebhookDelivery = org.get(&["webhooks", &id, "deliveries", &delivery]).await?;
        return crate::commands::print_json(&found);
    }
    let state = args.state.map(WebhookDeliveryState::name);
    let query: Vec<(&str, &str)> = state.map(|state| ("state", state)).into_iter().collect();
    let deliveries: Vec<WebhookDelivery> = org.list(&path, &query, args.limit).await?;
    if target.output.json {
        return crate::commands::print_json(&deliveries);
    }
    if deliveries.is_empty() {
        match state {
            Some(state) => anstream::println!("no delivery to {webhook} is {state}"),
            None => anstream::println!("nothing was sent to {webhook} yet"),
        }
        return Ok(());
    }
    print_deliveries(&deliveries);
    let failed = deliveries.iter().find(|one| one.state == WebhookDeliveryState::Failed);
    let slug = &org.org.slug;
    print_next(failed.map(|one| {
        NextCommand::new(format!("ostler webhook redeliver {webhook} {} --org {slug}", one.id), "")
    }));
    Ok(())
}

fn print_deliveries(deliveries: &[WebhookDelivery]) {
    let header = ["delivery", "time", "event", "state", "tries", "answer", "ms", "next", "reason"];
    let mut rows = vec![header.map(|text| Cell::styled(text, HEADER))];
    rows.extend(deliveries.iter().map(|one| {
        let state = match one.state {
            WebhookDeliveryState::Delivered => Cell::styled("delivered", GOOD),
            WebhookDeliveryState::Pending if one.attempts == 0 => Cell::styled("waiting", DIM),
            WebhookDeliveryState::Pending => Cell::styled("retrying", WARNING),
            WebhookDeliveryState::Failed => Cell::styled("failed", BAD),
        };
        let number = |number: Option<u64>| number.map_or_else(String::new, |one| one.to_string());
        [
            Cell::id(&one.id),
            Cell::whole(format_time(one.created_at)),
            one.event.map_or("?", |kind| kind.name()).into(),
            state,
            one.attempts.to_string().into(),
            number(one.status.map(u64::from)).into(),
            number(one.millis).into(),
            Cell::whole(one.next_at.map(format_time).unwrap_or_default()),
            one.reason.as_deref().unwrap_or_default().into(),
        ]
    }));
    print_rows(&rows);
}

/// Finds a delivery by its id or the end of it.
pub(super) async fn find_delivery(
    org: &OrgApi,
    webhook: &str,
    name: &str,
) -> anyhow::Result<WebhookDeliveryId> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let path = ["webhooks", webhook, "deliveries"];
    let recent: Vec<WebhookDelivery> = org.list(&path, &[], SEARCHED).await?;
    let known: Vec<WebhookDeliveryId> = recent.iter().map(|one| one.id).collect();
    match_id(name, &known)?
        .with_context(|| format!("no delivery `{name}`; `ostler webhook deliveries` lists them"))
}

fn parse_state(name: &str) -> Result<WebhookDeliveryState, String> {
    let found = WebhookDeliveryState::ALL.into_iter().find(|state| state.name() == name);
    found.ok_or_else(|| "write pending, delivered or failed".to_owned())
}
