//! Conditions on records.

use std::cmp::Ordering;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A condition on a field.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    /// The field; fields inside fields with dots, such as price.currency.
    #[schemars(length(min = 1, max = 100))]
    field: String,
    /// How it is compared.
    op: Comparison,
    /// What it is compared with: a text, a number, true or false. Times are texts
    /// such as 2026-11-20T18:30:00Z.
    value: Scalar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Comparison {
    /// Equal, whatever the case of letters.
    Eq,
    /// Not equal, or not there.
    Ne,
    /// The text has it in it, or the list has it as an entry.
    Contains,
    /// More, or later.
    Gt,
    /// As much or more.
    Gte,
    /// Less, or earlier.
    Lt,
    /// As much or less.
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
    pub(crate) fn holds(&self, record: &Value) -> bool {
        let found = lookup(record, &self.field);
        match self.op {
            Comparison::Eq => self.order(found) == Some(Ordering::Equal),
            Comparison::Ne => self.order(found) != Some(Ordering::Equal),
            Comparison::Contains => self.contained(found),
            Comparison::Gt => self.order(found) == Some(Ordering::Greater),
            Comparison::Gte => self.order(found).is_some_and(Ordering::is_ge),
            Comparison::Lt => self.order(found) == Some(Ordering::Less),
            Comparison::Lte => self.order(found).is_some_and(Ordering::is_le),
        }
    }

    /// How what is there compares to the value; none if they cannot be compared.
    fn order(&self, found: &Value) -> Option<Ordering> {
        match (found, &self.value) {
            (Value::String(found), Scalar::Text(wanted)) => {
                let times = found.parse::<Timestamp>().ok().zip(wanted.parse::<Timestamp>().ok());
                Some(match times {
                    Some((found, wanted)) => found.cmp(&wanted),
                    None => found.to_lowercase().cmp(&wanted.to_lowercase()),
                })
            }
            (Value::Number(found), Scalar::Number(wanted)) => found.as_f64()?.partial_cmp(wanted),
            (Value::Bool(found), Scalar::Bool(wanted)) => Some(found.cmp(wanted)),
            _ => None,
        }
    }

    fn contained(&self, found: &Value) -> bool {
        match (found, &self.value) {
            (Value::String(found), Scalar::Text(wanted)) => {
                found.to_lowercase().contains(&wanted.to_lowercase())
            }
            (Value::Array(items), _) => {
                items.iter().any(|item| self.order(item) == Some(Ordering::Equal))
            }
            _ => false,
        }
    }
}

/// What a path of fields leads to.
pub(crate) fn lookup<'v>(record: &'v Value, path: &str) -> &'v Value {
    path.split('.').fold(record, |value, name| value.get(name).unwrap_or(&Value::Null))
}

#[cfg(test)]
mod tests {
    use super::Condition;
    use serde_json::{Value, json};

    #[test]
    fn conditions_compare_what_can_be_compared() {
        let record = json!({
            "name": "Pizza Margherita", "active": true, "tags": ["Vegetarian", "hot"],
            "stock": 12, "price": { "currency": "EUR" }, "starts_at": "2026-11-20T18:30:00Z",
        });
        let check = |field: &str, op: &str, value: Value, expected: bool| {
            let condition = json!({ "field": field, "op": op, "value": value });
            let parsed: Condition = serde_json::from_value(condition.clone()).unwrap();
            assert_eq!(parsed.holds(&record), expected, "{condition}");
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
        // The same moment, written elsewhere.
        check("starts_at", "eq", json!("2026-11-20T19:30:00+01:00"), true);
        check("starts_at", "gte", json!("2026-11-20T19:31:00+01:00"), false);
    }
}
