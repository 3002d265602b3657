//! `list_events`

use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::local::{Desk, LocalTool, Problem};
use crate::page::{Query, Wanted, list};
use crate::records::{Entity, Event};
use crate::view::{Row, Table};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// Beginnings of words of the name, description, place or tags; all events if
    /// left out.
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
    /// Which page.
    #[serde(default)]
    page: Wanted,
}

pub(crate) struct ListEvents;

impl LocalTool for ListEvents {
    const DESCRIPTION: &'static str = "Lists the organization's coming events with time, place and \
        price. Returns the ids that create_booking needs.";
    type Arguments = Arguments;

    async fn run(arguments: Arguments, desk: Desk<'_>) -> Result<Outcome, Problem> {
        let Arguments { query, from, until, page } = arguments;
        let clock = desk.clock().await?;
        let from = from.map_or(Ok(clock.now()), |text| clock.read(&text))?;
        let until = until.map(|text| clock.read(&text)).transpose()?;
        let query = Query::new(query.as_deref());
        let pick = |row: &Row| {
            let event = Event::deserialize(&row.value).ok()?;
            let texts =
                [Some(event.name.as_str()), Some(&event.description), event.location.as_deref()];
            let wanted = event.ends_at > from
                && until.is_none_or(|until| event.starts_at < until)
                && query
                    .fits(texts.into_iter().flatten().chain(event.tags.iter().map(String::as_str)));
            wanted.then(|| {
                json!({
                    "id": row.id, "name": event.name, "description": event.description,
                    "location": event.location, "starts_at": clock.shown(event.starts_at),
                    "ends_at": clock.shown(event.ends_at), "price": event.price,
                    "tags": event.tags, "bookable": event.capacity.is_some(),
                })
            })
        };
        let table = Table::Records(Event::KIND.to_owned());
        Ok(list(&desk.view, &table, &page, pick).await?.told("events"))
    }
}
