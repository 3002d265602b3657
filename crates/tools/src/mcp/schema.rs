//! Whether the schema of a tool can be used: it describes an object, has a
//! bounded size, and refers to nothing outside itself.

use serde_json::Value;

/// The deepest nesting.
const DEEPEST: usize = 32;

/// What is wrong with the schema of a tool's arguments.
pub(super) fn check(schema: &Value, most: usize) -> Result<(), String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("it does not describe an object".to_owned());
    }
    let size = schema.to_string().len();
    if size > most {
        return Err(format!("it has {size} bytes, and {most} are allowed"));
    }
    refers_inside(schema, 0)?;
    jsonschema::validator_for(schema).map(|_| ()).map_err(|error| error.to_string())
}

/// References may point into the schema itself only. Nothing is ever fetched;
/// this says it in plain words instead of failing at the first use.
fn refers_inside(schema: &Value, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("it is nested deeper than {DEEPEST} levels"));
    }
    match schema {
        Value::Object(members) => members.iter().try_for_each(|(name, value)| match value {
            Value::String(target)
                if matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef")
                    && !target.starts_with('#') =>
            {
                Err(format!("it refers to something outside itself, `{}`", shown(target)))
            }
            _ => refers_inside(value, depth + 1),
        }),
        Value::Array(items) => items.iter().try_for_each(|item| refers_inside(item, depth + 1)),
        _ => Ok(()),
    }
}

fn shown(target: &str) -> String {
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
    fn schemas_are_checked() {
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
        for (schema, wrong) in table {
            match (check(&schema, 1000), wrong) {
                (Ok(()), None) => {}
                (Err(said), Some(part)) => assert!(said.contains(part), "{schema}: {said}"),
                (said, _) => panic!("{schema}: {said:?}"),
            }
        }
    }
}
