//! JSON Schemas of tool arguments, in the form that models receive.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns the schema of a type with all definitions inlined and without parts that
/// mean nothing to a model.
pub(crate) fn schema_for<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(members) = schema.as_object_mut() {
        members.remove("title");
        members.remove("description");
    }
    remove_noise(&mut schema);
    schema
}

/// Removes the formats of Rust's number types and `null` defaults.
fn remove_noise(schema: &mut Value) {
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
            members.values_mut().for_each(remove_noise);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_noise),
        _ => {}
    }
}
