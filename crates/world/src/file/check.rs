//! Checks a table against the schema of its kind and reports everything that is wrong, not
//! only the first thing.

use serde_json::Value as Json;
use toml_edit::{Item, TableLike, Value};

use super::problem::Problem;
use super::source::{Source, table_span};
use crate::schema::resolve;
use crate::suggestion::unknown_name;

/// Checks an item against a schema; adds what is wrong to `problems`.
pub(crate) fn check(
    source: &Source,
    item: &Item,
    schema: &'static Json,
    problems: &mut Vec<Problem>,
) {
    Checker { source, problems }.item(item, schema);
}

struct Checker<'a> {
    source: &'a Source,
    problems: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    fn item(&mut self, item: &Item, schema: &'static Json) {
        let schema = resolve(schema);
        if let Some(choices) = alternatives(schema) {
            return self.choice(item, &choices);
        }
        if let Some(table) = item.as_table_like()
            && accepts(schema, "object")
        {
            return self.table(item, table, schema);
        }
        if let Some(array) = item.as_array()
            && accepts(schema, "array")
        {
            for value in array {
                self.item(&Item::Value(value.clone()), &schema["items"]);
            }
            return;
        }
        if let Some(tables) = item.as_array_of_tables()
            && accepts(schema, "array")
        {
            for table in tables {
                self.item(&Item::Table(table.clone()), &schema["items"]);
            }
            return;
        }
        let types = type_names(schema);
        if !types.is_empty() && !types.iter().any(|name| has_type(item, name)) {
            let expected =
                types.iter().map(|name| type_label(name)).collect::<Vec<_>>().join(" or ");
            self.report(item, format!("expected {expected}, not {}", item_label(item)));
            return;
        }
        self.scalar(item, schema);
    }

    /// Checks the bounds of a number and the words of an enumeration.
    fn scalar(&mut self, item: &Item, schema: &'static Json) {
        if let Some(number) = item.as_integer() {
            let minimum = schema["minimum"].as_i64();
            let maximum = schema["maximum"].as_i64();
            if let Some(minimum) = minimum.filter(|minimum| number < *minimum) {
                self.report(item, format!("{number} is too small; the least is {minimum}"));
            } else if let Some(maximum) = maximum.filter(|maximum| number > *maximum) {
                self.report(item, format!("{number} is too large; the most is {maximum}"));
            }
        }
        if let (Some(word), Some(known)) = (item.as_str(), schema["enum"].as_array()) {
            let known: Vec<&str> = known.iter().filter_map(Json::as_str).collect();
            if !known.contains(&word) {
                self.report(item, unknown_name("value", word, known));
            }
        }
    }

    fn table(&mut self, item: &Item, table: &dyn TableLike, schema: &'static Json) {
        let properties = schema["properties"].as_object();
        let open = &schema["additionalProperties"];
        for (key, value) in table.iter() {
            match properties.and_then(|known| known.get(key)) {
                Some(schema) => self.item(value, schema),
                None if open.is_object() => self.item(value, open),
                None if *open == Json::Bool(true) || (properties.is_none() && open.is_null()) => {}
                None => {
                    let known = properties.into_iter().flatten().map(|(key, _)| key.as_str());
                    let at = table.key(key).and_then(toml_edit::Key::span).or(value.span());
                    let problem = self.source.problem(at, unknown_name("key", key, known));
                    self.problems.push(problem);
                }
            }
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if !table.contains_key(name) {
                let message = match description(properties, name) {
                    Some(meaning) => format!("`{name}` is missing: {meaning}"),
                    None => format!("`{name}` is missing"),
                };
                self.report(item, message);
            }
        }
    }

    /// Checks an item that may have one of several forms: the words of an enumeration, or
    /// tables with one key each.
    fn choice(&mut self, item: &Item, choices: &[&'static Json]) {
        let words: Vec<&str> = choices
            .iter()
            .flat_map(|choice| {
                let listed = choice["enum"].as_array().into_iter().flatten();
                listed.chain(choice.get("const")).filter_map(Json::as_str)
            })
            .collect();
        let fitting: Vec<&&Json> = choices
            .iter()
            .filter(|choice| type_names(choice).iter().any(|name| has_type(item, name)))
            .collect();
        if let Some(word) = item.as_str()
            && !words.is_empty()
        {
            if !words.contains(&word) {
                self.report(item, unknown_name("value", word, words));
            }
            return;
        }
        if let Some(table) = item.as_table_like() {
            let key = table.iter().next().map(|(key, _)| key.to_owned());
            let by_key = fitting.iter().find(|choice| {
                key.as_deref().is_some_and(|key| choice["properties"].get(key).is_some())
            });
            if let Some(choice) = by_key.or(fitting.first()) {
                return self.item(item, choice);
            }
        }
        if let [only] = fitting[..] {
            return self.item(item, only);
        }
        if fitting.is_empty() {
            let keys = choices.iter().filter_map(|choice| choice["properties"].as_object());
            let keys = keys.flatten().map(|(key, _)| format!("{{ {key} = … }}"));
            let words = words.iter().map(|word| format!("`{word}`"));
            let forms: Vec<String> = words.chain(keys).collect();
            let labels = choices.iter().flat_map(|choice| type_names(choice));
            let labels = labels.map(|name| type_label(name).to_owned()).collect::<Vec<_>>();
            let expected = if forms.is_empty() { labels } else { forms }.join(" or ");
            self.report(item, format!("expected {expected}, not {}", item_label(item)));
        }
    }

    fn report(&mut self, item: &Item, message: String) {
        let problem = self.source.problem(item.span().or_else(|| table_span(item)), message);
        self.problems.push(problem);
    }
}

