//! `ostler webhook test`.

use std::time::{Duration, Instant};

use anyhow::bail;
use ostler_api::webhook::WebhookDelivery;
use ostler_domain::webhook::WebhookDeliveryState;

use super::{WebhookArgs, find};
use crate::api_client::open_org;
use crate::commands::operator::print_result;

/// For how long the command waits for the receiver, and how often it looks.
const WAIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(250);

pub(super) async fn run(args: &WebhookArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let id = find(&org, &args.webhook).await?.to_string();
    let mut sent: WebhookDelivery = org.post(&["webhooks", &id, "test"], &()).await?;
    let delivery = sent.id.to_string();
    let deadline = Instant::now() + WAIT;
    while sent.attempts == 0 && Instant::now() < deadline {
        tokio::time::sleep(POLL).await;
        sent = org.get(&["webhooks", &id, "deliveries", &delivery]).await?;
    }
    let json = serde_json::to_value(&sent)?;
    let millis = sent.millis.unwrap_or_default();
    match (sent.state, sent.status) {
        (WebhookDeliveryState::Delivered, status) => {
            let status = status.map_or_else(String::new, |status| format!("HTTP {status}, "));
            let text = format!("the test event arrived ({status}{millis} ms)");
            print_result(&args.target.output, &json, &text)
        }
        (_, _) if sent.attempts > 0 => {
            if args.target.output.json {
                crate::commands::print_json(&json)?;
            }
            bail!("the test event did not arrive: {}", sent.reason.unwrap_or_default())
        }
        _ => {
            if args.target.output.json {
                crate::commands::print_json(&json)?;
            }
            bail!(
                "the test event was not sent yet; events are sent by `ostler serve` and \
                 `ostler worker`, so check that one of them is running"
            )
        }
    }
}
