//! The named schemas of the document. A type has one for what the server takes and one for
//! what it returns, because a field with a default may be left out of a request and is always
//! in a response; where both are equal, they are one.

use std::collections::{BTreeMap, BTreeSet};

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::shapes;
use crate::route::TypeSchema;

/// Where references lead to.
const PREFIX: &str = "#/components/schemas/";
/// The end of the names of types that are taken only.
const INPUT: &str = "Input";
/// Marks references of requests until it is known which types differ.
const INPUT_PREFIX: &str = "#/components/inputs/";

/// Whether a type is taken or returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Input,
    Output,
}

/// Collects the types of the operations.
pub(super) struct Schemas {
    input: SchemaGenerator,
    output: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            input: settings().for_deserialize().into_generator(),
            output: settings().for_serialize().into_generator(),
        }
    }

    /// Returns a reference to the schema of a type.
    pub(super) fn reference(&mut self, schema: TypeSchema, direction: Direction) -> Value {
        match direction {
            Direction::Input => {
                let mut schema = schema(&mut self.input).to_value();
                rename(&mut schema, PREFIX, &|name| format!("{INPUT_PREFIX}{name}"));
                schema
            }
            Direction::Output => schema(&mut self.output).to_value(),
        }
    }

    /// Returns the schema of a query, which has no name of its own.
    pub(super) fn inline(schema: TypeSchema) -> Value {
        let mut settings = SchemaSettings::draft2020_12().for_deserialize();
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        let mut value = schema(&mut settings.into_generator()).to_value();
        shapes::simplify(&mut value);
        value
    }

    /// Adds the schemas to a document that refers to them.
    pub(super) fn finish(mut self, document: &mut Value) {
        let mut input = shapes::named(self.input.take_definitions(true));
        let mut output = shapes::named(self.output.take_definitions(true));
        let different = different(&input, &output);
        let input_name = |name: &str| match different.contains(name) {
            true => format!("{PREFIX}{name}{INPUT}"),
            false => format!("{PREFIX}{name}"),
        };
        for (name, mut schema) in std::mem::take(&mut input) {
            rename(&mut schema, PREFIX, &input_name);
            let name = if different.contains(&name) { format!("{name}{INPUT}") } else { name };
            output.entry(name).or_insert(schema);
        }
        rename(document, INPUT_PREFIX, &input_name);
        document["components"]["schemas"] = output.into_iter().collect::<Map<_, _>>().into();
    }
}

/// Returns the names of types that are taken in another form than they are returned, by
/// themselves or in what they contain.
fn different(
    input: &BTreeMap<String, Value>,
    output: &BTreeMap<String, Value>,
) -> BTreeSet<String> {
    let both = || input.iter().filter_map(|(name, one)| Some((name, one, output.get(name)?)));
    let differs = both().filter(|(_, one, other)| one != other);
    let mut found: BTreeSet<String> = differs.map(|(name, ..)| name.clone()).collect();
    loop {
        let refers = |schema: &Value| {
            let mut refers = false;
            references(schema, &mut |name| refers |= found.contains(name));
            refers
        };
        let more = both().filter(|(name, one, _)| !found.contains(*name) && refers(one));
        let more: Vec<String> = more.map(|(name, ..)| name.clone()).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Calls `found` with each name that a schema refers to.
fn references(schema: &Value, found: &mut impl FnMut(&str)) {
    match schema {
        Value::String(text) => text.strip_prefix(PREFIX).into_iter().for_each(found),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| references(field, found)),
        _ => {}
    }
}

/// Replaces references that begin with a prefix.
fn rename(value: &mut Value, prefix: &str, new: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix(prefix) {
                *text = new(name);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, prefix, new)),
        Value::Object(fields) => fields.values_mut().for_each(|field| rename(field, prefix, new)),
        _ => {}
    }
}
