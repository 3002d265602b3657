//! Which conversations refer to which blobs, so that erasing one conversation keeps
//! the blobs that another refers to.

use std::collections::BTreeSet;

use ostler_domain::id::{BlobId, ConversationId, OrgId};

use crate::backend::Statement;
use crate::backend::sql::{Sql, sql};

const ADD: Sql = sql!(
    "INSERT INTO blob_uses (org, conversation, blob) VALUES (?1, ?2, ?3)
     ON CONFLICT (org, conversation, blob) DO NOTHING"
);

/// The statements that record the blobs a message refers to, for the transaction
/// that stores the message.
pub(crate) fn record_uses(
    org: OrgId,
    conversation: ConversationId,
    message: &str,
) -> Vec<Statement> {
    let add = |blob: BlobId| Statement {
        sql: &ADD,
        params: vec![org.into(), conversation.into(), blob.into()],
        on_no_rows: None,
    };
    blobs_in(message).into_iter().map(add).collect()
}

/// Returns the blobs that a JSON text refers to: every `blob` field in it.
pub(crate) fn blobs_in(text: &str) -> BTreeSet<BlobId> {
    let mut found = BTreeSet::new();
    // Nearly all messages have none and need not be parsed.
    if text.contains(BlobId::PREFIX)
        && let Ok(json) = serde_json::from_str(text)
    {
        collect(&json, &mut found);
    }
    found
}

fn collect(json: &serde_json::Value, found: &mut BTreeSet<BlobId>) {
    match json {
        serde_json::Value::Object(fields) => {
            let blob = fields.get("blob").and_then(serde_json::Value::as_str);
            found.extend(blob.and_then(|blob| blob.parse::<BlobId>().ok()));
            fields.values().for_each(|field| collect(field, found));
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use ostler_domain::id::BlobId;

    use super::blobs_in;

    #[test]
    fn blobs_are_found_at_any_depth_of_a_message() {
        let [one, two] = [BlobId::from_u128(1), BlobId::from_u128(2)];
        let check = |text: String, expected: &[BlobId]| {
            assert_eq!(blobs_in(&text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        };
        check(format!(r#"{{"blob":"{one}"}}"#), &[one]);
        check(
            format!(r#"{{"parts":[{{"blob": "{two}"}},{{"a":{{"blob":"{one}"}}}}]}}"#),
            &[one, two],
        );
        check(format!(r#"{{"text":"{one}"}}"#), &[]);
        check(format!(r#"{{"text":"{{\"blob\":\"{one}\"}}"}}"#), &[]);
        check(r#"{"blob":"blb_1"}"#.into(), &[]);
        check(format!("not JSON, blob {one}"), &[]);
    }
}
