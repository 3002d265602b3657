//! `refund_payment`

use ostler_domain::id::RecordId;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::find::{Found, find};
use crate::effects::{NotRefundable, StoreEffect, left_of};
use crate::ids;
use crate::local::{Desk, LocalTool, Problem};
use crate::records::{Currency, Money, Refund, Refunds};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The number that the customer was given, or the id of the order: rec_…
    #[schemars(length(min = 1, max = 100))]
    order: String,
    /// How much, in the currency of the order, written with a point: `"12.50"`
    #[schemars(length(min = 1, max = 20), regex(pattern = r"^[0-9]+([.][0-9]+)?$"))]
    amount: String,
    /// The currency, to make sure that it is the one of the order: EUR
    #[serde(default)]
    #[schemars(length(max = 3))]
    currency: Option<String>,
    /// Why, in a few words; people will read it.
    #[schemars(length(min = 1, max = 500))]
    reason: String,
}

pub(crate) struct RefundPayment;

impl LocalTool for RefundPayment {
    const DESCRIPTION: &'static str = "Refunds a part of an order, or all of it: writes the refund \
        down with the order, for payment. Look the order up first; never more is refunded than it \
        cost. It cannot be taken back.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Found { id, order } = find(&desk, &arguments.order).await?;
        let known = desk.view.record::<Refunds>(id).await?;
        let known = known.map(|(_, refunds)| refunds).unwrap_or_default();
        let (total, left) = left_of(&order, &known).map_err(declined)?;
        let amount = amount(&arguments, total)?;
        let refund = Refund {
            id: RecordId::from_u128(ids::fresh(desk.context, 0)),
            amount,
            reason: arguments.reason,
            at: desk.clock().await?.now(),
            agent: desk.context.agent,
        };
        let told = json!({ "refunded": {
            "id": refund.id, "order_id": id, "order": order.number, "amount": refund.amount,
            "still_refundable": left.minus(amount),
        }});
        desk.done(StoreEffect::RefundPayment { order: id, refund }, &told).await
    }
}

fn declined(why: NotRefundable) -> Problem {
    Problem::Effect(why.into())
}

fn amount(arguments: &Arguments, total: Money) -> Result<Money, Problem> {
    let correct = |error: crate::records::BadMoney| Problem::Correct(format!("{error}."));
    let currency = arguments.currency.as_deref().map(Currency::read).transpose();
    let currency = currency.map_err(correct)?.unwrap_or(total.currency());
    Money::read(&arguments.amount, currency).map_err(correct)
}
