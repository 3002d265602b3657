//! Examples of responses, made from their schemas: every field is there, with a value that the
//! schema allows.

use serde_json::{Map, Value, json};

/// How deep optional fields and items of lists are filled in.
const MAX_DEPTH: usize = 6;
/// The end of an id, after its prefix.
const ID_BODY: &str = "01jd0v4k9pf2ht6z3m8w5x7ybc";
/// A moment.
const MOMENT: u64 = 1_795_046_400_000;
/// The values of texts by the name of their field.
const TEXTS: [(&str, &str); 12] = [
    ("channel", "webchat"),
    ("currency", "EUR"),
    ("email", "rosa@example.com"),
    ("media_type", "image/png"),
    ("model", "openai/gpt-5-mini"),
    ("name", "Gia"),
    ("org", "bella"),
    ("resource", "agent bella/gia"),
    ("slug", "bella"),
    ("time_zone", "Europe/Rome"),
    ("tool", "refund_payment"),
    ("url", "https://example.com/"),
];

/// Adds an example to each JSON response that has a schema.
pub(super) fn add(document: &mut Value) {
    let whole = document.clone();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let operations = paths.filter_map(|(_, methods)| methods.as_object_mut()).flatten();
    for (_, operation) in operations {
        let responses = operation["responses"].as_object_mut().into_iter().flatten();
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            let Some(content) = response.pointer_mut("/content/application~1json") else {
                continue;
            };
            content["example"] = example(&content["schema"], &whole, "", 0);
        }
    }
}

/// Returns a value that a schema allows. `name` is that of the field.
fn example(schema: &Value, document: &Value, name: &str, depth: usize) -> Value {
    if let Some(target) = schema["$ref"].as_str() {
        let found = document.pointer(target.trim_start_matches('#'));
        return found.map_or(Value::Null, |found| example(found, document, name, depth));
    }
    for known in [&schema["const"], &schema["examples"][0], &schema["enum"][0]] {
        if !known.is_null() {
            return known.clone();
        }
    }
    let choices = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
    let choice = choices.into_iter().flatten().find(|choice| choice["type"] != "null");
    let parts = choice.into_iter().chain(schema["allOf"].as_array().into_iter().flatten());
    let mut parts: Vec<Value> = parts.map(|part| example(part, document, name, depth)).collect();
    if schema["properties"].is_object() {
        parts.push(object(schema, document, depth));
    }
    if let Some(whole) = merged(parts) {
        return whole;
    }
    match type_of(schema) {
        Some("object") => json!({}),
        Some("array") => array(schema, document, name, depth),
        Some("string") => text(schema, name).into(),
        Some("integer") => integer(schema, name),
        Some("number") => json!(1.5),
        Some("boolean") => json!(false),
        Some(_) => Value::Null,
        // Anything is allowed.
        None => json!({}),
    }
}

/// Returns the type of a schema that is not `null`.
fn type_of(schema: &Value) -> Option<&str> {
    let types = schema["type"].as_array();
    let first = types.into_iter().flatten().filter_map(Value::as_str).find(|one| *one != "null");
    schema["type"].as_str().or(first)
}

/// Merges objects; a single value stays as it is.
fn merged(parts: Vec<Value>) -> Option<Value> {
    let mut parts = parts.into_iter();
    let mut whole = parts.next()?;
    for part in parts {
        if let (Some(fields), Value::Object(more)) = (whole.as_object_mut(), part) {
            fields.extend(more);
        }
    }
    Some(whole)
}

fn object(schema: &Value, document: &Value, depth: usize) -> Value {
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let fields = schema["properties"].as_object().into_iter().flatten();
    let shown = fields.filter(|(name, _)| depth < MAX_DEPTH || is_required(name));
    let values =
        shown.map(|(name, field)| (name.clone(), example(field, document, name, depth + 1)));
    Value::Object(values.collect::<Map<String, Value>>())
}

fn array(schema: &Value, document: &Value, name: &str, depth: usize) -> Value {
    if let Some(items) = schema["prefixItems"].as_array() {
        return items.iter().map(|item| example(item, document, name, depth + 1)).collect();
    }
    if depth >= MAX_DEPTH || !schema["items"].is_object() {
        return json!([]);
    }
    json!([example(&schema["items"], document, name, depth + 1)])
}

fn text(schema: &Value, name: &str) -> String {
    let pattern = schema["pattern"].as_str().unwrap_or_default();
    if let Some((prefix, _)) = pattern.strip_prefix('^').and_then(|rest| rest.split_once("_[")) {
        return format!("{prefix}_{ID_BODY}");
    }
    if !pattern.is_empty() {
        return "legal".to_owned();
    }
    let known = TEXTS.iter().find(|(field, _)| *field == name);
    known.map_or("text", |(_, text)| text).to_owned()
}

fn integer(schema: &Value, name: &str) -> Value {
    let is_moment = ["at", "until", "since", "due"].contains(&name) || name.ends_with("_at");
    if is_moment && schema["format"] == "int64" {
        return MOMENT.into();
    }
    schema["minimum"].as_u64().unwrap_or(0).max(1).into()
}
