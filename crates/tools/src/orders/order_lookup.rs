//! Lookup of orders by id or by the number that a customer has.

use std::collections::BTreeSet;

use ostler_domain::id::{ContactId, RecordId};
use ostler_store::{OrgStore, StoreError};
use serde::Deserialize as _;

use crate::overlay::{Row, Table};
use crate::page::{Page, PageRequest, list_page};
use crate::records::{Entity, Order};
use crate::store_tool::{CallContext, ToolError};

/// Orders per read of the store.
const BATCH_SIZE: u32 = 500;

pub(super) const NOT_FOUND: &str = "There is no such order here.";

/// An order and its id.
pub(super) struct FoundOrder {
    pub(super) id: RecordId,
    pub(super) order: Order,
}

/// Returns a page of the ids of orders with this number.
pub(super) async fn list_by_number(
    context: &CallContext<'_>,
    number: &str,
    page: &PageRequest,
) -> Result<Page, ToolError> {
    let number = normalize(number);
    let select = |row: &Row| {
        let order = Order::deserialize(&row.value).ok()?;
        (normalize(&order.number) == number && context.may_access(order.contact))
            .then(|| row.id.as_str().into())
    };
    list_page(&context.overlay, &Table::Records(Order::KIND.to_owned()), page, select).await
}

/// Returns the only order with this id or number. Fails if there is none or several.
pub(super) async fn find_order(
    context: &CallContext<'_>,
    order: &str,
) -> Result<FoundOrder, ToolError> {
    let not_found = || ToolError::NotFound(NOT_FOUND.to_owned());
    let by_id = |id| async move {
        let found = context.overlay.record::<Order>(id).await?;
        let found = found.filter(|(_, order)| context.may_access(order.contact));
        found.map(|(_, order)| FoundOrder { id, order }).ok_or_else(not_found)
    };
    if let Ok(id) = order.trim().parse::<RecordId>() {
        return by_id(id).await;
    }
    let page = list_by_number(context, order, &PageRequest::default()).await?;
    match (page.items.as_slice(), page.next_cursor) {
        ([], None) => Err(not_found()),
        ([id], None) => {
            by_id(id.as_str().and_then(|id| id.parse().ok()).ok_or_else(not_found)?).await
        }
        _ => Err(ToolError::Invalid(
            "Several orders may have this number. Find the right one with get_order and give its \
             id."
            .to_owned(),
        )),
    }
}

/// Returns the contacts of all orders with this number, for a check of who somebody is.
pub(super) async fn owners_of_number(
    org: OrgStore<'_>,
    number: &str,
) -> Result<BTreeSet<ContactId>, StoreError> {
    let (number, mut owners, mut after) = (normalize(number), BTreeSet::new(), None);
    loop {
        let batch = org.records(Order::KIND, after, BATCH_SIZE).await?;
        let orders = batch.iter().filter_map(|one| serde_json::from_str::<Order>(&one.data).ok());
        let same = orders.filter(|order| normalize(&order.number) == number);
        owners.extend(same.filter_map(|order| order.contact));
        after = match batch.last() {
            Some(last) if batch.len() == BATCH_SIZE as usize => Some(last.id),
            _ => return Ok(owners),
        };
    }
}

/// Returns an order number without `#` and in lower case.
pub(super) fn normalize(number: &str) -> String {
    number.trim().trim_start_matches('#').to_lowercase()
}
