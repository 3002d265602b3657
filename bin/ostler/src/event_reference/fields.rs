//! The fields of a schema as rows of a table.

use serde_json::Value;

use super::EventReference;

/// A field of an object.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) form: String,
    pub(super) description: String,
}

impl EventReference {
    /// Returns the fields of an object, those of its choices too, without the field that names
    /// the kind.
    pub(super) fn fields(&self, schema: &Value) -> Vec<Field> {
        let schema = self.resolve(schema);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut fields: Vec<Field> = Vec::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if property.get("const").is_some() {
                continue;
            }
            let mut form = self.form(property);
            if !required.contains(&name.as_str()) && !form.ends_with("or null") {
                form.push_str(", may be absent");
            }
            let description = property["description"].as_str().unwrap_or_default();
            let description = description.replace('\n', " ");
            fields.push(Field { name: name.clone(), form, description });
        }
        // Those that are always there come first.
        fields.sort_by_key(|field| field.form.ends_with("absent"));
        fields
    }

    /// Describes the values of a schema in a few words.
    fn form(&self, schema: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            return self.named_form(name);
        }
        for key in ["anyOf", "oneOf"] {
            let Some(choices) = schema[key].as_array() else { continue };
            if let Some(words) = words(choices) {
                return words;
            }
            let forms: Vec<String> = choices.iter().map(|one| self.form(one)).collect();
            return join(forms);
        }
        if let Some(words) = schema["enum"].as_array() {
            return join(words.iter().map(|word| format!("`{}`", text(word))).collect());
        }
        match &schema["type"] {
            Value::Array(types) => join(types.iter().map(|one| self.simple(one, schema)).collect()),
            Value::Null => "any JSON".to_owned(),
            one => self.simple(one, schema),
        }
    }

    fn simple(&self, name: &Value, schema: &Value) -> String {
        match name.as_str().unwrap_or_default() {
            "string" => match schema["pattern"].as_str().and_then(id_prefix) {
                Some(prefix) => format!("id, `{prefix}_…`"),
                None => "text".to_owned(),
            },
            "integer" | "number" => "number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "null" => "null".to_owned(),
            "array" => format!("list of: {}", self.form(&schema["items"])),
            _ => "object".to_owned(),
        }
    }

    fn named_form(&self, name: &str) -> String {
        match name {
            "Timestamp" => return "time in milliseconds since 1970".to_owned(),
            "Credits" => return "number of credits".to_owned(),
            // It has too many words for a table.
            "NoticeKind" => return "[kind of notice](#noticekind)".to_owned(),
            "OrgEventKind" => return "kind of event".to_owned(),
            _ => {}
        }
        let schema = self.definitions.get(name).unwrap_or(&Value::Null);
        if self.is_object(schema) {
            return format!("object [{name}](#{})", name.to_lowercase());
        }
        self.form(schema)
    }

    /// Returns whether a value is an object, or a choice between objects.
    pub(super) fn is_object(&self, schema: &Value) -> bool {
        let is_object = |one: &Value| self.resolve(one)["type"] == "object";
        is_object(schema)
            || ["anyOf", "oneOf"].iter().any(|key| {
                schema[*key].as_array().is_some_and(|choices| choices.iter().any(is_object))
            })
    }
}

/// Returns choices between words as text.
fn words(choices: &[Value]) -> Option<String> {
    let mut words = Vec::new();
    for choice in choices {
        match (choice["const"].as_str(), choice["enum"].as_array()) {
            (Some(word), _) => words.push(format!("`{word}`")),
            (None, Some(several)) => {
                words.extend(several.iter().map(|word| format!("`{}`", text(word))));
            }
            (None, None) => return None,
        }
    }
    Some(join(words))
}

fn text(word: &Value) -> &str {
    word.as_str().unwrap_or_default()
}

fn join(mut forms: Vec<String>) -> String {
    match forms.pop() {
        Some(last) if forms.is_empty() => last,
        Some(last) => format!("{} or {last}", forms.join(", ")),
        None => String::new(),
    }
}

/// Returns the prefix of the pattern of an id.
fn id_prefix(pattern: &str) -> Option<&str> {
    let prefix = pattern.strip_prefix('^')?.split_once('_')?.0;
    (prefix.len() == 3).then_some(prefix)
}
