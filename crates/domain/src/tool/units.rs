//! How many units a call has, for tools that are priced by units: `send_bulk_email` by the
//! recipient. The number follows from the arguments, so that it is known before the call.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a tool is priced by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricedUnits {
    /// What one unit is called: `recipient`.
    pub name: String,
    /// The argument that lists the units.
    pub list: String,
    /// The argument with the most units of a call that lists none.
    pub limit: String,
    /// The most units where neither argument is given.
    pub default_limit: u32,
    /// The most units of any call.
    pub max: u32,
}

impl PricedUnits {
    /// Returns how many units a call with these arguments has at most. It has one at least.
    pub fn most(&self, arguments: &Value) -> u32 {
        let listed = arguments[self.list.as_str()].as_array().map_or(0, Vec::len);
        let wanted = match listed {
            0 => arguments[self.limit.as_str()].as_u64().unwrap_or(self.default_limit.into()),
            listed => listed as u64,
        };
        u32::try_from(wanted).unwrap_or(u32::MAX).clamp(1, self.max.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::PricedUnits;
    use serde_json::{Value, json};

    /// E01: the number of units is known from the arguments and has bounds.
    #[test]
    fn e01_the_units_of_a_call_follow_from_its_arguments() {
        let text = str::to_owned;
        let units = PricedUnits {
            name: text("recipient"),
            list: text("to"),
            limit: text("limit"),
            default_limit: 100,
            max: 1000,
        };
        let check = |arguments: Value, expected| {
            assert_eq!(units.most(&arguments), expected, "{arguments}");
        };
        check(json!({"to": ["a", "b"]}), 2);
        check(json!({"to": ["a", "b"], "limit": 9}), 2);
        check(json!({"tag": "x"}), 100);
        check(json!({"tag": "x", "limit": 7}), 7);
        check(json!({"tag": "x", "to": [], "limit": 7}), 7);
        check(json!({"limit": 0}), 1);
        check(json!({"limit": -1}), 100);
        check(json!({"limit": "many"}), 100);
        check(json!({"limit": u64::MAX}), 1000);
        check(json!({"to": vec!["a"; 2000]}), 1000);
        check(json!([]), 100);
        check(Value::Null, 100);
    }
}
