//! The `list_products` tool.

use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::overlay::{Row, Table};
use crate::page::{PageRequest, list_page};
use crate::records::{Entity, Product};
use crate::store_tool::{CallContext, StoreTool, ToolError};
use crate::text_query::TextQuery;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Words, or beginnings of words, of the name, description or tags; all products
    /// if left out.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// Only products that can be booked.
    #[serde(default)]
    bookable_only: bool,
    /// The page to return.
    #[serde(default)]
    page: PageRequest,
}

pub(crate) struct ListProducts;

impl StoreTool for ListProducts {
    const DESCRIPTION: &'static str = "Lists the products that the organization sells at the \
        moment, with prices and whether they can be booked. Returns the ids that create_booking needs.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { query, bookable_only, page } = arguments;
        let query = TextQuery::new(query.as_deref());
        let select = |row: &Row| {
            let product = Product::deserialize(&row.value).ok()?;
            let matches = product.active
                && (!bookable_only || product.bookable.is_some())
                && query.matches(
                    [product.name.as_str(), product.description.as_str()]
                        .into_iter()
                        .chain(product.tags.iter().map(String::as_str)),
                );
            matches.then(|| {
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
        Ok(list_page(&context.overlay, &table, &page, select).await?.into_outcome("products"))
    }
}
