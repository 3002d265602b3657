//! The `refund_payment` tool.

use ostler_domain::id::RecordId;
use ostler_domain::refund::RefundStatus;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::order_lookup::{FoundOrder, find_order};
use crate::effects::{EffectError, StoreEffect, refundable_amount};
use crate::ids;
use crate::records::{Currency, InvalidMoney, Money, Refund, Refunds};
use crate::store_tool::{CallContext, StoreTool, ToolError};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The number that the customer was given, or the id of the order: rec_…
    #[schemars(length(min = 1, max = 100))]
    order: String,
    /// The amount in the currency of the order, with a decimal point: `"12.50"`
    #[schemars(length(min = 1, max = 20), regex(pattern = r"^[0-9]+([.][0-9]+)?$"))]
    amount: String,
    /// The currency, such as EUR, to make sure that it is the currency of the order.
    #[serde(default)]
    #[schemars(length(max = 3))]
    currency: Option<String>,
    /// The reason in a few words. People will read it.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

pub(crate) struct RefundPayment;

impl StoreTool for RefundPayment {
    const DESCRIPTION: &'static str = "Requests a refund of an order, in part or in full. The request \
        is recorded with the order; it pays nothing, a person of the organization does that. Never \
        say that the money was sent. Look the order up first. Refunds never exceed the total of \
        the order.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let FoundOrder { id, order } = find_order(&context, &arguments.order).await?;
        let refunds = context.overlay.record::<Refunds>(id).await?;
        let refunds = refunds.map(|(_, refunds)| refunds).unwrap_or_default();
        let (total, left) = refundable_amount(&order, &refunds).map_err(EffectError::from)?;
        let amount = parse_amount(&arguments, total)?;
        let refund = Refund {
            id: RecordId::from_u128(ids::derive_uuid(context.tool_context, 0)),
            amount,
            reason: arguments.reason,
            at: context.clock().await?.now(),
            agent: context.tool_context.agent,
            session: context.tool_context.session,
            status: RefundStatus::Requested,
            note: None,
        };
        let answer = json!({
            "refund_requested": {
                "id": refund.id, "order_id": id, "order": order.number, "amount": refund.amount,
                "still_refundable": left.checked_sub(amount),
            },
            "note": "The request is recorded. Nothing was paid yet: a person pays it out.",
        });
        context.finish(StoreEffect::RefundPayment { order: id, refund }, &answer).await
    }
}

fn parse_amount(arguments: &Arguments, total: Money) -> Result<Money, ToolError> {
    let invalid = |error: InvalidMoney| ToolError::Invalid(format!("{error}."));
    let currency = arguments.currency.as_deref().map(Currency::parse).transpose();
    let currency = currency.map_err(invalid)?.unwrap_or(total.currency());
    Money::parse(&arguments.amount, currency).map_err(invalid)
}
