//! Bounded lists: so many entries, so many bytes, so many looked at.

use std::str::FromStr;

use ostler_domain::id::{ContactId, RecordId};
use ostler_domain::knowledge::words::words;
use ostler_engine::outcome::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::local::{Problem, answer};
use crate::view::{Row, Table, View};

/// The most entries of a page.
const MAX_ITEMS: u32 = 50;
/// Entries of a page, unless another number is asked for.
const USUAL_ITEMS: u32 = 20;
/// The most bytes of a page; less than the most of an answer.
const MAX_BYTES: usize = 24 * 1024;
/// The most entries that are looked at for a page.
const MAX_LOOKED_AT: usize = 2000;
/// The entries that are read at once.
const TOGETHER: u32 = 200;
/// The most bytes of one entry, and of a text in it.
const MAX_ITEM_BYTES: usize = 8 * 1024;
const MAX_TEXT_CHARS: usize = 1000;

/// Which page of a list is wanted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Wanted {
    /// The next_cursor of the page before; leave it out for the first page.
    #[schemars(length(max = 64))]
    pub(crate) cursor: Option<String>,
    /// How many entries at most; 20 if left out.
    #[schemars(range(min = 1, max = 50))]
    pub(crate) limit: Option<u32>,
}

/// A page of a list.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    /// Where the next page begins, if there may be one.
    pub(crate) next: Option<String>,
}

impl Page {
    /// The page as an answer, its entries under a name.
    pub(crate) fn told(self, name: &str) -> Outcome {
        let more = if self.items.is_empty() && self.next.is_some() {
            Some("Nothing found so far, and not all was looked through; go on with next_cursor.")
        } else {
            None
        };
        let mut told = json!({ name: self.items });
        if let Some(next) = self.next {
            told["next_cursor"] = next.into();
        }
        if let Some(more) = more {
            told["note"] = more.into();
        }
        answer(&told)
    }
}

/// Lists what `pick` makes of the entries of a table; it leaves out the rest.
pub(crate) async fn list(
    view: &View<'_>,
    table: &Table,
    wanted: &Wanted,
    pick: impl Fn(&Row) -> Option<Value> + Send,
) -> Result<Page, Problem> {
    let most = wanted.limit.unwrap_or(USUAL_ITEMS).clamp(1, MAX_ITEMS) as usize;
    let mut after = start(table, wanted.cursor.as_deref())?;
    let (mut page, mut bytes, mut looked_at) = (Page::default(), 0, 0);
    loop {
        let (rows, more) = view.rows(table, after, TOGETHER).await?;
        for row in rows {
            if let Some(item) = pick(&row) {
                let item = bounded(&row.id, item);
                bytes += item.to_string().len();
                if page.items.len() >= most || (bytes > MAX_BYTES && !page.items.is_empty()) {
                    page.next = Some(cursor(table, after));
                    return Ok(page);
                }
                page.items.push(item);
            }
            (after, looked_at) = (row.bits, looked_at + 1);
        }
        let Some(more) = more else { return Ok(page) };
        after = more;
        if looked_at >= MAX_LOOKED_AT {
            page.next = Some(cursor(table, after));
            return Ok(page);
        }
    }
}

fn start(table: &Table, cursor: Option<&str>) -> Result<u128, Problem> {
    let Some(text) = cursor.filter(|text| !text.is_empty()) else { return Ok(0) };
    let bits = match table {
        Table::Records(_) => RecordId::from_str(text).map(RecordId::as_u128),
        Table::Contacts => ContactId::from_str(text).map(ContactId::as_u128),
    };
    bits.map_err(|_| Problem::Correct("This cursor is not one that a page before gave.".into()))
}

fn cursor(table: &Table, bits: u128) -> String {
    match table {
        Table::Records(_) => RecordId::from_u128(bits).to_string(),
        Table::Contacts => ContactId::from_u128(bits).to_string(),
    }
}

/// An entry that is not too large to be shown.
pub(crate) fn bounded(id: &str, mut item: Value) -> Value {
    shorten(&mut item);
    if item.to_string().len() > MAX_ITEM_BYTES {
        return json!({ "id": id, "note": "This record is too large to be shown." });
    }
    item
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((cut, _)) = text.char_indices().nth(MAX_TEXT_CHARS) {
                text.truncate(cut);
                text.push('…');
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Words that are looked for.
pub(crate) struct Query(Vec<String>);

impl Query {
    pub(crate) fn new(text: Option<&str>) -> Self {
        Self(words(text.unwrap_or_default()).into_iter().map(|word| word.text).collect())
    }

    /// Whether each of the words begins a word of one of the texts.
    pub(crate) fn fits<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let found: Vec<String> = texts.into_iter().flat_map(words).map(|word| word.text).collect();
        self.0.iter().all(|wanted| found.iter().any(|word| word.starts_with(wanted.as_str())))
    }
}
