//! The cells of a row, read by type. A cell of a CSV file is text; JSON has types of its
//! own. An absent cell gives nothing; null gives null, which removes the field.

use std::collections::BTreeSet;

use jiff::civil::Date;
use ostler_domain::knowledge::clean_tag;
use serde_json::{Map, Value, json};

use crate::org_clock::OrgClock;
use crate::records::{Money, Price};

/// The most tags of a row.
const MAX_TAGS: usize = 32;

/// A column and the reason why its value is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusedCell {
    pub(super) column: String,
    pub(super) reason: String,
}

type Result<T> = std::result::Result<T, RefusedCell>;

/// The cells of a row.
pub(super) struct Cells<'c> {
    cells: Map<String, Value>,
    used: BTreeSet<String>,
    clock: &'c OrgClock,
}

impl<'c> Cells<'c> {
    pub(super) fn new(cells: Map<String, Value>, clock: &'c OrgClock) -> Self {
        Self { cells, used: BTreeSet::new(), clock }
    }

    /// Returns the columns that nothing has read.
    pub(super) fn unused(&self) -> impl Iterator<Item = String> {
        self.cells.keys().filter(|name| !self.used.contains(*name)).cloned()
    }

    /// Returns an own key.
    pub(super) fn key(&mut self, column: &str) -> Option<String> {
        let key = match self.get(column)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (!key.is_empty()).then_some(key)
    }

    /// Returns a text, trimmed. An empty one is absent.
    pub(super) fn text(&mut self, column: &str, max_chars: usize) -> Result<Option<Value>> {
        let text = match self.get(column) {
            None => return Ok(None),
            Some(Value::Null) => return Ok(Some(Value::Null)),
            Some(Value::String(text)) => text.trim().replace('\0', ""),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => return refuse(column, "a text is expected here"),
        };
        if text.chars().count() > max_chars {
            return refuse(column, &format!("the text is longer than {max_chars} characters"));
        }
        Ok((!text.is_empty()).then(|| text.into()))
    }

    /// Returns a text that must be there.
    pub(super) fn required(&mut self, column: &str, max_chars: usize) -> Result<Value> {
        match self.text(column, max_chars)? {
            None | Some(Value::Null) => refuse(column, "this is required"),
            Some(text) => Ok(text),
        }
    }