/// Returns the forms that a schema allows, without `null`, if it lists several.
fn alternatives(schema: &'static Json) -> Option<Vec<&'static Json>> {
    let listed = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    let forms: Vec<&Json> =
        listed.iter().map(resolve).filter(|form| form["type"] != "null").collect();
    // An optional value of an enumeration nests two lists.
    Some(
        forms
            .into_iter()
            .flat_map(|form| alternatives(form).unwrap_or_else(|| vec![form]))
            .collect(),
    )
}

fn accepts(schema: &Json, name: &str) -> bool {
    let types = type_names(schema);
    types.is_empty() || types.contains(&name)
}

fn type_names(schema: &Json) -> Vec<&str> {
    match &schema["type"] {
        Json::String(name) => vec![name],
        Json::Array(names) => {
            names.iter().filter_map(Json::as_str).filter(|name| *name != "null").collect()
        }
        _ if schema.get("properties").is_some() => vec!["object"],
        _ if schema.get("const").is_some() => vec!["string"],
        _ => Vec::new(),
    }
}

fn has_type(item: &Item, name: &str) -> bool {
    match name {
        "object" => item.is_table_like(),
        "array" => item.is_array() || item.is_array_of_tables(),
        "string" => item.is_str() || item.is_datetime(),
        "integer" => item.is_integer(),
        "number" => item.is_integer() || item.is_float(),
        "boolean" => item.is_bool(),
        _ => false,
    }
}

fn type_label(name: &str) -> &str {
    match name {
        "object" => "a table",
        "array" => "a list",
        "string" => "a text in quotes",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        other => other,
    }
}

fn item_label(item: &Item) -> &'static str {
    match item {
        Item::None => "nothing",
        Item::Table(_) => "a table",
        Item::ArrayOfTables(_) => "a list of tables",
        Item::Value(value) => match value {
            Value::String(_) => "a text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number with a fraction",
            Value::Boolean(_) => "true or false",
            Value::Datetime(_) => "a date",
            Value::Array(_) => "a list",
            Value::InlineTable(_) => "a table",
        },
    }
}

/// Returns the first sentence of a field's description.
fn description(properties: Option<&serde_json::Map<String, Json>>, name: &str) -> Option<String> {
    let text = properties?.get(name)?["description"].as_str()?;
    Some(text.split(". ").next().unwrap_or(text).trim_end_matches('.').replace('\n', " "))
}
