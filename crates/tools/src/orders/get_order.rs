//! The `get_order` tool.

use ostler_domain::id::RecordId;
use ostler_domain::refund::RefundStatus;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::order_lookup::{NOT_FOUND, list_by_number};
use crate::org_clock::OrgClock;
use crate::page::{Page, PageRequest, limit_size};
use crate::records::{Order, Refund, Refunds};
use crate::store_tool::{CallContext, StoreTool, ToolError};

/// The most orders with the same number that are shown at once.
const MAX_ORDERS: u32 = 3;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The number that the customer was given, or the id of the order: rec_…
    #[schemars(length(min = 1, max = 100))]
    order: String,
    /// The next_cursor of the previous answer, if not all orders were searched.
    #[serde(default)]
    #[schemars(length(max = 64))]
    cursor: Option<String>,
}

pub(crate) struct GetOrder;

impl StoreTool for GetOrder {
    const DESCRIPTION: &'static str = "Reads an order by the number that the customer has, or by \
        its id: lines, total, status and refunds.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let order = arguments.order.trim();
        let mut page = match order.parse::<RecordId>() {
            Ok(id) => Page { items: vec![json!(id)], next_cursor: None },
            Err(_) => {
                let page = PageRequest { cursor: arguments.cursor, limit: Some(MAX_ORDERS) };
                list_by_number(&context, order, &page).await?
            }
        };
        let clock = context.clock().await?;
        let mut orders = Vec::new();
        for id in &page.items {
            let Ok(id) = RecordId::deserialize(id) else { continue };
            if let Some((_, order)) = context.overlay.record::<Order>(id).await?
                && context.may_access(order.contact)
            {
                let refunds = context.overlay.record::<Refunds>(id).await?;
                let refunds = refunds.map(|(_, refunds)| refunds).unwrap_or_default();
                orders.push(limit_size(&id.to_string(), order_json(id, &order, &refunds, &clock)));
            }
        }
        page.items = orders;
        if page.items.is_empty() && page.next_cursor.is_none() {
            return Err(ToolError::NotFound(NOT_FOUND.to_owned()));
        }
        Ok(page.into_outcome("orders"))
    }
}

/// Returns an order in the form that models receive.
fn order_json(id: RecordId, order: &Order, refunds: &Refunds, clock: &OrgClock) -> Value {
    let mut answer = json!({
        "id": id, "number": order.number, "contact_id": order.contact, "status": order.status,
        "lines": order.lines, "total": order.total, "placed_at": clock.format(order.placed_at),
    });
    if !refunds.refunds.is_empty() {
        let refund_json = |refund: &Refund| {
            json!({
                "id": refund.id, "amount": refund.amount, "reason": refund.reason,
                "at": clock.format(refund.at), "status": refund.status, "note": refund.note,
            })
        };
        for (name, status) in
            [("refunded", RefundStatus::Made), ("refund_requested", RefundStatus::Requested)]
        {
            if let Some(total) = refunds.total_with(status) {
                answer[name] = json!(total);
            }
        }
        answer["refunds"] = refunds.refunds.iter().map(refund_json).collect();
    }
    answer
}
