//! `get_order`

use ostler_domain::id::RecordId;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::find::{NONE, with_number};
use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Page, Wanted, bounded};
use crate::records::{Order, Refund, Refunds};
use crate::when::Clock;

/// The most orders with the same number that are shown at once.
const MOST: u32 = 3;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The number that the customer was given, or the id of the order: rec_…
    #[schemars(length(min = 1, max = 100))]
    order: String,
    /// The next_cursor of the answer before, if not all orders were looked through.
    #[serde(default)]
    #[schemars(length(max = 64))]
    cursor: Option<String>,
}

pub(crate) struct GetOrder;

impl LocalTool for GetOrder {
    const DESCRIPTION: &'static str = "Reads an order by the number that the customer has, or by \
        its id: what was ordered, what it costs, how far it is, what was refunded.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let wanted = arguments.order.trim();
        let mut page = match wanted.parse::<RecordId>() {
            Ok(id) => Page { items: vec![json!(id)], next: None },
            Err(_) => {
                let page = Wanted { cursor: arguments.cursor, limit: Some(MOST) };
                with_number(&desk, wanted, &page).await?
            }
        };
        let clock = desk.clock().await?;
        let mut orders = Vec::new();
        for id in &page.items {
            let Ok(id) = RecordId::deserialize(id) else { continue };
            if let Some((_, order)) = desk.view.record::<Order>(id).await? {
                let refunds = desk.view.record::<Refunds>(id).await?;
                let refunds = refunds.map(|(_, refunds)| refunds).unwrap_or_default();
                orders.push(bounded(&id.to_string(), shown(id, &order, &refunds, &clock)));
            }
        }
        page.items = orders;
        if page.items.is_empty() && page.next.is_none() {
            return Err(Problem::Declined(NONE.to_owned()));
        }
        Ok(page.told("orders"))
    }
}

fn shown(id: RecordId, order: &Order, refunds: &Refunds, clock: &Clock) -> Value {
    let mut shown = json!({
        "id": id, "number": order.number, "contact_id": order.contact, "status": order.status,
        "lines": order.lines, "total": order.total, "placed_at": clock.shown(order.placed_at),
    });
    if let Some(total) = refunds.total() {
        let refund = |refund: &Refund| {
            json!({
                "id": refund.id, "amount": refund.amount, "reason": refund.reason,
                "at": clock.shown(refund.at),
            })
        };
        shown["refunded"] = json!(total);
        shown["refunds"] = refunds.refunds.iter().map(refund).collect();
    }
    shown
}
