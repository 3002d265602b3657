//! The list of events is consistent with the schemas of their data.

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::OrgEventKind;

/// Texts that name something of the product or of the org, and nobody.
const NAMES: [&str; 13] = [
    "workflow_step.name",
    "workflow_step.state",
    "workflow_step.step",
    "workflow_started.name",
    "workflow_waiting.name",
    "workflow_waiting.tasks",
    "workflow_ended.name",
    "workflow_ended.status",
    "approved_call_made.outcome",
    "approved_call_made.tool",
    "approved_call_failed.outcome",
    "approved_call_failed.tool",
    "run.outcome",
];
/// Types whose texts are names.
const NAME_TYPES: [&str; 2] = ["ToolName", "Channel"];

/// Adds the paths of fields that may hold any text.
fn free_texts(path: &str, schema: &Value, root: &Value, found: &mut BTreeSet<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        if !NAME_TYPES.contains(&name) {
            free_texts(path, &root["$defs"][name], root, found);
        }
        return;
    }
    let types = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    let is_text = types.iter().any(|one| one == "string")
        && ["enum", "const", "pattern"].iter().all(|key| schema.get(*key).is_none());
    let is_anything = schema == &Value::Bool(true)
        || schema.as_object().is_some_and(|object| {
            object.keys().all(|key| matches!(key.as_str(), "description" | "default"))
        });
    if is_text || is_anything {
        found.insert(path.to_owned());
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        free_texts(&format!("{path}.{name}"), inner, root, found);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        for inner in schema[key].as_array().into_iter().flatten() {
            free_texts(path, inner, root, found);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(key).filter(|inner| inner.is_object()) {
            free_texts(path, inner, root, found);
        }
    }
}

/// K07, S09: a field that may hold words of people is declared as such, so that webhooks do
/// not get it.
#[test]
fn k07_every_field_with_words_is_declared() {
    for kind in OrgEventKind::ALL {
        let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
        let schema = kind.data_schema(&mut generator);
        let root = serde_json::json!({"$defs": generator.take_definitions(true)});
        let mut found = BTreeSet::new();
        free_texts(kind.name(), schema.as_value(), &root, &mut found);
        let known = |path: &String| NAMES.contains(&path.as_str());
        let found: BTreeSet<String> = found.into_iter().filter(|path| !known(path)).collect();
        let declared = kind.word_fields().iter().map(|field| format!("{}.{field}", kind.name()));
        assert_eq!(found, declared.collect(), "{}", kind.name());
    }
}

#[test]
fn k10_names_of_events_are_parsed() {
    for kind in OrgEventKind::ALL {
        assert_eq!(kind.name().parse(), Ok(*kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
    assert!("sessions".parse::<OrgEventKind>().is_err());
}
