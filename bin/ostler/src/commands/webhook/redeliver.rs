//! `ostler webhook redeliver`.

use anyhow::bail;
use clap::Args;
use ostler_api::webhook::{RedeliverRequest, Redelivered};
use ostler_domain::time::Timestamp;
use serde_json::json;

use super::deliveries::find_delivery;
use super::{WebhookArgs, find};
use crate::api_client::{Nothing, open_org};
use crate::commands::operator::print_result;
use crate::screen::thousands;

#[derive(Debug, Args)]
pub(crate) struct WebhookRedeliverArgs {
    #[command(flatten)]
    webhook: WebhookArgs,
    /// Delivery, by id or the end of its id
    #[arg(value_name = "DELIVERY")]
    delivery: Option<String>,
    /// All deliveries since this time: 30m, 6h or 2d ago, or a date and time
    #[arg(long, value_name = "TIME", conflicts_with = "delivery", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// Only those that did not arrive
    #[arg(long, requires = "since")]
    failed: bool,
}

pub(super) async fn run(args: &WebhookRedeliverArgs) -> anyhow::Result<()> {
    let WebhookArgs { webhook, target } = &args.webhook;
    if args.delivery.is_none() && args.since.is_none() {
        bail!("name a delivery, or say since when: --since 6h");
    }
    let org = open_org(target).await?;
    let id = find(&org, webhook).await?.to_string();
    if let Some(name) = &args.delivery {
        let delivery = find_delivery(&org, &id, name).await?.to_string();
        let path = ["webhooks", id.as_str(), "deliveries", delivery.as_str(), "redeliver"];
        org.post::<Nothing>(&path, &()).await?;
        let done = json!({"id": delivery, "done": "redelivered"});
        return print_result(&target.output, &done, &format!("{delivery} is sent again"));
    }
    let since = args.since.unwrap_or_default();
    let request = RedeliverRequest { since, failed_only: args.failed };
    let sent: Redelivered = org.post(&["webhooks", &id, "redeliver"], &request).await?;
    let text = match sent.count {
        1 => "1 delivery is sent again".to_owned(),
        number => format!("{} deliveries are sent again", thousands(number)),
    };
    print_result(&target.output, &json!(sent), &text)
}

/// Parses a time in the past: a span such as `6h`, or a date and time.
fn parse_since(text: &str) -> Result<Timestamp, String> {
    let wrong = || "write a span such as 30m, 6h or 2d, or 2026-11-18T09:00Z".to_owned();
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(Timestamp::from_millis(time.as_millisecond()));
    }
    let span: jiff::Span = text.parse().map_err(|_| wrong())?;
    let time = jiff::Zoned::now().checked_sub(span.abs()).map_err(|_| wrong())?;
    Ok(Timestamp::from_millis(time.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::parse_since;

    #[test]
    fn k07_times_of_redeliveries_are_spans_or_dates() {
        let millis = |text| parse_since(text).map(ostler_domain::time::Timestamp::as_millis);
        assert_eq!(millis("2026-11-18T09:00Z"), Ok(1_794_992_400_000));
        let day = 24 * 60 * 60 * 1000;
        let (two_days, one_day) = (millis("2d").unwrap(), millis("1d").unwrap());
        assert!((one_day - two_days - day).abs() <= 2 * 60 * 60 * 1000);
        assert!(millis("soon").is_err() && millis("").is_err());
    }
}
