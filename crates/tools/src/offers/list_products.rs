//! `list_products`

use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Query, Wanted, list};
use crate::records::{Entity, Product};
use crate::view::{Row, Table};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Beginnings of words of the name, description or tags; all products if left
    /// out.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// Only what can be booked.
    #[serde(default)]
    bookable_only: bool,
    /// Which page.
    #[serde(default)]
    page: Wanted,
}

pub(crate) struct ListProducts;

impl LocalTool for ListProducts {
    const DESCRIPTION: &'static str = "Lists what the organization sells at the moment, with \
        prices and whether it can be booked. Returns the ids that create_booking needs.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { query, bookable_only, page } = arguments;
        let query = Query::new(query.as_deref());
        let pick = |row: &Row| {
            let product = Product::deserialize(&row.value).ok()?;
            let wanted = product.active
                && (!bookable_only || product.bookable.is_some())
                && query.fits(
                    [product.name.as_str(), product.description.as_str()]
                        .into_iter()
                        .chain(product.tags.iter().map(String::as_str)),
                );
            wanted.then(|| {
                json!({
                    "id": row.id, "name": product.name, "description": product.description,
                    "price": product.price, "tags": product.tags,
                    "bookable": product.bookable.map(|bookable| json!({
                        "duration_minutes": bookable.duration_minutes,
                    })),
                })
            })
        };
        let table = Table::Records(Product::KIND.to_owned());
        Ok(list(&desk.view, &table, &page, pick).await?.told("products"))
    }
}
