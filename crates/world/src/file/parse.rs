//! Files as resources, each with its place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ostler_domain::secret::WRITTEN_SECRET;
use serde_json::{Map, Value};
use toml_edit::{Item, TableLike};

use super::check::check;
use super::data::{self, DataEntry};
use super::problem::{Problem, Problems};
use super::source::Source;
use crate::address::{Address, Kind};
use crate::resource::{Resource, Resources};
use crate::rules::Violation;
use crate::schema;
use crate::spec::SessionDefinition;

/// The content of a set of files.
#[derive(Debug, Default)]
pub struct ParsedFiles {
    sources: Vec<Source>,
    /// The resources of the files.
    pub resources: Resources,
    places: BTreeMap<Address, Place>,
    /// Example sessions, which are not applied.
    pub sessions: Vec<SessionDefinition>,
    /// Business data, which is imported.
    pub data: Vec<DataEntry>,
}

/// Where a resource is: the file, its table and the number of the entry.
#[derive(Debug, Clone, Copy)]
struct Place {
    source: usize,
    kind: Kind,
    index: usize,
}

/// Files with mistakes, as far as they can be read: rules among their resources can still be
/// checked, so that people see all mistakes at once.
#[derive(Debug)]
pub struct PartlyParsed {
    pub files: ParsedFiles,
    /// The mistakes so far; empty if there is none.
    pub problems: Vec<Problem>,
    /// The resources with mistakes, of which only the names are reliable. `None` if some could
    /// not be read at all.
    pub incomplete: Option<BTreeSet<Address>>,
}

/// Parses files, each with its name, and checks them against the schema. The error holds
/// everything that is wrong.
pub fn parse<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<ParsedFiles, Problems> {
    let PartlyParsed { files, problems, .. } = parse_partly(files);
    if problems.is_empty() { Ok(files) } else { Err(Problems(problems)) }
}

/// Parses files like [`parse`], and keeps what can be read of files with mistakes.
pub fn parse_partly<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> PartlyParsed {
    let mut parsed = ParsedFiles::default();
    let mut problems = Vec::new();
    let mut total = 0;
    for (name, text) in files {
        total += 1;
        match Source::new(name, text) {
            Ok(source) => parsed.sources.push(source),
            Err(problem) => problems.push(problem),
        }
    }
    for source in &parsed.sources {
        check(source, source.root(), schema::schema(), &mut problems);
    }
    let all_read = parsed.sources.len() == total;
    let mut reader = Reader { problems, incomplete: all_read.then(BTreeSet::new) };
    parsed.read_resources(&mut reader);
    PartlyParsed { files: parsed, problems: reader.problems, incomplete: reader.incomplete }
}

/// What is found while resources are read.
struct Reader {
    problems: Vec<Problem>,
    incomplete: Option<BTreeSet<Address>>,
}

impl ParsedFiles {
    /// Returns the problem of a violated rule at its place, or none if the resource is not
    /// in these files.
    pub fn locate(&self, violation: &Violation) -> Option<Problem> {
        let (source, at) = self.find(&violation.address, &violation.path)?;
        let problem = source.problem(at, violation.message.clone());
        let is_secret = violation.message == WRITTEN_SECRET;
        Some(if is_secret { problem.without_excerpt() } else { problem })
    }

    /// Returns the file and line of a field, or else of its resource, such as
    /// `nordlicht.toml:14`. Returns `None` if the resource is not in these files.
    pub fn place_of(&self, address: &Address, path: &str) -> Option<String> {
        let (source, at) = self.find(address, path)?;
        Some(format!("{}:{}", source.name(), source.line(at?.start)))
    }

    fn find(&self, address: &Address, path: &str) -> Option<(&Source, Option<Range<usize>>)> {
        let place = self.places.get(address)?;
        let source = self.sources.get(place.source)?;
        let table = entry(source.root(), place.kind, place.index)?;
        Some((source, source.find(&table, path)))
    }

    /// Returns a problem of business data at its place.
    pub fn locate_data(&self, entry: &DataEntry, message: String) -> Option<Problem> {
        let source = self.sources.get(entry.source)?;
        let table = data::entry(source, entry.index)?;
        Some(source.problem(source.find(&table, "file"), message))
    }

    /// Returns the addresses in the order of the files.
    pub fn in_file_order(&self) -> Vec<&Address> {
        let mut addresses: Vec<_> = self.places.iter().collect();
        addresses.sort_by_key(|(_, place)| (place.source, place.kind, place.index));
        addresses.into_iter().map(|(address, _)| address).collect()
    }

    fn read_resources(&mut self, reader: &mut Reader) {
        let sources = std::mem::take(&mut self.sources);
        for (number, source) in sources.iter().enumerate() {
            let default_org = only_org(source.root());
            for kind in Kind::ALL {
                for index in 0.. {
                    let Some(item) = entry(source.root(), kind, index) else { break };
                    let place = Place { source: number, kind, index };
                    self.read(source, place, &item, default_org.as_deref(), reader);
                }
            }
            // The schema covers sessions and data: their problems would be said twice.
            let has_problems = reader.problems.iter().any(|one| one.file == source.name());
            let sessions = self.read_sessions(source, default_org.as_deref()).err();
            reader.problems.extend(sessions.filter(|_| !has_problems));
            match data::read(source, number, default_org.as_deref()) {
                Ok(entries) => self.data.extend(entries),
                Err(_) if has_problems => {}
                Err(problem) => reader.problems.push(problem),
            }
        }
        self.sources = sources;
    }

