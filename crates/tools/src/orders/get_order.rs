//! `get_order`

use ostler_domain::id::RecordId;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Page, Wanted, bounded, list};
use crate::records::{Entity, Order};
use crate::view::{Row, Table};
use crate::when::Clock;

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
        its id: what was ordered, what it costs, how far it is.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let clock = desk.clock().await?;
        let wanted = arguments.order.trim();
        if let Ok(id) = wanted.parse::<RecordId>() {
            let found = desk.view.record::<Order>(id).await?;
            let item = |(_, order)| bounded(wanted, shown(wanted, &order, &clock));
            return found_or_not(Page { items: found.map(item).into_iter().collect(), next: None });
        }
        let plain = |number: &str| number.trim().trim_start_matches('#').to_lowercase();
        let number = plain(wanted);
        let pick = |row: &Row| {
            let order = Order::deserialize(&row.value).ok()?;
            (plain(&order.number) == number).then(|| shown(&row.id, &order, &clock))
        };
        let table = Table::Records(Order::KIND.to_owned());
        let page = Wanted { cursor: arguments.cursor, limit: None };
        found_or_not(list(&desk.view, &table, &page, pick).await?)
    }
}

fn found_or_not(page: Page) -> Result<Outcome, Problem> {
    if page.items.is_empty() && page.next.is_none() {
        return Err(Problem::Declined("There is no such order here.".to_owned()));
    }
    Ok(page.told("orders"))
}

fn shown(id: &str, order: &Order, clock: &Clock) -> Value {
    json!({
        "id": id, "number": order.number, "contact_id": order.contact, "status": order.status,
        "lines": order.lines, "total": order.total, "placed_at": clock.shown(order.placed_at),
    })
}
