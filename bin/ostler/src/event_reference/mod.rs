//! The events that other programs read, described from the types that write them: the JSON
//! Schema of `ostler schema --events`, and the page `docs/EVENTS.md`.

mod fields;
mod page;

use ostler_api::event::{EventsPruned, EventsQuery};
use ostler_api::thread_event::{ThreadEventDetails, ThreadEventKind};
use ostler_api::webhook::WebhookPayload;
use ostler_domain::event::OrgEventKind;
use ostler_runtime::deltas::Delta;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

pub(crate) use page::render_page;

/// The schemas of all events.
pub(crate) struct EventReference {
    /// The data of each event of an organization.
    org_events: Vec<(OrgEventKind, Value)>,
    delta: Value,
    pruned: Value,
    query: Value,
    payload: Value,
    thread_kind: Value,
    thread_details: Value,
    definitions: Map<String, Value>,
}

impl EventReference {
    pub(crate) fn new() -> Self {
        let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
        let org_events = OrgEventKind::ALL
            .iter()
            .map(|kind| (*kind, kind.data_schema(&mut generator).to_value()))
            .collect();
        let delta = schema_of::<Delta>(&mut generator);
        let pruned = schema_of::<EventsPruned>(&mut generator);
        let query = schema_of::<EventsQuery>(&mut generator);
        let payload = schema_of::<WebhookPayload>(&mut generator);
        let thread_kind = schema_of::<ThreadEventKind>(&mut generator);
        let thread_details = schema_of::<ThreadEventDetails>(&mut generator);
        let definitions = generator.take_definitions(true);
        Self { org_events, delta, pruned, query, payload, thread_kind, thread_details, definitions }
    }

    /// Returns the JSON Schema of what the streams and webhooks send: an event of an
    /// organization with its name, streamed text, the body of a webhook, an event of a thread.
    pub(crate) fn schema(&self) -> Value {
        let events: Vec<Value> = self
            .org_events
            .iter()
            .map(|(kind, data)| {
                json!({
                    "type": "object",
                    "description": kind.description(),
                    "properties": {"event": {"const": kind.name()}, "data": {
                        "type": "object",
                        "properties": {"at": {"type": "integer"}, "data": data},
                        "required": ["at", "data"],
                    }},
                    "required": ["event", "data"],
                })
            })
            .collect();
        let mut definitions = self.definitions.clone();
        definitions.insert("OrgEvent".to_owned(), json!({"oneOf": events}));
        let details = json!({"type": "object", "properties": {"ext": self.thread_details}});
        let thread_event = json!({"allOf": [self.thread_kind, details]});
        definitions.insert("ThreadEvent".to_owned(), thread_event);
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "The events of Ostler",
            "anyOf": [
                {"$ref": "#/$defs/OrgEvent"},
                self.delta,
                self.pruned,
                self.payload,
                {"$ref": "#/$defs/ThreadEvent"},
            ],
            "$defs": definitions,
        })
    }

    /// Returns a schema, or the one that it refers to.
    fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(name) => self.definitions.get(name).unwrap_or(&Value::Null),
            None => schema,
        }
    }
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde_json::Value;

    use super::{EventReference, render_page};

    /// K10: the list of events is the one of the code.
    #[test]
    fn k10_the_page_of_events_is_the_one_in_the_docs() {
        let page = include_str!("../../../../docs/EVENTS.md");
        let hint = "run `ostler schema --events --page > docs/EVENTS.md`";
        assert!(
            page == render_page(&EventReference::new()),
            "docs/EVENTS.md is out of date; {hint}"
        );
    }

    /// K10: every reference of the schema leads to something.
    #[test]
    fn k10_the_schema_of_events_is_whole() {
        let schema = EventReference::new().schema();
        let mut open = vec![&schema];
        while let Some(one) = open.pop() {
            if let Some(path) = one["$ref"].as_str() {
                let pointer = path.trim_start_matches('#');
                assert!(schema.pointer(pointer).is_some(), "{path}");
            }
            match one {
                Value::Object(fields) => open.extend(fields.values()),
                Value::Array(items) => open.extend(items),
                _ => {}
            }
        }
    }

    /// K10: recorded events of threads have no kind and no field that is not in the list.
    #[test]
    fn k10_recorded_events_are_in_the_list() {
        let reference = EventReference::new();
        let kinds = reference.resolve(&reference.thread_kind)["oneOf"].as_array().expect("kinds");
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/api/fixtures/threads");
        let mut seen = BTreeSet::new();
        for file in std::fs::read_dir(folder).expect("recordings") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "jsonl") {
                continue;
            }
            for line in std::fs::read_to_string(&path).expect("a recording").lines() {
                let event: Value = serde_json::from_str(line).expect("an event");
                let name = event["type"].as_str().expect("a kind").to_owned();
                let kind = kinds.iter().find(|one| one["properties"]["type"]["const"] == *name);
                assert!(kind.is_some(), "{name} in {}", path.display());
                seen.insert(name);
            }
        }
        assert!(seen.len() > 15, "{seen:?}");
    }
}
