//! The actors of the audit log, and what it says of refused requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{AgentId, KeyId, UserId};

/// The actor of an audited action.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AuditActor {
    /// A user who is logged in.
    User(UserId),
    /// A client with an API key.
    Key(KeyId),
    /// The command line on the machine itself.
    Terminal,
    Agent(AgentId),
    /// The runtime.
    System,
}

/// The action of an entry about a refused request.
pub const REFUSED: &str = "refused";
/// The action of an entry which says that further refusals of the hour are not listed.
pub const REFUSALS_UNLISTED: &str = "refusals_unlisted";
/// How many refusals of one conversation or key are listed in an hour.
pub const REFUSALS_PER_SOURCE: u64 = 200;
/// How many refusals are listed in an hour in one org.
pub const REFUSALS_PER_ORG: u64 = 5000;

/// The longest text that is taken for the name of a record.
const MAX_NAME: usize = 64;

/// Returns the record that the arguments of a call name: the first text that looks like an id
/// or a number. What customers write, and addresses, do not get into the log.
pub fn named_record(arguments: &Value) -> Option<&str> {
    let is_name = |text: &str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_#".contains(letter);
        text.len() <= MAX_NAME
            && text.chars().all(is_part)
            && text.contains(|letter: char| letter.is_ascii_digit())
    };
    let values = arguments.as_object()?.values();
    values.filter_map(Value::as_str).find(|text| is_name(text))
}

#[cfg(test)]
mod tests {
    use super::named_record;
    use serde_json::{Value, json};

    #[test]
    fn s01_a_refusal_names_ids_and_numbers_only() {
        let check = |arguments: Value, expected| assert_eq!(named_record(&arguments), expected);
        check(json!({"order": "A2"}), Some("A2"));
        check(json!({"order": "#1001", "reason": "late"}), Some("#1001"));
        check(json!({"reason": "it broke", "booking_id": "rec_01j4"}), Some("rec_01j4"));
        check(json!({"query": "otto@example.com"}), None);
        check(json!({"query": "Otto Weber 2"}), None);
        check(json!({"query": "Otto"}), None);
        check(json!({"limit": 5}), None);
        check(json!({"note": "1".repeat(65)}), None);
        check(json!("A2"), None);
    }
}
