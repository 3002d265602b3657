//! Pages of lists, limited by entries, bytes and rows scanned.

use std::str::FromStr;

use ostler_domain::id::{ContactId, RecordId};
use ostler_engine::outcome::ToolOutcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::overlay::{Row, StoreOverlay, Table};
use crate::store_tool::{ToolError, json_outcome};

const MAX_ITEMS: u32 = 50;
const DEFAULT_ITEMS: u32 = 20;
/// Less than the output limit of a tool, so that no page is truncated.
const MAX_BYTES: usize = 24 * 1024;
/// The most rows that are read for a page.
const MAX_SCANNED: usize = 2000;
/// Rows per read of the store.
const BATCH_SIZE: u32 = 200;
const MAX_ITEM_BYTES: usize = 8 * 1024;
const MAX_TEXT_CHARS: usize = 1000;

/// The page of a list that a call asks for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PageRequest {
    /// The next_cursor of the page before; leave it out for the first page.
    #[schemars(length(max = 64))]
    pub(crate) cursor: Option<String>,
    /// How many entries at most; 20 if left out.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) limit: Option<u32>,
}

/// One page of a list.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    /// The cursor of the next page, if there may be one.
    pub(crate) next_cursor: Option<String>,
}

impl Page {
    /// Returns the page as a JSON outcome with the entries under `name`.
    pub(crate) fn into_outcome(self, name: &str) -> ToolOutcome {
        let note = if self.items.is_empty() && self.next_cursor.is_some() {
            Some(
                "Nothing found so far, but not everything was searched. Continue with next_cursor.",
            )
        } else {
            None
        };
        let mut answer = json!({ name: self.items });
        if let Some(next) = self.next_cursor {
            answer["next_cursor"] = next.into();
        }
        if let Some(note) = note {
            answer["note"] = note.into();
        }
        json_outcome(&answer)
    }
}

/// Lists the rows of a table that `select` turns into an entry.
///
/// Fails if the cursor is not one of this table.
pub(crate) async fn list_page(
    overlay: &StoreOverlay<'_>,
    table: &Table,
    request: &PageRequest,
    select: impl Fn(&Row) -> Option<Value> + Send,
) -> Result<Page, ToolError> {
    let limit = request.limit.unwrap_or(DEFAULT_ITEMS).clamp(1, MAX_ITEMS) as usize;
    let mut after = parse_cursor(table, request.cursor.as_deref())?;
    let (mut page, mut bytes, mut scanned) = (Page::default(), 0, 0);
    loop {
        let (rows, more) = overlay.rows(table, after, BATCH_SIZE).await?;
        for row in rows {
            if let Some(item) = select(&row) {
                let item = limit_size(&row.id, item);
                bytes += item.to_string().len();
                if page.items.len() >= limit || (bytes > MAX_BYTES && !page.items.is_empty()) {
                    page.next_cursor = Some(format_cursor(table, after));
                    return Ok(page);
                }
                page.items.push(item);
            }
            (after, scanned) = (row.sort_key, scanned + 1);
        }
        let Some(more) = more else { return Ok(page) };
        after = more;
        if scanned >= MAX_SCANNED {
            page.next_cursor = Some(format_cursor(table, after));
            return Ok(page);
        }
    }
}

fn parse_cursor(table: &Table, cursor: Option<&str>) -> Result<u128, ToolError> {
    let Some(text) = cursor.filter(|text| !text.is_empty()) else { return Ok(0) };
    let key = match table {
        Table::Records(_) => RecordId::from_str(text).map(RecordId::as_u128),
        Table::Contacts => ContactId::from_str(text).map(ContactId::as_u128),
    };
    key.map_err(|_| ToolError::Invalid("This cursor is not the next_cursor of a page.".into()))
}

fn format_cursor(table: &Table, key: u128) -> String {
    match table {
        Table::Records(_) => RecordId::from_u128(key).to_string(),
        Table::Contacts => ContactId::from_u128(key).to_string(),
    }
}

/// Shortens the texts of an entry, and replaces it by a note if it is still too large.
pub(crate) fn limit_size(id: &str, mut item: Value) -> Value {
    shorten_texts(&mut item);
    if item.to_string().len() > MAX_ITEM_BYTES {
        return json!({ "id": id, "note": "This record is too large to show." });
    }
    item
}

fn shorten_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((cut, _)) = text.char_indices().nth(MAX_TEXT_CHARS) {
                text.truncate(cut);
                text.push('…');
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_texts),
        Value::Object(members) => members.values_mut().for_each(shorten_texts),
        _ => {}
    }
}
