//! The gate: the only maker of [`Authorized`], and so the only way to a tool.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::gate::{AllowReason, GateFacts, Verdict, decide, decide_approved};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::history::ToolCall;
use crate::outcome::{Outcome, Status};

/// A call that may run. It cannot be made elsewhere, stored or copied:
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
    /// The call.
    pub const fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Why it may run.
    pub const fn why(&self) -> AllowReason {
        self.why
    }

    /// The arguments as a tool wants them. What does not fit is an outcome that
    /// the model can correct.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, Outcome> {
        T::deserialize(&self.call.arguments).map_err(|error| {
            Outcome::of(Status::Invalid, format!("These arguments do not fit: {error}."))
        })
    }
}

/// Whether a person has said yes to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    /// Nobody was asked.
    None,
    /// A person said yes to exactly this.
    Given,
}

/// Lets a call through, or says why not. The verdict is there in both cases, for
/// the record.
pub(crate) fn pass(
    call: ToolCall,
    approval: Approval,
    facts: &GateFacts<'_>,
) -> (Verdict, Result<Authorized, ToolCall>) {
    let verdict = match approval {
        Approval::None => decide(&call.name, facts),
        Approval::Given => decide_approved(&call.name, facts),
    };
    let passed = match verdict {
        Verdict::Allow(why) => Ok(Authorized { call, why }),
        Verdict::Ask(_) | Verdict::Deny(_) => Err(call),
    };
    (verdict, passed)
}

/// The fingerprint of arguments: the same for the same values, in whatever order
/// an object's members come.
pub fn fingerprint(tool: &str, arguments: &Value) -> ArgumentsHash {
    let mut hash = Sha256::new();
    hash.update(tool.as_bytes());
    hash.update([0]);
    feed(&mut hash, arguments);
    ArgumentsHash(hash.finalize().into())
}

/// Every value begins with a letter for its kind and its length, so that no two
/// different values feed the same bytes.
fn feed(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(value) => hash.update(if *value { b"t" } else { b"f" }),
        Value::Number(number) => feed_text(hash, b"d", &number.to_string()),
        Value::String(text) => feed_text(hash, b"s", text),
        Value::Array(items) => {
            hash.update(b"a");
            hash.update((items.len() as u64).to_be_bytes());
            items.iter().for_each(|item| feed(hash, item));
        }
        Value::Object(members) => {
            hash.update(b"o");
            hash.update((members.len() as u64).to_be_bytes());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, member) in members {
                feed_text(hash, b"k", name);
                feed(hash, member);
            }
        }
    }
}

fn feed_text(hash: &mut Sha256, kind: &[u8], text: &str) {
    hash.update(kind);
    hash.update((text.len() as u64).to_be_bytes());
    hash.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::fingerprint;
    use serde_json::json;

    /// D06: an approval is bound to the values and not to how they were written.
    #[test]
    fn d06_a_fingerprint_tells_values_apart() {
        let print = |value| fingerprint("refund", &value);
        let one = print(json!({"a": 1, "b": [true, null]}));
        assert_eq!(one, print(json!({"b": [true, null], "a": 1})));
        for other in [
            json!({"a": "1", "b": [true, null]}),
            json!({"a": 1, "b": [null, true]}),
            json!({"a": 1, "b": [[true], null]}),
            json!({"a": 1}),
            json!({"ab": 1}),
        ] {
            assert_ne!(one, print(other.clone()), "{other}");
        }
        assert_ne!(fingerprint("refund", &json!({})), fingerprint("refunds", &json!({})));
        assert_ne!(print(json!(["a", "b"])), print(json!(["ab"])));
    }
}