    /// Returns notes: a text, or a list of texts. No note is removed by null.
    pub(super) fn notes(&mut self, column: &str) -> Result<Option<Value>> {
        const MAX_CHARS: usize = 2000;
        match self.cells.get(column) {
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
                let mut texts = items.iter().filter_map(Value::as_str);
                if texts.any(|text| text.chars().count() > MAX_CHARS) {
                    return refuse(
                        column,
                        &format!("a note is longer than {MAX_CHARS} characters"),
                    );
                }
                Ok(self.get(column))
            }
            _ => {
                let note = self.text(column, MAX_CHARS)?.filter(|note| !note.is_null());
                Ok(note.map(|note| json!([note])))
            }
        }
    }

    /// Returns tags, separated by commas or semicolons, or as a list.
    pub(super) fn tags(&mut self, column: &str) -> Result<Option<Value>> {
        let parts: Vec<String> = match self.get(column) {
            None => return Ok(None),
            Some(Value::Null) => return Ok(Some(Value::Null)),
            Some(Value::String(text)) => text.split([',', ';']).map(str::to_owned).collect(),
            Some(Value::Array(items)) if items.iter().all(Value::is_string) => {
                items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(_) => return refuse(column, "write tags as text, separated by commas"),
        };
        let tags: BTreeSet<String> =
            parts.iter().map(|tag| clean_tag(tag)).filter(|tag| !tag.is_empty()).collect();
        if tags.len() > MAX_TAGS || tags.iter().any(|tag| tag.chars().count() > 64) {
            return refuse(column, "there are at most 32 tags of 64 characters");
        }
        Ok(Some(json!(tags)))
    }

    /// Returns an amount of money: `12.50` with a column `currency`, `12.50 EUR`, or an
    /// object with `amount` and `currency`.
    pub(super) fn price(&mut self, column: &str) -> Result<Option<Value>> {
        let currency = self.text("currency", 3)?;
        let text = match self.get(column) {
            None => return Ok(None),
            Some(Value::Null) => return Ok(Some(Value::Null)),
            Some(object @ Value::Object(_)) => {
                let price: Price = match serde_json::from_value(object) {
                    Ok(price) => price,
                    Err(_) => return refuse(column, "a price has `amount` and `currency` as text"),
                };
                return money(column, price).map(Some);
            }
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::String(text)) => text,
            Some(_) => return refuse(column, "write a price as 12.50"),
        };
        let (amount, own) = match text.trim().split_once(char::is_whitespace) {
            Some((amount, own)) => (amount.to_owned(), Some(own.trim().to_owned())),
            None => (text.trim().to_owned(), None),
        };
        if amount.is_empty() {
            return Ok(None);
        }
        let currency = own.or_else(|| currency.as_ref().and_then(Value::as_str).map(str::to_owned));
        let Some(currency) = currency else {
            return refuse(
                column,
                "the currency is missing; write 12.50 EUR or add a column currency",
            );
        };
        money(column, Price { amount, currency }).map(Some)
    }

    /// Returns a whole number.
    pub(super) fn number(&mut self, column: &str) -> Result<Option<Value>> {
        let number = match self.get(column) {
            None => return Ok(None),
            Some(Value::Null) => return Ok(Some(Value::Null)),
            Some(Value::String(text)) => text.trim().parse::<u32>().ok(),
            Some(Value::Number(number)) => number.as_u64().and_then(|n| u32::try_from(n).ok()),
            Some(_) => None,
        };
        match number {
            Some(number) => Ok(Some(number.into())),
            None => refuse(column, "a whole number is expected here, such as 4"),
        }
    }

    /// Returns whether something is so.
    pub(super) fn flag(&mut self, column: &str) -> Result<Option<Value>> {
        let text = match self.get(column) {
            None => return Ok(None),
            Some(Value::Bool(flag)) => return Ok(Some(flag.into())),
            Some(Value::String(text)) => text.trim().to_lowercase(),
            Some(Value::Number(number)) => number.to_string(),
            Some(_) => String::new(),
        };
        match text.as_str() {
            "yes" | "true" | "1" => Ok(Some(true.into())),
            "no" | "false" | "0" => Ok(Some(false.into())),
            _ => refuse(column, "write yes or no"),
        }
    }

    /// Returns a time. A date is the beginning of that day; a time without an offset is the
    /// org's local time.
    pub(super) fn time(&mut self, column: &str) -> Result<Value> {
        let text = self.required(column, 64)?;
        let text = text.as_str().unwrap_or_default().to_owned();
        let full = match text.parse::<Date>() {
            Ok(_) if !text.contains([':', 'T', 't']) => format!("{text}T00:00"),
            _ => text.replacen(' ', "T", 1),
        };
        match self.clock.parse(&full) {
            Ok(time) => Ok(json!(time)),
            Err(_) => refuse(
                column,
                &format!(
                    "`{text}` is no time; write 2026-11-20, 2026-11-20T19:30 or 2026-11-20T19:30:00+01:00"
                ),
            ),
        }
    }

    /// Returns a value that a CSV file writes as JSON.
    pub(super) fn json(&mut self, column: &str) -> Result<Option<Value>> {
        match self.get(column) {
            Some(Value::String(text)) => match serde_json::from_str(&text) {
                Ok(value) => Ok(Some(value)),
                Err(error) => refuse(column, &format!("this is not JSON: {error}")),
            },
            other => Ok(other),
        }
    }

    /// Returns the value of a column and counts it as used.
    pub(super) fn get(&mut self, column: &str) -> Option<Value> {
        let value = self.cells.get(column)?.clone();
        self.used.insert(column.to_owned());
        Some(value)
    }
}

fn money(column: &str, price: Price) -> Result<Value> {
    match Money::try_from(price) {
        Ok(money) => Ok(json!(money)),
        Err(error) => refuse(column, &error.to_string()),
    }
}

/// Refuses the value of a column.
pub(super) fn refuse<T>(column: &str, reason: &str) -> Result<T> {
    Err(RefusedCell { column: column.to_owned(), reason: reason.to_owned() })
}
