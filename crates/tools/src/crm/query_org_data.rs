//! The `query_org_data` tool.

use ostler_domain::id::ContactId;
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::filter::{Condition, lookup};
use crate::overlay::{Row, Table};
use crate::page::{PageRequest, list_page};
use crate::records::{
    BookableResource, Booking, CalendarEvent, Entity, Form, MediaItem, Order, Product, Refunds,
};
use crate::store_tool::{CallContext, StoreTool, ToolError};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The kind of records.
    kind: Kind,
    /// Conditions that must all hold.
    #[serde(default)]
    #[schemars(length(max = 5))]
    filter: Vec<Condition>,
    /// Only these fields of each record; all if left out.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 100)))]
    fields: Vec<String>,
    /// The page to return.
    #[serde(default)]
    page: PageRequest,
}

/// The record kinds that can be queried. Internal records of the platform are not
/// among them.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Contact,
    Product,
    Resource,
    Event,
    Form,
    Booking,
    Order,
    Refunds,
    Media,
}

impl Kind {
    fn table(self) -> Table {
        Table::Records(
            match self {
                Self::Contact => return Table::Contacts,
                Self::Product => Product::KIND,
                Self::Resource => BookableResource::KIND,
                Self::Event => CalendarEvent::KIND,
                Self::Form => Form::KIND,
                Self::Booking => Booking::KIND,
                Self::Order => Order::KIND,
                Self::Refunds => Refunds::KIND,
                Self::Media => MediaItem::KIND,
            }
            .to_owned(),
        )
    }
}

impl Kind {
    /// Returns whether a row may be shown. Refunds name no contact; `get_order` shows them
    /// with their order.
    fn is_accessible(self, row: &Row, context: &CallContext<'_>) -> bool {
        let owner = |field: &str| ContactId::deserialize(lookup(&row.value, field)).ok();
        match self {
            Self::Contact => context.may_access(owner("id")),
            Self::Booking | Self::Order => context.may_access(owner("contact")),
            Self::Refunds => context.may_access(None),
            Self::Product | Self::Resource | Self::Event | Self::Form | Self::Media => true,
        }
    }
}

pub(crate) struct QueryOrgData;

impl StoreTool for QueryOrgData {
    const DESCRIPTION: &'static str = "Queries the organization's records of one kind with \
        conditions: bookings of a contact, orders with a status, products below a price. For a \
        plain list or a search by words, the other tools are simpler.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { kind, filter, fields, page } = arguments;
        let select = |row: &Row| {
            let matches = filter.iter().all(|condition| condition.matches(&row.value));
            (matches && kind.is_accessible(row, &context)).then(|| project(row, &fields))
        };
        let outcome = list_page(&context.overlay, &kind.table(), &page, select)
            .await?
            .into_outcome("records");
        // Customers write names and notes.
        Ok(if matches!(kind, Kind::Contact | Kind::Booking) {
            outcome.untrusted()
        } else {
            outcome
        })
    }
}

/// Returns the chosen fields of a row, or all if none is chosen, with its id.
fn project(row: &Row, fields: &[String]) -> Value {
    let mut record = if fields.is_empty() {
        row.value.as_object().cloned().unwrap_or_default()
    } else {
        let found = fields.iter().map(|field| (field.clone(), lookup(&row.value, field).clone()));
        found.collect::<Map<_, _>>()
    };
    record.insert("id".to_owned(), Value::String(row.id.clone()));
    Value::Object(record)
}
