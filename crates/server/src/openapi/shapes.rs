//! Brings generated schemas into the shape that generators of clients work well with: words as
//! one enumeration, a name for every object, and a discriminator for choices between objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Returns definitions and those of the objects that had no name.
pub(super) fn named(definitions: Map<String, Value>) -> BTreeMap<String, Value> {
    let mut done = BTreeMap::new();
    let mut open: Vec<(String, Value)> = definitions.into_iter().collect();
    while let Some((name, mut schema)) = open.pop() {
        simplify(&mut schema);
        name_choices(&name, &mut schema, &mut open);
        name_fields(&name, &mut schema, &mut open);
        done.insert(name, schema);
    }
    done
}

/// Turns choices between words into one enumeration, and `true` into an empty schema.
pub(super) fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(simplify);
            if let Some(properties) = fields.get_mut("properties").and_then(Value::as_object_mut) {
                let any = properties.values_mut().filter(|field| **field == Value::Bool(true));
                any.for_each(|field| *field = json!({}));
            }
            if fields.get("items") == Some(&Value::Bool(true)) {
                fields.insert("items".to_owned(), json!({}));
            }
            if let Some(words) = fields.get("oneOf").and_then(Value::as_array).and_then(words) {
                enumerate(fields, &words);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Returns the words, each with its description, if all choices are words.
fn words(choices: &Vec<Value>) -> Option<Vec<(String, Option<String>)>> {
    let mut words = Vec::new();
    for choice in choices {
        let about = choice["description"].as_str().map(str::to_owned);
        match (choice["const"].as_str(), choice["enum"].as_array()) {
            (Some(word), _) => words.push((word.to_owned(), about)),
            (None, Some(several)) => {
                for word in several {
                    words.push((word.as_str()?.to_owned(), None));
                }
            }
            (None, None) => return None,
        }
    }
    Some(words)
}

fn enumerate(fields: &mut Map<String, Value>, words: &[(String, Option<String>)]) {
    let mut about =
        fields.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (word, text) in words {
        if let Some(text) = text {
            about.push_str(&format!("\n- `{word}`: {}", text.replace('\n', " ")));
        }
    }
    fields.remove("oneOf");
    fields.insert("type".to_owned(), "string".into());
    fields.insert("enum".to_owned(), words.iter().map(|(word, _)| word.as_str()).collect());
    if !about.is_empty() {
        fields.insert("description".to_owned(), about.trim().into());
    }
}

/// Gives the objects of a choice names, and the choice a discriminator if they have a common
/// field with a word.
fn name_choices(name: &str, schema: &mut Value, open: &mut Vec<(String, Value)>) {
    for keyword in ["oneOf", "anyOf"] {
        let Some(choices) = schema.get_mut(keyword).and_then(Value::as_array_mut) else {
            continue;
        };
        let tag = common_tag(choices);
        let mut mapping = Map::new();
        for choice in choices.iter_mut().filter(|choice| choice.get("properties").is_some()) {
            let word = match &tag {
                Some(tag) => choice["properties"][tag]["const"].as_str(),
                None => choice["required"][0].as_str(),
            };
            let word = word.unwrap_or("other").to_owned();
            let named = format!("{name}{}", pascal_case(&word));
            let reference = format!("#/components/schemas/{named}");
            let object = std::mem::replace(choice, json!({"$ref": reference}));
            open.push((named, without_siblings(object)));
            mapping.insert(word, reference.into());
        }
        if let (Some(tag), false) = (tag, mapping.is_empty()) {
            schema["discriminator"] = json!({"propertyName": tag, "mapping": mapping});
        }
    }
}

/// Returns the field by which all objects of a choice can be told apart.
fn common_tag(choices: &[Value]) -> Option<String> {
    let first = choices.first()?["properties"].as_object()?;
    let is_tag = |name: &str| {
        let has_word = |choice: &Value| choice["properties"][name]["const"].is_string();
        choices.iter().all(has_word)
    };
    first.keys().find(|name| is_tag(name)).cloned()
}

/// A reference beside other keywords becomes one of several schemas that all hold.
fn without_siblings(mut object: Value) -> Value {
    let Some(reference) = object.as_object_mut().and_then(|fields| fields.remove("$ref")) else {
        return object;
    };
    json!({"allOf": [{"$ref": reference}, object]})
}

/// Gives the objects in the fields of an object names.
fn name_fields(name: &str, schema: &mut Value, open: &mut Vec<(String, Value)>) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (field, schema) in properties {
        if schema.get("properties").is_some() {
            let named = format!("{name}{}", pascal_case(field));
            let reference = json!({"$ref": format!("#/components/schemas/{named}")});
            open.push((named, std::mem::replace(schema, reference)));
        }
    }
}

fn pascal_case(word: &str) -> String {
    let mut name = String::new();
    for part in word.split(|char: char| !char.is_ascii_alphanumeric()) {
        let mut chars = part.chars();
        name.extend(chars.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(chars.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{named, simplify};

    #[test]
    fn k01_words_become_one_enumeration() {
        let mut schema = json!({"description": "A role.", "oneOf": [
            {"type": "string", "const": "viewer", "description": "Reads."},
            {"type": "string", "enum": ["admin", "owner"]},
        ]});
        simplify(&mut schema);
        let expected = json!({"description": "A role.\n- `viewer`: Reads.", "type": "string",
            "enum": ["viewer", "admin", "owner"]});
        assert_eq!(schema, expected);
    }

    #[test]
    fn k01_choices_between_objects_get_names_and_a_discriminator() {
        let schema = json!({"oneOf": [
            {"type": "object", "properties": {"role": {"type": "string", "const": "agent"},
                "agent": true}, "required": ["role"]},
            {"$ref": "#/components/schemas/Other", "type": "object",
                "properties": {"role": {"type": "string", "const": "the_other"}}},
        ]});
        let Value::Object(definitions) = json!({"Author": schema}) else { unreachable!() };
        let named = named(definitions);
        let target = |name: &str| format!("#/components/schemas/{name}");
        let author = json!({
            "oneOf": [{"$ref": target("AuthorAgent")}, {"$ref": target("AuthorTheOther")}],
            "discriminator": {"propertyName": "role", "mapping":
                {"agent": target("AuthorAgent"), "the_other": target("AuthorTheOther")}},
        });
        assert_eq!(named["Author"], author);
        assert_eq!(named["AuthorAgent"]["properties"]["agent"], json!({}));
        assert_eq!(named["AuthorTheOther"]["allOf"][0], json!({"$ref": target("Other")}));
    }
}
