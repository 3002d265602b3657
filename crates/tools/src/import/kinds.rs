//! The fields of each kind of record, and the check against its type.

use ostler_domain::business_data::DataKind;
use ostler_domain::contact::{is_email_address, is_phone_number};
use ostler_domain::id::ContactId;
use serde_json::{Map, Value, json};

use super::cells::{Cells, RefusedCell, refuse};
use crate::records::{CalendarEvent, Entity, Form, MediaItem, Order, Product};

const NAME_CHARS: usize = 200;
const TEXT_CHARS: usize = 10_000;

type Result<T> = std::result::Result<T, RefusedCell>;
type Fields = Map<String, Value>;

/// Returns the fields of a record, and the path of its file if it has one.
pub(super) fn convert(kind: DataKind, cells: &mut Cells<'_>) -> Result<(Fields, Option<String>)> {
    match kind {
        DataKind::Contacts => Ok((contact(cells)?, None)),
        DataKind::Products => Ok((checked::<Product>(product(cells)?)?, None)),
        DataKind::Events => Ok((checked::<CalendarEvent>(event(cells)?)?, None)),
        DataKind::Forms => Ok((checked::<Form>(form(cells)?)?, None)),
        DataKind::Orders => Ok((order(cells)?, None)),
        DataKind::Media => media(cells),
    }
}

fn contact(cells: &mut Cells<'_>) -> Result<Fields> {
    let mut fields = Fields::new();
    let parts = [cells.text("first_name", NAME_CHARS)?, cells.text("last_name", NAME_CHARS)?];
    let parts: Vec<&str> = parts.iter().flatten().filter_map(Value::as_str).collect();
    let joined = (!parts.is_empty()).then(|| parts.join(" ").into());
    put(
        &mut fields,
        "name",
        cells.text("name", NAME_CHARS)?.filter(|name| !name.is_null()).or(joined),
    );
    let mut details = Fields::new();
    let (email, phone) = (cells.text("email", 254)?, cells.text("phone", 40)?);
    if let Some(text) =
        email.as_ref().and_then(Value::as_str).filter(|text| !is_email_address(text))
    {
        return refuse("email", &format!("`{text}` is not an e-mail address"));
    }
    if let Some(text) = phone.as_ref().and_then(Value::as_str).filter(|text| !is_phone_number(text))
    {
        return refuse("phone", &format!("`{text}` is not a telephone number"));
    }
    put(&mut details, "email", email);
    put(&mut details, "phone", phone);
    put(&mut fields, "details", (!details.is_empty()).then_some(Value::Object(details)));
    put(&mut fields, "locale", cells.text("locale", 35)?);
    put(&mut fields, "tags", cells.tags("tags")?.filter(Value::is_array));
    put(&mut fields, "notes", cells.notes("note")?);
    Ok(fields)
}

fn product(cells: &mut Cells<'_>) -> Result<Fields> {
    let mut fields = described(cells, "name")?;
    put(&mut fields, "price", cells.price("price")?);
    put(&mut fields, "tags", cells.tags("tags")?);
    put(&mut fields, "active", cells.flag("active")?);
    let (places, minutes) = (cells.number("capacity")?, cells.number("duration_minutes")?);
    let bookable = match (places, minutes) {
        (Some(places), Some(minutes)) => {
            Some(json!({"capacity": places, "duration_minutes": minutes}))
        }
        (None, None) => cells.json("bookable")?,
        (Some(_), None) => return refuse("duration_minutes", "this is required with capacity"),
        (None, Some(_)) => return refuse("capacity", "this is required with duration_minutes"),
    };
    put(&mut fields, "bookable", bookable);
    put(&mut fields, "sku", cells.text("sku", NAME_CHARS)?);
    Ok(fields)
}

