//! The `list_events` tool.

use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::overlay::{Row, Table};
use crate::page::{PageRequest, list_page};
use crate::records::{CalendarEvent, Entity};
use crate::store_tool::{CallContext, StoreTool, ToolError};
use crate::text_query::TextQuery;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Words, or beginnings of words, of the name, description, place or tags; all
    /// events if left out.
    #[serde(default)]
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// Only events that end after this time, such as 2026-11-20T00:00; now if left
    /// out.
    #[serde(default)]
    #[schemars(length(max = 64))]
    from: Option<String>,
    /// Only events that begin before this time.
    #[serde(default)]
    #[schemars(length(max = 64))]
    until: Option<String>,
    /// The page to return.
    #[serde(default)]
    page: PageRequest,
}

pub(crate) struct ListEvents;

impl StoreTool for ListEvents {
    const DESCRIPTION: &'static str = "Lists the organization's upcoming events with time, place and \
        price. Returns the ids that create_booking needs.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: CallContext<'_>) -> Result<ToolOutcome, ToolError> {
        let Arguments { query, from, until, page } = arguments;
        let clock = context.clock().await?;
        let from = from.map_or(Ok(clock.now()), |text| clock.parse(&text))?;
        let until = until.map(|text| clock.parse(&text)).transpose()?;
        let query = TextQuery::new(query.as_deref());
        let select = |row: &Row| {
            let event = CalendarEvent::deserialize(&row.value).ok()?;
            let texts =
                [Some(event.name.as_str()), Some(&event.description), event.location.as_deref()];
            let matches = event.ends_at > from
                && until.is_none_or(|until| event.starts_at < until)
                && query.matches(
                    texts.into_iter().flatten().chain(event.tags.iter().map(String::as_str)),
                );
            matches.then(|| {
                json!({
                    "id": row.id, "name": event.name, "description": event.description,
                    "location": event.location, "starts_at": clock.format(event.starts_at),
                    "ends_at": clock.format(event.ends_at), "price": event.price,
                    "tags": event.tags, "bookable": event.capacity.is_some(),
                })
            })
        };
        let table = Table::Records(CalendarEvent::KIND.to_owned());
        Ok(list_page(&context.overlay, &table, &page, select).await?.into_outcome("events"))
    }
}
