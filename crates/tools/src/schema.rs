//! JSON Schemas of arguments, as models are given them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of a type: in one piece and without what means nothing to a model.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        members.remove("title");
        members.remove("description");
    }
    tidy(&mut schema);
    schema
}

/// Takes out the names of Rust's number types, and the defaults that say nothing.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            let numeric = |format: &Value| {
                let name = format.as_str().unwrap_or_default();
                name.starts_with("uint") || name.starts_with("int")
            };
            if members.get("format").is_some_and(numeric) {
                members.remove("format");
            }
            if members.get("default").is_some_and(Value::is_null) {
                members.remove("default");
            }
            members.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
