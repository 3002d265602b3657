//! Conditions of a query on records.

use std::cmp::Ordering;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A condition on a field.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    /// The field. Use dots for nested fields, such as price.currency.
    #[schemars(length(min = 1, max = 100))]
    field: String,
    /// The comparison.
    op: Comparison,
    /// The value to compare with: a text, a number, true or false. Times are texts
    /// such as 2026-11-20T18:30:00Z.
    value: Scalar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Comparison {
    /// Equal, ignoring upper and lower case.
    Eq,
    /// Not equal, or missing.
    Ne,
    /// The text contains it, or the list has it as an entry.
    Contains,
    /// Greater, or later.
    Gt,
    /// Greater or equal.
    Gte,
    /// Less, or earlier.
    Lt,
    /// Less or equal.
    Lte,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Scalar {
    Text(#[schemars(length(max = 500))] String),
    Number(f64),
    Bool(bool),
}

impl Condition {
    pub(crate) fn matches(&self, record: &Value) -> bool {
        let found = lookup(record, &self.field);
        match self.op {
            Comparison::Eq => self.compare(found) == Some(Ordering::Equal),
            Comparison::Ne => self.compare(found) != Some(Ordering::Equal),
            Comparison::Contains => self.contains(found),
            Comparison::Gt => self.compare(found) == Some(Ordering::Greater),
            Comparison::Gte => self.compare(found).is_some_and(Ordering::is_ge),
            Comparison::Lt => self.compare(found) == Some(Ordering::Less),
            Comparison::Lte => self.compare(found).is_some_and(Ordering::is_le),
        }
    }

    /// Compares a field with the value. Returns `None` if they cannot be compared.
    fn compare(&self, found: &Value) -> Option<Ordering> {
        match (found, &self.value) {
            (Value::String(found), Scalar::Text(expected)) => {
                let times = found.parse::<Timestamp>().ok().zip(expected.parse::<Timestamp>().ok());
                Some(match times {
                    Some((found, expected)) => found.cmp(&expected),
                    None => found.to_lowercase().cmp(&expected.to_lowercase()),
                })
            }
            (Value::Number(found), Scalar::Number(expected)) => {
                found.as_f64()?.partial_cmp(expected)
            }
            (Value::Bool(found), Scalar::Bool(expected)) => Some(found.cmp(expected)),
            _ => None,
        }
    }

    fn contains(&self, found: &Value) -> bool {
        match (found, &self.value) {
            (Value::String(found), Scalar::Text(expected)) => {
                found.to_lowercase().contains(&expected.to_lowercase())
            }
            (Value::Array(items), _) => {
                items.iter().any(|item| self.compare(item) == Some(Ordering::Equal))
            }
            _ => false,
        }
    }
}

/// Returns the value at a path of field names, or null.
pub(crate) fn lookup<'v>(record: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(record, |value, name| value.get(name).unwrap_or(&Value::Null))
}

#[cfg(test)]
mod tests {
    use super::Condition;
    use serde_json::{Value, json};

    #[test]
    fn conditions_compare_values_of_the_same_type() {
        let record = json!({
            "name": "Pizza Margherita", "active": true, "tags": ["Vegetarian", "hot"],
            "stock": 12, "price": { "currency": "EUR" }, "starts_at": "2026-11-20T18:30:00Z",
        });
        let check = |field: &str, op: &str, value: Value, expected: bool| {
            let condition = json!({ "field": field, "op": op, "value": value });
            let parsed: Condition = serde_json::from_value(condition.clone()).unwrap();
            assert_eq!(parsed.matches(&record), expected, "{condition}");
        };
        check("name", "eq", json!("pizza margherita"), true);
        check("name", "contains", json!("MARGH"), true);
        check("name", "ne", json!("Pasta"), true);
        check("active", "eq", json!(true), true);
        check("active", "eq", json!("true"), false);
        check("tags", "contains", json!("vegetarian"), true);
        check("tags", "contains", json!("veg"), false);
        check("stock", "gt", json!(11.5), true);
        check("stock", "lte", json!(11), false);
        check("price.currency", "eq", json!("eur"), true);
        check("price.amount", "eq", json!("1"), false);
        check("missing", "ne", json!(1), true);
        check("missing", "lt", json!(1), false);
        // The same moment with another offset.
        check("starts_at", "eq", json!("2026-11-20T19:30:00+01:00"), true);
        check("starts_at", "gte", json!("2026-11-20T19:31:00+01:00"), false);
    }
}
