//! The gate: the only place that creates [`Authorized`] calls, and so the only way
//! to run a tool.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::gate::{AllowReason, GateDecision, GateFacts, decide, decide_approved};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::history::ToolCall;
use crate::outcome::{OutcomeStatus, ToolOutcome};

/// A call that may run. It cannot be created elsewhere, stored or copied:
///
/// ```compile_fail
/// # fn call() -> ostler_engine::history::ToolCall { unimplemented!() }
/// use ostler_domain::gate::AllowReason;
/// let forged = ostler_engine::gate::Authorized { call: call(), why: AllowReason::Approved };
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Authorized {
    call: ToolCall,
    why: AllowReason,
}

impl Authorized {
    /// Returns the call.
    pub const fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the reason for which the call may run.
    pub const fn why(&self) -> &AllowReason {
        &self.why
    }

    /// Deserializes the arguments.
    ///
    /// # Errors
    ///
    /// Returns an outcome that tells the model what to correct.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, ToolOutcome> {
        T::deserialize(&*self.call.arguments).map_err(|error| {
            ToolOutcome::new(
                OutcomeStatus::Invalid,
                format!("These arguments are invalid: {error}."),
            )
        })
    }
}

/// Whether a person has approved a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    None,
    /// A person approved exactly these arguments.
    Given,
}

/// Authorizes a call, unless the decision is another. The decision is returned in both
/// cases, for the record.
pub(crate) fn authorize(
    call: &ToolCall,
    approval: Approval,
    facts: &GateFacts<'_>,
) -> (GateDecision, Option<Authorized>) {
    let decision = match approval {
        Approval::None => decide(&call.name, facts),
        Approval::Given => decide_approved(&call.name, facts),
    };
    let authorized = match &decision {
        GateDecision::Allow(why) => Some(Authorized { call: call.clone(), why: why.clone() }),
        GateDecision::Ask(_) | GateDecision::Deny(_) => None,
    };
    (decision, authorized)
}

/// Returns a hash of a tool name and its arguments. It does not depend on the order
/// of object members.
pub fn fingerprint(tool: &str, arguments: &Value) -> ArgumentsHash {
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    hash_value(&mut hash, arguments);
    ArgumentsHash(hash.finalize().into())
}

/// Prefixes every value with its kind and length, so that no two different values
/// produce the same bytes.
fn hash_value(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(value) => hash.update(if *value { b"t" } else { b"f" }),
        Value::Number(number) => hash_text(hash, b"d", &number.to_string()),
        Value::String(text) => hash_text(hash, b"s", text),
        Value::Array(items) => {
            hash.update(b"a");
            hash.update((items.len() as u64).to_be_bytes());
            items.iter().for_each(|item| hash_value(hash, item));
        }
        Value::Object(members) => {
            hash.update(b"o");
            hash.update((members.len() as u64).to_be_bytes());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, member) in members {
                hash_text(hash, b"k", name);
                hash_value(hash, member);
            }
        }
    }
}

fn hash_text(hash: &mut Sha256, kind: &[u8], text: &str) {
    hash.update(kind);
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::fingerprint;
    use serde_json::json;

    /// D06: an approval is bound to the values, not to their formatting.
    #[test]
    fn d06_a_fingerprint_distinguishes_values() {
        let hash = |value| fingerprint("refund", &value);
        let first = hash(json!({"a": 1, "b": [true, null]}));
        assert_eq!(first, hash(json!({"b": [true, null], "a": 1})));
        for other in [
            json!({"a": "1", "b": [true, null]}),
            json!({"a": 1, "b": [null, true]}),
            json!({"a": 1, "b": [[true], null]}),
            json!({"a": 1}),
            json!({"ab": 1}),
        ] {
            assert_ne!(first, hash(other.clone()), "{other}");
        }
        assert_ne!(fingerprint("refund", &json!({})), fingerprint("refunds", &json!({})));
        assert_ne!(hash(json!(["a", "b"])), hash(json!(["ab"])));
    }
}
