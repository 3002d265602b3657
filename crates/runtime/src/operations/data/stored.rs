//! Stored items of business data, with their own keys.

use ostler_domain::business_data::DataKind;
use ostler_domain::id::{ContactId, RecordId};
use ostler_domain::time::Timestamp;
use ostler_store::{OrgStore, Record, Result, StoredContact};
use serde_json::{Value, json};

/// Items read at once.
const PAGE: u32 = 500;

/// An item of business data.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredItem {
    /// The id as text.
    pub id: String,
    /// The bits of the id, to read the next page.
    pub position: u128,
    /// The id of a record; `None` for a contact.
    pub record: Option<RecordId>,
    /// The own key, if it has one.
    pub key: Option<String>,
    pub name: String,
    /// The record as stored.
    pub data: Value,
    /// Grows with each change.
    pub version: i64,
    pub updated_at: Timestamp,
}

impl StoredItem {
    fn from_record(kind: DataKind, record: &Record) -> Self {
        let data: Value = serde_json::from_str(&record.data).unwrap_or_default();
        let name = ["name", "title", "number"].iter().find_map(|field| data[*field].as_str());
        Self {
            id: record.id.to_string(),
            position: record.id.as_u128(),
            record: Some(record.id),
            key: own_key(kind, &data, None),
            name: name.unwrap_or_default().to_owned(),
            data,
            version: record.version,
            updated_at: record.updated_at,
        }
    }

    fn from_contact(stored: &StoredContact) -> Self {
        let data = json!(stored.contact);
        Self {
            id: stored.contact.id.to_string(),
            position: stored.contact.id.as_u128(),
            record: None,
            key: contact_keys(&data).into_iter().next(),
            name: stored.contact.name.clone(),
            data,
            version: stored.version,
            updated_at: stored.updated_at,
        }
    }

    /// Whether a text names this item.
    fn is_named(&self, kind: DataKind, text: &str) -> bool {
        let is_key = self.key.is_some() && self.key == kind.normalize_key(text);
        let is_contact_key = || {
            kind == DataKind::Contacts
                && kind
                    .normalize_key(text)
                    .is_some_and(|key| contact_keys(&self.data).contains(&key))
        };
        self.id == text || is_key || is_contact_key()
    }
}

/// Returns the own key of a stored record, normalized.
pub(super) fn own_key(kind: DataKind, data: &Value, key_field: Option<&str>) -> Option<String> {
    let fields = kind.key_fields().iter().copied().chain(key_field);
    let texts = fields.filter_map(|field| data[field].as_str());
    texts.filter_map(|text| kind.normalize_key(text)).next()
}

/// Returns the own keys of a stored contact, normalized: its key in the system that it was
/// imported from, its e-mail address and its phone number.
pub(in crate::operations) fn contact_keys(data: &Value) -> Vec<String> {
    let texts = [&data["crm"]["id"], &data["details"]["email"], &data["details"]["phone"]];
    let texts = texts.into_iter().filter_map(Value::as_str);
    texts.filter_map(|text| DataKind::Contacts.normalize_key(text)).collect()
}

/// Returns items after a position.
pub(super) async fn page(
    store: OrgStore<'_>,
    kind: DataKind,
    after: u128,
    limit: u32,
) -> Result<Vec<StoredItem>> {
    if kind == DataKind::Contacts {
        let page = store.contacts(Some(ContactId::from_u128(after)), limit).await?;
        return Ok(page.iter().map(StoredItem::from_contact).collect());
    }
    let page = store.records(kind.singular(), Some(RecordId::from_u128(after)), limit).await?;
    Ok(page.iter().map(|record| StoredItem::from_record(kind, record)).collect())
}

/// Returns all items of a kind.
pub(super) async fn all(store: OrgStore<'_>, kind: DataKind) -> Result<Vec<StoredItem>> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page = page(store, kind, after, PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        all.extend(page);
        match all.last() {
            Some(last) if !is_last => after = last.position,
            _ => return Ok(all),
        }
    }
}

/// Returns the item with an own key or id or, if there is none, the only one with a name.
pub(super) async fn find(
    store: OrgStore<'_>,
    kind: DataKind,
    text: &str,
) -> Result<Option<StoredItem>> {
    let text = text.trim();
    let all = all(store, kind).await?;
    if let Some(found) = all.iter().find(|item| item.is_named(kind, text)) {
        return Ok(Some(found.clone()));
    }
    let named: Vec<&StoredItem> =
        all.iter().filter(|item| item.name.to_lowercase() == text.to_lowercase()).collect();
    Ok(match named.as_slice() {
        [one] => Some((*one).clone()),
        _ => None,
    })
}
