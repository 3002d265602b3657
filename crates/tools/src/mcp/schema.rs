//! Checks the schema of a tool: it must describe an object, have a limited size, and
//! refer to nothing outside itself.

use serde_json::Value;

const MAX_DEPTH: usize = 32;

/// Checks the schema of a tool's arguments. Fails with the reason why it cannot be used.
pub(super) fn check(schema: &Value, max_bytes: usize) -> Result<(), String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("it does not describe an object".to_owned());
    }
    let size = schema.to_string().len();
    if size > max_bytes {
        return Err(format!("it has {size} bytes, and {max_bytes} are allowed"));
    }
    check_references(schema, 0)?;
    jsonschema::validator_for(schema).map(|_| ()).map_err(|error| error.to_string())
}

/// Refuses references that leave the schema. They are never fetched, and would fail at
/// the first use with a less clear error.
fn check_references(schema: &Value, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
    }
    match schema {
        Value::Object(members) => members.iter().try_for_each(|(name, value)| match value {
            Value::String(target)
                if matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef")
                    && !target.starts_with('#') =>
            {
                Err(format!("it refers to something outside itself, `{}`", printable(target)))
            }
            _ => check_references(value, depth + 1),
        }),
        Value::Array(items) => items.iter().try_for_each(|item| check_references(item, depth + 1)),
        _ => Ok(()),
    }
}

fn printable(target: &str) -> String {
    target.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::{Value, json};

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!({}), |inner, _| json!({ "not": inner }))
    }

    #[test]
    fn unusable_schemas_are_refused() {
        let table = [
            (json!({"type": "object"}), None),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}),
                None,
            ),
            (json!({"type": "object", "properties": {"$ref": {"type": "string"}}}), None),
            (json!({"type": "object", "allOf": [{"$ref": "#"}]}), None),
            (json!({"type": "string"}), Some("does not describe an object")),
            (json!({}), Some("does not describe an object")),
            (json!(true), Some("does not describe an object")),
            (
                json!({"type": "object", "allOf": [{"$ref": "https://example.com/s"}]}),
                Some("outside itself, `https://example.com/s`"),
            ),
            (json!({"type": "object", "$ref": "file:///etc/passwd"}), Some("outside itself")),
            (json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}), Some("")),
            (json!({"type": "object", "required": 7}), Some("")),
            (json!({"type": "object", "description": "x".repeat(1000)}), Some("1000 are allowed")),
            (json!({"type": "object", "not": nested(40)}), Some("nested deeper")),
        ];
        for (schema, expected) in table {
            match (check(&schema, 1000), expected) {
                (Ok(()), None) => {}
                (Err(error), Some(part)) => assert!(error.contains(part), "{schema}: {error}"),
                (result, _) => panic!("{schema}: {result:?}"),
            }
        }
    }
}