    fn read(
        &mut self,
        source: &Source,
        place: Place,
        item: &Item,
        default_org: Option<&str>,
        reader: &mut Reader,
    ) {
        let kind = place.kind;
        let mut value = to_json(item);
        let at = |path: &str| source.find(item, path);
        if let Err(message) = fill_org(&mut value, kind, default_org) {
            reader.problems.push(source.problem(at(""), message));
            reader.incomplete = None;
            return;
        }
        // What the schema has found in it is among the problems already.
        let mut found = Vec::new();
        if !reader.problems.is_empty() {
            check(source, item, schema::of_kind(kind), &mut found);
        }
        let mut is_incomplete = !found.is_empty();
        let resource = loop {
            let error = match Resource::parse(kind, &value) {
                Ok(resource) => break resource,
                Err(error) => error,
            };
            if found.is_empty() {
                let problem = source.problem(at(&error.path), error.cause.to_string());
                // What stands where a secret is named may be the secret.
                let is_secret = error.path.contains("secret");
                reader.problems.push(if is_secret { problem.without_excerpt() } else { problem });
            }
            is_incomplete = true;
            let key = error.path.split(['.', '[']).next().unwrap_or_default();
            if value.as_object_mut().and_then(|fields| fields.remove(key)).is_none() {
                break Resource::unchecked(value);
            }
        };
        let address = address(kind, resource.value());
        if is_incomplete && let Some(incomplete) = &mut reader.incomplete {
            incomplete.insert(address.clone());
        }
        if self.resources.contains_key(&address) {
            let message = format!("there are two of `{address}`; each is defined once");
            reader.problems.push(source.problem(at(kind.name_key()), message));
            return;
        }
        self.places.insert(address.clone(), place);
        self.resources.insert(address, resource);
    }

    fn read_sessions(&mut self, source: &Source, default_org: Option<&str>) -> Result<(), Problem> {
        let tables = source.root().get("session").and_then(Item::as_array_of_tables);
        for table in tables.into_iter().flatten() {
            let item = Item::Table(table.clone());
            let mut value = to_json(&item);
            if let (Some(fields), Some(org)) = (value.as_object_mut(), default_org) {
                fields.entry("org").or_insert_with(|| org.into());
            }
            let session = serde_path_to_error::deserialize(&value).map_err(|error| {
                source.problem(source.find(&item, &error.path().to_string()), error.to_string())
            })?;
            self.sessions.push(session);
        }
        Ok(())
    }
}

/// Returns the address of a resource.
pub(crate) fn address(kind: Kind, value: &Value) -> Address {
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    match kind {
        Kind::Platform => Address::of_platform(),
        Kind::Org => Address::of_org(&field("slug")),
        _ => Address { org: field("org"), kind, name: field(kind.name_key()) },
    }
}

/// Returns an entry of a kind in a file.
fn entry(root: &Item, kind: Kind, index: usize) -> Option<Item> {
    let item = root.get(kind.table())?;
    match (kind, item) {
        (Kind::Platform, item) => (index == 0).then(|| item.clone()),
        (_, Item::ArrayOfTables(tables)) => tables.get(index).cloned().map(Item::Table),
        (_, item) => item.get(index).cloned(),
    }
}

/// Returns the org of a file that defines exactly one.
fn only_org(root: &Item) -> Option<String> {
    let first = entry(root, Kind::Org, 0)?;
    let single = entry(root, Kind::Org, 1).is_none();
    single.then(|| first.get("slug").and_then(Item::as_str).map(str::to_owned))?
}

/// Sets the org of a resource that does not name one.
fn fill_org(value: &mut Value, kind: Kind, default_org: Option<&str>) -> Result<(), String> {
    if matches!(kind, Kind::Platform | Kind::Org) {
        return Ok(());
    }
    fill_default_org(value, kind.table(), default_org)
}

/// Sets the org of an entry of a table that does not name one.
pub(super) fn fill_default_org(
    value: &mut Value,
    table: &str,
    default_org: Option<&str>,
) -> Result<(), String> {
    if !value["org"].is_null() {
        return Ok(());
    }
    let org = default_org
        .ok_or_else(|| format!("`org` is missing: name the organization of this {table}"))?;
    value["org"] = org.into();
    Ok(())
}

pub(crate) fn to_json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Table(table) => table_to_json(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| table_to_json(table)).collect(),
        Item::Value(value) => value_to_json(value),
    }
}

fn table_to_json(table: &dyn TableLike) -> Value {
    let fields: Map<String, Value> =
        table.iter().map(|(key, item)| (key.to_owned(), to_json(item))).collect();
    Value::Object(fields)
}

fn value_to_json(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => text.value().as_str().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => (*number.value()).into(),
        Toml::Boolean(flag) => (*flag.value()).into(),
        Toml::Datetime(time) => time.value().to_string().into(),
        Toml::Array(items) => items.iter().map(value_to_json).collect(),
        Toml::InlineTable(table) => table_to_json(table),
    }
}
