//! The JSON Schema of a world file, generated from the specs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::address::Kind;
use crate::spec;

/// The first line of exported files, by which editors find the schema.
pub const SCHEMA_LINE: &str = "#:schema ./ostler.schema.json";

/// Returns the JSON Schema of a world file.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(generate);
    &SCHEMA
}

/// Returns the schema of the resources of a kind.
pub(crate) fn of_kind(kind: Kind) -> &'static Value {
    let table = &schema()["properties"][kind.table()];
    match kind {
        Kind::Platform => table,
        _ => &table["items"],
    }
}

/// Returns the fields that every resource of a kind has.
pub(crate) fn required(kind: Kind) -> BTreeSet<&'static str> {
    let schema = resolve(of_kind(kind));
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Follows a reference to a definition.
pub(crate) fn resolve(schema: &'static Value) -> &'static Value {
    let name = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/"));
    name.map_or(schema, |name| &self::schema()["$defs"][name])
}

fn generate() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut properties = Map::new();
    for kind in Kind::ALL {
        let item = reference(&mut generator, kind);
        let schema = match kind {
            Kind::Platform => item,
            _ => json!({"type": "array", "items": item}),
        };
        properties.insert(kind.table().to_owned(), schema);
    }
    let session = generator.subschema_for::<spec::SessionDefinition>();
    properties.insert("session".to_owned(), json!({"type": "array", "items": session}));
    let data = generator.subschema_for::<spec::DataDefinition>();
    properties.insert("data".to_owned(), json!({"type": "array", "items": data}));
    let mut definitions = generator.take_definitions(true);
    definitions.values_mut().for_each(close_tables);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Ostler world",
        "description": "Organizations, agents and what belongs to them, for `ostler apply`.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "$defs": definitions,
    })
}

fn reference(generator: &mut SchemaGenerator, kind: Kind) -> Value {
    fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
        generator.subschema_for::<T>().to_value()
    }
    match kind {
        Kind::Platform => of::<spec::PlatformDefinition>(generator),
        Kind::Org => of::<spec::OrgDefinition>(generator),
        Kind::Tool => of::<spec::HttpToolDefinition>(generator),
        Kind::McpServer => of::<spec::McpServerDefinition>(generator),
        Kind::Agent => of::<spec::AgentDefinition>(generator),
        Kind::Channel => of::<spec::ChannelDefinition>(generator),
        Kind::Integration => of::<spec::IntegrationDefinition>(generator),
        Kind::Document => of::<spec::DocumentDefinition>(generator),
        Kind::Member => of::<spec::MemberDefinition>(generator),
        Kind::Workflow => of::<spec::WorkflowResource>(generator),
        Kind::Schedule => of::<spec::ScheduleResource>(generator),
    }
}

/// Forbids keys that are not listed, at every level.
pub(crate) fn close_tables(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") {
                fields.entry("additionalProperties").or_insert(Value::Bool(false));
            }
            fields.values_mut().for_each(close_tables);
        }
        Value::Array(items) => items.iter_mut().for_each(close_tables),
        _ => {}
    }
}
