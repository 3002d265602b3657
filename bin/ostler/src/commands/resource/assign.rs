//! Assignments on the command line: `team.max_handoffs=2`.

use std::str::FromStr;

use serde_json::{Map, Value};

/// A field and its new value, such as `team.max_handoffs=2`. The value is written as in a
/// world file; a text needs no quotes. An empty value removes the field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    path: Vec<String>,
    value: Value,
}

impl Assignment {
    /// Makes an assignment.
    pub(crate) fn new(path: &str, value: impl Into<Value>) -> Self {
        Self { path: path.split('.').map(str::to_owned).collect(), value: value.into() }
    }

    /// Returns the assignment to a field inside another.
    #[must_use]
    pub(crate) fn inside(&self, prefix: &str) -> Self {
        let path = prefix.split('.').map(str::to_owned).chain(self.path.clone()).collect();
        Self { path, value: self.value.clone() }
    }

    /// Returns the field, such as `team.max_handoffs`.
    pub(crate) fn key(&self) -> String {
        self.path.join(".")
    }

    /// Returns the assignment of the same value to another field.
    #[must_use]
    pub(crate) fn renamed(&self, path: &str) -> Self {
        Self::new(path, self.value.clone())
    }

    /// Sets the field in a value.
    pub(crate) fn apply(&self, value: &mut Value) {
        let Some((last, tables)) = self.path.split_last() else { return };
        let mut at = value;
        for key in tables {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[key.as_str()];
        }
        match (at, &self.value) {
            (Value::Object(fields), Value::Null) => {
                fields.remove(last);
            }
            (at, new) => {
                if !at.is_object() {
                    *at = Value::Object(Map::new());
                }
                at[last.as_str()] = new.clone();
            }
        }
    }
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('=').filter(|(path, _)| !path.trim().is_empty());
        let (path, value) = parsed.ok_or("write KEY=VALUE, such as team.max_handoffs=2")?;
        Ok(Self::new(path.trim(), parse_value(value.trim())))
    }
}

/// Parses a value as in a world file; what is none is a text.
fn parse_value(text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    let parsed: Result<toml::Table, _> = toml::from_str(&format!("value = {text}"));
    let value = parsed.ok().and_then(|mut table| table.remove("value"));
    value.and_then(|value| serde_json::to_value(value).ok()).unwrap_or_else(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::Assignment;
    use serde_json::{Value, json};

    #[test]
    fn values_are_written_as_in_a_file_and_texts_need_no_quotes() {
        let table = [
            ("plan=pro", json!({"plan": "pro"})),
            ("team.max_handoffs=2", json!({"plan": "free", "team": {"max_handoffs": 2}})),
            ("team.a=true", json!({"plan": "free", "team": {"a": true}})),
            (
                "tools.deny=[\"a\", \"b\"]",
                json!({"plan": "free", "team": null, "tools": {"deny": ["a", "b"]}}),
            ),
            ("plan=\"a b\"", json!({"plan": "a b"})),
            ("plan=", json!({})),
        ];
        for (text, expected) in table {
            let mut value: Value = json!({"plan": "free", "team": null});
            text.parse::<Assignment>().unwrap().apply(&mut value);
            if let (Some(fields), None) = (value.as_object_mut(), expected.get("team")) {
                fields.remove("team");
            }
            assert_eq!(value, expected, "{text}");
        }
        assert!("plan".parse::<Assignment>().is_err());
        assert!("=x".parse::<Assignment>().is_err());
    }
}
