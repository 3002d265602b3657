//! `query_org_data`

use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::filter::{Condition, lookup};
use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Wanted, list};
use crate::records::{Booking, Entity, Event, Form, Media, Order, Product, Refunds, Resource};
use crate::view::{Row, Table};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Which records.
    kind: Kind,
    /// Conditions that must all hold.
    #[serde(default)]
    #[schemars(length(max = 5))]
    filter: Vec<Condition>,
    /// Only these fields of each record; all if left out.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(max = 100)))]
    fields: Vec<String>,
    /// Which page.
    #[serde(default)]
    page: Wanted,
}

/// What can be looked through: the business itself, and nothing of how the
/// platform runs it.
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
                Self::Resource => Resource::KIND,
                Self::Event => Event::KIND,
                Self::Form => Form::KIND,
                Self::Booking => Booking::KIND,
                Self::Order => Order::KIND,
                Self::Refunds => Refunds::KIND,
                Self::Media => Media::KIND,
            }
            .to_owned(),
        )
    }
}

pub(crate) struct QueryOrgData;

impl LocalTool for QueryOrgData {
    const DESCRIPTION: &'static str = "Looks through the organization's own records of one kind \
        with conditions: bookings of a contact, orders with a status, products below a price. For \
        a plain list or a search by words, the other tools are simpler.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { kind, filter, fields, page } = arguments;
        let pick = |row: &Row| {
            let fits = filter.iter().all(|condition| condition.holds(&row.value));
            fits.then(|| selected(row, &fields))
        };
        Ok(list(&desk.view, &kind.table(), &page, pick).await?.told("records"))
    }
}

fn selected(row: &Row, fields: &[String]) -> Value {
    let mut shown = if fields.is_empty() {
        row.value.as_object().cloned().unwrap_or_default()
    } else {
        let found = fields.iter().map(|field| (field.clone(), lookup(&row.value, field).clone()));
        found.collect::<Map<_, _>>()
    };
    shown.insert("id".to_owned(), Value::String(row.id.clone()));
    Value::Object(shown)
}