fn event(cells: &mut Cells<'_>) -> Result<Fields> {
    let mut fields = described(cells, "name")?;
    put(&mut fields, "location", cells.text("location", NAME_CHARS)?);
    let (starts, ends) = (cells.time("starts_at")?, cells.time("ends_at")?);
    let time = |value: &Value| value.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    if time(&ends) <= time(&starts) {
        return refuse("ends_at", "the event ends before it starts");
    }
    put(&mut fields, "starts_at", Some(starts));
    put(&mut fields, "ends_at", Some(ends));
    put(&mut fields, "capacity", cells.number("capacity")?);
    put(&mut fields, "price", cells.price("price")?);
    put(&mut fields, "tags", cells.tags("tags")?);
    Ok(fields)
}

fn form(cells: &mut Cells<'_>) -> Result<Fields> {
    let mut fields = described(cells, "name")?;
    put(&mut fields, "fields", cells.json("fields")?);
    Ok(fields)
}

/// The contact is still a text: its address, number or id.
fn order(cells: &mut Cells<'_>) -> Result<Fields> {
    let mut fields = Fields::new();
    put(&mut fields, "number", Some(cells.required("number", 100)?));
    put(&mut fields, "status", Some(cells.required("status", NAME_CHARS)?));
    put(&mut fields, "placed_at", Some(cells.time("placed_at")?));
    put(&mut fields, "lines", lines(cells)?);
    put(&mut fields, "total", cells.price("total")?);
    let contact = cells.text("contact", 254)?;
    let mut sample = fields.clone();
    put(&mut sample, "contact", contact.as_ref().map(|_| json!(ContactId::from_u128(1))));
    checked::<Order>(sample)?;
    put(&mut fields, "contact", contact);
    Ok(fields)
}

/// Returns the lines of an order: JSON, or `2 x Bell; 1 x Bike`.
fn lines(cells: &mut Cells<'_>) -> Result<Option<Value>> {
    let Some(Value::String(text)) = cells.get("lines") else { return cells.json("lines") };
    if text.trim_start().starts_with('[') {
        return cells.json("lines");
    }
    let mut lines = Vec::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let split = part.split_once(['x', '×']);
        let counted =
            split.and_then(|(count, name)| Some((count.trim().parse::<u32>().ok()?, name)));
        let (quantity, name) = counted.unwrap_or((1, part));
        lines.push(json!({"name": name.trim(), "quantity": quantity}));
    }
    Ok(Some(lines.into()))
}

fn media(cells: &mut Cells<'_>) -> Result<(Fields, Option<String>)> {
    let mut fields = described(cells, "title")?;
    put(&mut fields, "tags", cells.tags("tags")?);
    put(&mut fields, "media_type", cells.text("media_type", NAME_CHARS)?);
    put(&mut fields, "blob", cells.text("blob", 30)?);
    let file = cells.text("file", 4096)?.and_then(|file| file.as_str().map(str::to_owned));
    if file.is_some() {
        return Ok((fields, file));
    }
    if !fields.contains_key("blob") {
        return refuse("file", "a path is required, relative to this file");
    }
    Ok((checked::<MediaItem>(fields)?, None))
}

/// Returns the name, which is required, and the description.
fn described(cells: &mut Cells<'_>, name: &str) -> Result<Fields> {
    let mut fields = Fields::new();
    put(&mut fields, name, Some(cells.required(name, NAME_CHARS)?));
    put(&mut fields, "description", cells.text("description", TEXT_CHARS)?);
    Ok(fields)
}

fn put(fields: &mut Fields, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value);
    }
}

/// Checks that the record, without what is removed from it, has its type.
fn checked<E: Entity>(fields: Fields) -> Result<Fields> {
    let present = fields.iter().filter(|(_, value)| !value.is_null());
    let record: Fields = present.map(|(name, value)| (name.clone(), value.clone())).collect();
    match serde_json::from_value::<E>(Value::Object(record)) {
        Ok(_) => Ok(fields),
        Err(error) => {
            // The message names the field in backquotes.
            let message = error.to_string();
            let column = message.split('`').nth(1).filter(|name| fields.contains_key(*name));
            refuse(column.unwrap_or_default(), &message)
        }
    }
}
