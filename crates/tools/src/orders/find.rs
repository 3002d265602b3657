//! Finding orders by the number that a customer has.

use ostler_domain::id::RecordId;
use serde::Deserialize as _;

use crate::local::{Desk, Problem};
use crate::page::{Page, Wanted, list};
use crate::records::{Entity, Order};
use crate::view::{Row, Table};

/// What is said when there is none.
pub(super) const NONE: &str = "There is no such order here.";

/// An order.
pub(super) struct Found {
    pub(super) id: RecordId,
    pub(super) order: Order,
}

/// The ids of the orders with this number, a page of them.
pub(super) async fn with_number(
    desk: &Desk<'_>,
    number: &str,
    page: &Wanted,
) -> Result<Page, Problem> {
    let number = plain(number);
    let pick = |row: &Row| {
        let order = Order::deserialize(&row.value).ok()?;
        (plain(&order.number) == number).then(|| row.id.as_str().into())
    };
    list(&desk.view, &Table::Records(Order::KIND.to_owned()), page, pick).await
}

/// The one order with this id or number.
pub(super) async fn find(desk: &Desk<'_>, wanted: &str) -> Result<Found, Problem> {
    let none = || Problem::Declined(NONE.to_owned());
    let by_id = |id| async move {
        let found = desk.view.record::<Order>(id).await?;
        found.map(|(_, order)| Found { id, order }).ok_or_else(none)
    };
    if let Ok(id) = wanted.trim().parse::<RecordId>() {
        return by_id(id).await;
    }
    let page = with_number(desk, wanted, &Wanted::default()).await?;
    match (page.items.as_slice(), page.next) {
        ([], None) => Err(none()),
        ([one], None) => by_id(one.as_str().and_then(|id| id.parse().ok()).ok_or_else(none)?).await,
        _ => Err(Problem::Correct(
            "This number may stand for several orders; find the right one with get_order and give \
             its id."
                .to_owned(),
        )),
    }
}

/// A number without what people leave out.
fn plain(number: &str) -> String {
    number.trim().trim_start_matches('#').to_lowercase()
}
