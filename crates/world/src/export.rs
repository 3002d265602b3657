//! Live resources as world files. A file that exists keeps its comments.

use ostler_domain::business_data::DataKind;
use serde_json::Value;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table};

use crate::address::{Address, Kind};
use crate::file::Problem;
use crate::resource::{Resource, Resources};
use crate::schema::SCHEMA_LINE;

/// Returns the name of the file of a resource: that of its org. What applies to every org
/// is in the file of the platform.
pub fn file_of(resources: &Resources, address: &Address) -> String {
    let is_platform = |(_, resource): &(&Address, &Resource)| resource.value()["platform"] == true;
    let org = match address.kind {
        Kind::Platform => resources.iter().find(is_platform).map(|(one, _)| one.org.as_str()),
        _ => Some(address.org.as_str()),
    };
    format!("{}.toml", org.unwrap_or("platform"))
}

/// The beginning of the place of a secret that was made for a channel: a file named by the id
/// of its binding.
const OWN_SECRET: &str = "file:bnd_";

/// Leaves out the places of secrets that an installation made for its channels: the files are
/// on its machine only, and another installation makes its own.
pub fn without_own_secrets(resources: &mut Resources) {
    for (address, resource) in resources {
        let secret = resource.value()["secret"].as_str().unwrap_or_default();
        if address.kind == Kind::Channel && secret.starts_with(OWN_SECRET) {
            *resource = resource.with("secret", Value::Null);
        }
    }
}

/// Returns resources as the text of one file.
pub fn text(resources: &Resources) -> String {
    let mut document = DocumentMut::new();
    let single_org = resources.keys().filter(|one| one.kind == Kind::Org).count() == 1;
    for (address, resource) in in_order(resources) {
        put(&mut document, address, table(address, resource, single_org));
    }
    format!("{SCHEMA_LINE}\n\n{document}")
}

/// Returns one resource as TOML, without a table header, for an editor;
/// [`parse_fields`](crate::file::parse_fields) reads it.
pub fn fields(address: &Address, resource: &Resource) -> String {
    DocumentMut::from(table(address, resource, true)).to_string()
}

/// Updates the text of a file: resources that changed get their new values, new ones are
/// added at the end, missing ones are removed, and everything else stays as it is.
pub fn update(name: &str, text: &str, resources: &Resources) -> Result<String, Problem> {
    let known = crate::file::parse([(name, text)]);
    let mut document: DocumentMut = match text.parse() {
        Ok(document) => document,
        Err(_) => return crate::file::Source::new(name, text).map(|_| text.to_owned()),
    };
    let written = known.map(|parsed| parsed.resources).unwrap_or_default();
    let single_org = resources.keys().filter(|one| one.kind == Kind::Org).count() == 1;
    for (address, resource) in in_order(resources) {
        match written.get(address) {
            Some(same) if same == resource => {}
            Some(_) => change(&mut document, address, &table(address, resource, single_org)),
            None => put(&mut document, address, table(address, resource, single_org)),
        }
    }
    for address in written.keys().filter(|address| !resources.contains_key(address)) {
        remove(&mut document, address);
    }
    Ok(document.to_string())
}

/// Names the files of an org's business data in the text of its file, in place of the
/// entries of the same kinds.
pub fn set_data(
    text: &str,
    org: &str,
    files: &[(DataKind, String)],
) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let tables = document.entry("data").or_insert_with(|| ArrayOfTables::new().into());
    let Some(tables) = tables.as_array_of_tables_mut() else { return Ok(text.to_owned()) };
    tables.retain(|table| {
        let field = |name: &str| table.get(name).and_then(Item::as_str);
        let is_other_org = field("org").is_some_and(|other| other != org);
        is_other_org || !files.iter().any(|(kind, _)| field("kind") == Some(kind.name()))
    });
    for (kind, file) in files {
        let mut table = Table::new();
        table.insert("org", toml_edit::value(org));
        table.insert("kind", toml_edit::value(kind.name()));
        table.insert("file", toml_edit::value(file));
        tables.push(table);
    }
    Ok(document.to_string())
}

fn in_order(resources: &Resources) -> Vec<(&Address, &Resource)> {
    let mut all: Vec<_> = resources.iter().collect();
    all.sort_by_key(|(address, _)| (address.kind, &address.org, &address.name));
    all
}

