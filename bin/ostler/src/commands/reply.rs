//! Formats the replies of queue agents.

use ostler_bus::{Envelope, EnvelopeKind};
use ostler_runtime::agents::coordination::{CoordinationMessage as _, PlanRejected};
use serde_json::Value;

/// Returns the answer and the reason in a reply.
pub(crate) fn format_reply(reply: &Envelope) -> (String, String) {
    format_payload(&reply.message.kind, &reply.message.payload)
}

/// Returns the answer and the reason in the payload of a reply: its `answer` or `text`, and its
/// `reason`; a rejected plan says so. Any other payload is returned as JSON.
pub(crate) fn format_payload(kind: &EnvelopeKind, payload: &Value) -> (String, String) {
    let text = |name: &str| payload.get(name).and_then(Value::as_str).map(str::to_owned);
    let answer = text("answer").or_else(|| text("text"));
    let answer = answer.or_else(|| payload.as_str().map(str::to_owned));
    let reason = text("reason").map(|reason| format!("\"{reason}\""));
    if PlanRejected::is(kind) {
        return ("rejected".to_owned(), reason.unwrap_or_default());
    }
    (answer.unwrap_or_else(|| payload.to_string()), reason.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use ostler_bus::Envelope;
    use ostler_domain::reference::ReferenceCode;
    use ostler_domain::time::UtcDay;
    use serde_json::{Value, json};

    use super::format_reply;

    #[test]
    fn replies_show_answer_and_reason() {
        let check = |payload: Value, expected: (&str, &str)| {
            let code = ReferenceCode::new(UtcDay::default(), 1);
            let (answer, reason) = format_reply(&Envelope::new("opinion", payload, code));
            assert_eq!((answer.as_str(), reason.as_str()), expected);
        };
        check(
            json!({ "answer": "no", "reason": "the token is logged" }),
            ("no", "\"the token is logged\""),
        );
        check(json!({ "text": "hello" }), ("hello", ""));
        check(json!("yes"), ("yes", ""));
        check(json!({ "n": 4 }), ("{\"n\":4}", ""));
    }
}
