//! Comparing the rows of a file with what is stored.

use std::collections::{BTreeMap, BTreeSet};

use ostler_domain::business_data::DataKind;
use ostler_domain::contact::Contact;
use ostler_domain::id::{ContactId, RecordId};
use ostler_store::{NewBlob, OrgStore, RecordChange};
use serde_json::{Map, Value, json};

use super::stored::{self, StoredItem, contact_keys, own_key};
use super::{ImportPlan, ImportRow, Result, RowOutcome, RowPlan, blob_id};
use crate::ids::{derived, fresh};
use crate::records::decode;

/// The name of the system in which an imported contact has its own key.
const IMPORT_SYSTEM: &str = "import";

/// Plans an import row by row.
pub(super) struct Planner<'s> {
    store: OrgStore<'s>,
    kind: DataKind,
    stored: Vec<StoredItem>,
    /// Indexes of `stored` by own key.
    by_key: BTreeMap<String, usize>,
    /// Ids of contacts by address and number, for orders.
    contacts: BTreeMap<String, ContactId>,
    /// The row that has each key or changes each stored item.
    seen: BTreeMap<String, u64>,
    plan: ImportPlan,
}

/// A column and the reason why its value is refused.
struct Refused(&'static str, String);

impl<'s> Planner<'s> {
    pub(super) async fn load(
        store: OrgStore<'s>,
        kind: DataKind,
        key_field: Option<&str>,
    ) -> Result<Self> {
        let stored = stored::all(store, kind).await?;
        let mut by_key = BTreeMap::new();
        for (index, item) in stored.iter().enumerate() {
            let keys = match kind {
                DataKind::Contacts => contact_keys(&item.data),
                _ => own_key(kind, &item.data, key_field).into_iter().collect(),
            };
            for key in keys {
                by_key.entry(key).or_insert(index);
            }
        }
        let mut contacts = BTreeMap::new();
        if kind == DataKind::Orders {
            for item in stored::all(store, DataKind::Contacts).await? {
                let id = ContactId::from_u128(item.position);
                for key in contact_keys(&item.data).into_iter().chain([id.to_string()]) {
                    contacts.entry(key).or_insert(id);
                }
            }
        }
        let (seen, plan) = (BTreeMap::new(), ImportPlan::default());
        Ok(Self { store, kind, stored, by_key, contacts, seen, plan })
    }

    /// Adds contacts that are created together with these rows.
    pub(super) fn add_contacts(&mut self, contacts: &BTreeMap<String, ContactId>) {
        for (key, id) in contacts {
            self.contacts.entry(key.clone()).or_insert(*id);
        }
    }

    pub(super) fn finish(self) -> ImportPlan {
        self.plan
    }

    /// Plans a row.
    pub(super) fn add(&mut self, row: ImportRow) -> Result<()> {
        let (number, key) = (row.number, row.key.clone());
        let outcome = match self.check(&row) {
            Err(Refused(column, reason)) => {
                RowOutcome::Refused { column: column.to_owned(), reason }
            }
            Ok(fields) => self.compare(row, fields)?,
        };
        self.plan.rows.push(RowPlan { number, key, outcome });
        Ok(())
    }

    /// Checks a row against the rows before it and against other records, and returns its
    /// fields in their stored form.
    fn check(&mut self, row: &ImportRow) -> std::result::Result<Map<String, Value>, Refused> {
        let normalized = self.kind.normalize_key(&row.key);
        let normalized = normalized.ok_or_else(|| Refused("key", "the own key is empty".into()))?;
        let keys: BTreeSet<String> = match self.kind {
            DataKind::Contacts => {
                contact_keys(&json!(row.fields)).into_iter().chain([normalized]).collect()
            }
            _ => [normalized].into(),
        };
        let stored = keys.iter().filter_map(|key| self.by_key.get(key).copied());
        let places = stored.map(|index| format!("stored {index}")).chain(keys.iter().cloned());
        let places: Vec<String> = places.collect();
        if let Some(first) = places.iter().find_map(|place| self.seen.get(place)) {
            return Err(Refused(
                "key",
                format!("row {first} is the same {}", self.kind.singular()),
            ));
        }
        self.seen.extend(places.into_iter().map(|place| (place, row.number)));
        let mut fields = row.fields.clone();
        if let Some(Value::String(text)) = fields.get("contact") {
            let key = DataKind::Contacts.normalize_key(text);
            let found = key.and_then(|key| self.contacts.get(&key).or(self.contacts.get(text)));
            let found = found.ok_or_else(|| {
                Refused("contact", format!("`{text}` is no contact here; import contacts first"))
            })?;
            fields.insert("contact".into(), json!(found));
        }
        Ok(fields)
    }

    /// Compares a row with the stored record that has its key.
    fn compare(&mut self, row: ImportRow, mut fields: Map<String, Value>) -> Result<RowOutcome> {
        if let Some(file) = row.file {
            let id = blob_id(self.store.id().as_u128(), &file);
            fields.insert("blob".into(), json!(id));
            let (media_type, name) = (file.media_type, Some(file.name));
            self.plan.blobs.push(NewBlob { id, media_type, name, bytes: file.bytes });
        }
        let mut keys = match self.kind {
            DataKind::Contacts => contact_keys(&json!(fields)),
            _ => Vec::new(),
        };
        keys.extend(self.kind.normalize_key(&row.key));
        let known = keys.iter().find_map(|key| self.by_key.get(key)).map(|at| &self.stored[*at]);
        let before = known.map_or(Value::Object(Map::new()), |item| item.data.clone());
        let mut after = before.clone();
        merge_fields(&mut after, Value::Object(fields), self.kind);
        set_key(self.kind, &mut after, &row.key);
        if after == before {
            return Ok(RowOutcome::Unchanged);
        }
        let (change, outcome) = match known {
            Some(item) => {
                (self.update(item, &after)?, RowOutcome::Change(differing(&before, &after)))
            }
            None => (self.create(&row.key, after)?, RowOutcome::Create),
        };
        self.plan.changes.push(change);
        Ok(outcome)
    }

    fn update(&self, item: &StoredItem, after: &Value) -> Result<RecordChange> {
        let version = item.version;
        Ok(match item.record {
            None => RecordChange::UpdateContact { version, contact: contact(after)? },
            Some(id) => {
                let (kind, data) = (self.kind.singular().to_owned(), after.to_string());
                RecordChange::UpdateRecord { kind, id, version, data }
            }
        })
    }

    fn create(&self, key: &str, mut after: Value) -> Result<RecordChange> {
        if self.kind == DataKind::Contacts {
            after["id"] = json!(fresh(ContactId::from_u128));
            for (field, empty) in
                [("tags", json!([])), ("notes", json!([])), ("details", json!({}))]
            {
                if after[field].is_null() {
                    after[field] = empty;
                }
            }
            if after["name"].is_null() {
                let details = &after["details"];
                let name =
                    [&details["email"], &details["phone"]].into_iter().find_map(Value::as_str);
                after["name"] = json!(name.unwrap_or(key));
            }
            return Ok(RecordChange::CreateContact(contact(&after)?));
        }
        let kind = self.kind.singular().to_owned();
        let normalized = self.kind.normalize_key(key).unwrap_or_default();
        // The same key has the same id, so two imports at once do not create it twice.
        let id = derived(
            RecordId::from_u128,
            self.store.id().as_u128(),
            &format!("{kind}:{normalized}"),
        );
        Ok(RecordChange::CreateRecord { kind, id, data: after.to_string() })
    }
}

fn contact(data: &Value) -> Result<Contact> {
    Ok(decode("contact", &data.to_string())?)
}

/// Puts the fields of a row into a record. What is null is removed. Lists of a contact grow,
/// because agents add to them as well; other lists are replaced.
fn merge_fields(record: &mut Value, fields: Value, kind: DataKind) {
    let Value::Object(fields) = fields else { return };
    for (name, value) in fields {
        let is_contact = kind == DataKind::Contacts;
        match value {
            Value::Null => {
                if let Some(record) = record.as_object_mut() {
                    record.remove(&name);
                }
            }
            Value::Object(_) if is_contact && record[&name].is_object() => {
                merge_fields(&mut record[&name], value, kind);
            }
            Value::Array(items) if is_contact && record[&name].is_array() => {
                if let Some(list) = record[&name].as_array_mut() {
                    let new: Vec<Value> =
                        items.into_iter().filter(|item| !list.contains(item)).collect();
                    list.extend(new);
                }
            }
            other => record[&name] = other,
        }
    }
}

/// Stores the own key with the record, unless one of its fields is the key.
fn set_key(kind: DataKind, record: &mut Value, key: &str) {
    let wanted = kind.normalize_key(key);
    match kind {
        DataKind::Contacts => {
            if wanted.is_some_and(|wanted| !contact_keys(record).contains(&wanted)) {
                record["crm"] = json!({"system": IMPORT_SYSTEM, "id": key.trim()});
            }
        }
        _ if own_key(kind, record, None) == wanted => {}
        _ => record["key"] = json!(key.trim()),
    }
}

/// Returns the names of the fields in which two records differ.
fn differing(before: &Value, after: &Value) -> Vec<String> {
    let names = |value: &Value| -> BTreeSet<String> {
        value.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default()
    };
    let all: BTreeSet<String> = names(before).union(&names(after)).cloned().collect();
    all.into_iter().filter(|name| before[name] != after[name]).collect()
}