fn put(document: &mut DocumentMut, address: &Address, table: Table) {
    let name = address.kind.table();
    if address.kind == Kind::Platform {
        document.insert(name, Item::Table(table));
        return;
    }
    let tables = document.entry(name).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    if let Some(tables) = tables.as_array_of_tables_mut() {
        tables.push(table);
    }
}

/// Sets the fields of a table that differ and removes those that are gone.
fn change(document: &mut DocumentMut, address: &Address, new: &Table) {
    let Some(old) = find(document, address) else { return };
    let has_org = old.contains_key("org");
    let gone: Vec<String> = old
        .iter()
        .map(|(key, _)| key.to_owned())
        .filter(|key| !new.contains_key(key) && (key != "org" || !has_org))
        .collect();
    for key in gone {
        old.remove(&key);
    }
    for (key, value) in new.iter() {
        let same = old.get(key).is_some_and(|old| plain(old) == plain(value));
        if !same {
            old.insert(key, value.clone());
        }
    }
}

/// Returns an item as a value, to compare it without its spelling.
fn plain(item: &Item) -> Value {
    crate::file::to_json(item)
}

fn find<'d>(document: &'d mut DocumentMut, address: &Address) -> Option<&'d mut Table> {
    let item = document.get_mut(address.kind.table())?;
    if address.kind == Kind::Platform {
        return item.as_table_mut();
    }
    let key = address.kind.name_key();
    let tables = item.as_array_of_tables_mut()?;
    let has_name = |table: &Table| table.get(key).and_then(Item::as_str) == Some(&address.name);
    let in_org = |table: &Table| {
        table.get("org").and_then(Item::as_str).is_none_or(|org| org == address.org)
    };
    tables.iter_mut().find(|table| has_name(table) && in_org(table))
}

fn remove(document: &mut DocumentMut, address: &Address) {
    let key = address.kind.name_key();
    let tables = document.get_mut(address.kind.table()).and_then(Item::as_array_of_tables_mut);
    if let Some(tables) = tables {
        tables.retain(|table| {
            let org = table.get("org").and_then(Item::as_str);
            table.get(key).and_then(Item::as_str) != Some(&address.name)
                || org.is_some_and(|org| org != address.org)
        });
    }
}

/// Returns a resource as a table. The name comes first; nested tables stand in line if
/// they are short.
fn table(address: &Address, resource: &Resource, single_org: bool) -> Table {
    let sparse = resource.sparse(address.kind);
    let mut table = Table::new();
    let first = ["org", address.kind.name_key(), "name"];
    let fields = sparse.as_object().into_iter().flatten();
    let mut fields: Vec<(&String, &Value)> =
        fields.filter(|(key, _)| !(single_org && key.as_str() == "org")).collect();
    let rank = |key: &str| first.iter().position(|one| *one == key).unwrap_or(first.len());
    fields.sort_by_key(|(key, value)| (value.is_object(), rank(key)));
    for (key, value) in fields {
        if let Some(item) = to_item(value) {
            table.insert(key, item);
        }
    }
    table
}

/// Tables with more text than this get a header of their own.
const MAX_INLINE: usize = 80;

fn to_item(value: &Value) -> Option<Item> {
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let inline = to_value(value)?;
            if inline.to_string().len() <= MAX_INLINE {
                return Some(Item::Value(inline));
            }
            let mut table = Table::new();
            table.set_implicit(fields.values().all(Value::is_object));
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(_, value)| value.is_object());
            for (key, value) in fields {
                if let Some(item) = to_item(value) {
                    table.insert(key, item);
                }
            }
            Some(Item::Table(table))
        }
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            let inline = to_value(value)?;
            if inline.to_string().len() <= MAX_INLINE {
                return Some(Item::Value(inline));
            }
            let tables = items.iter().filter_map(|item| match to_item(item)? {
                Item::Table(table) => Some(table),
                other => other.into_table().ok(),
            });
            Some(Item::ArrayOfTables(tables.collect()))
        }
        other => to_value(other).map(Item::Value),
    }
}

fn to_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(items) => {
            toml_edit::Value::Array(items.iter().filter_map(to_value).collect::<Array>())
        }
        Value::Object(fields) => {
            let mut table = InlineTable::new();
            for (key, value) in fields {
                if let Some(value) = to_value(value) {
                    table.insert(key, value);
                }
            }
            toml_edit::Value::InlineTable(table)
        }
    })
}
