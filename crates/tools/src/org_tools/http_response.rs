//! What the answer of an HTTP tool's system means for the model.

use ostler_domain::tool::Risk;
use ostler_domain::tool::http::{HttpTool, StatusMeaning};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use serde_json::Value;

/// The most characters of an answer that explains an error.
const MAX_ERROR_CHARS: usize = 1000;

/// An answer, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
    /// Whether the body has more bytes than were read.
    pub(super) truncated: bool,
}

/// Returns the outcome that an answer stands for.
pub(super) fn outcome(tool: &HttpTool, answer: &HttpAnswer) -> ToolOutcome {
    let status = answer.status;
    let text = String::from_utf8_lossy(&answer.body);
    let error = match error_excerpt(&text) {
        excerpt if excerpt.is_empty() => format!("(status {status})"),
        excerpt => format!("(status {status}): {excerpt}"),
    };
    match tool.response.meaning(status) {
        StatusMeaning::Success => ToolOutcome::ok(result_text(tool, answer, &text)),
        StatusMeaning::Refused => {
            let text = format!("The system refused, and nothing was done {error}");
            ToolOutcome::new(OutcomeStatus::Refused, text)
        }
        StatusMeaning::NotFound => {
            let text = format!("The system knows nothing by that name {error}");
            ToolOutcome::new(OutcomeStatus::NotFound, text)
        }
        StatusMeaning::Failed => ToolOutcome::failed(format!("The system did not do it {error}")),
        StatusMeaning::Unclear => unanswered(tool, format!("The system failed {error}")),
    }
}

/// Returns the outcome of a call without a usable answer: unknown, unless the tool only
/// reads or is idempotent.
pub(super) fn unanswered(tool: &HttpTool, text: String) -> ToolOutcome {
    if tool.risk == Risk::Read || tool.idempotent {
        return ToolOutcome::failed(text);
    }
    let text = format!("{text} It is not known whether the call took effect.");
    ToolOutcome::new(OutcomeStatus::OutcomeUnknown, text)
}

/// Returns what the model reads of a successful answer.
fn result_text(tool: &HttpTool, answer: &HttpAnswer, text: &str) -> String {
    let status = answer.status;
    if text.trim().is_empty() {
        return format!("Done (status {status}).");
    }
    if std::str::from_utf8(&answer.body).is_err() && !answer.truncated {
        return format!("Done (status {status}). The answer is not text.");
    }
    let pointers = &tool.response.result;
    if pointers.is_empty() {
        return text.to_owned();
    }
    let Ok(json) = serde_json::from_str::<Value>(text) else {
        return format!("Done (status {status}). The answer cannot be read as JSON.");
    };
    let found = pointers.iter().filter_map(|pointer| Some((pointer, json.pointer(pointer)?)));
    let found: Vec<(&String, &Value)> = found.collect();
    match found.as_slice() {
        [] => format!("Done (status {status}). The answer has no {}.", pointers.join(" or ")),
        [(_, value)] if pointers.len() == 1 => plain(value),
        several => {
            let line = |(pointer, value): &(&String, &Value)| {
                let name = pointer.rsplit('/').next().unwrap_or(pointer);
                format!("{name}: {}", plain(value))
            };
            several.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the beginning of an answer that explains an error. Pages for people are left out.
fn error_excerpt(text: &str) -> String {
    let text = text.trim();
    if text.starts_with('<') {
        return String::new();
    }
    text.chars().filter(|c| !c.is_control() || *c == '\n').take(MAX_ERROR_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::{HttpAnswer, outcome};
    use ostler_domain::tool::http::HttpTool;
    use ostler_engine::outcome::OutcomeStatus;
    use serde_json::{Value, json};

    fn answered(changes: &Value, status: u16, body: &str) -> (OutcomeStatus, String) {
        let mut tool = json!({"name": "t", "description": "d", "risk": "write", "method": "POST",
            "url": "https://shop.example"});
        for (name, value) in changes.as_object().unwrap() {
            tool[name] = value.clone();
        }
        let tool: HttpTool = serde_json::from_value(tool).unwrap();
        let answer = HttpAnswer { status, body: body.into(), truncated: false };
        let outcome = outcome(&tool, &answer);
        (outcome.status, outcome.content)
    }

    #[test]
    fn o18_the_status_decides_the_outcome() {
        use OutcomeStatus::{Failed, NotFound, Ok, OutcomeUnknown, Refused};
        let plain = json!({});
        for (changes, status, expected) in [
            (&plain, 200, Ok),
            (&plain, 204, Ok),
            (&plain, 307, Failed),
            (&plain, 401, Failed),
            (&plain, 404, NotFound),
            (&plain, 409, Refused),
            (&plain, 500, OutcomeUnknown),
            (&json!({"idempotent": true}), 500, Failed),
            (&json!({"risk": "read"}), 500, Failed),
            (&json!({"response": {"failed": [500]}}), 500, Failed),
        ] {
            assert_eq!(answered(changes, status, "").0, expected, "{changes} {status}");
        }
    }

    #[test]
    fn o18_the_model_reads_what_the_pointers_name() {
        let check = |result: Value, body: &str, expected: &str| {
            let changes = json!({"response": {"result": result}});
            assert_eq!(answered(&changes, 200, body), (OutcomeStatus::Ok, expected.to_owned()));
        };
        let body = r#"{"order": {"status": "sent", "items": [1, 2]}}"#;
        check(json!([]), body, body);
        check(json!(["/order/status"]), body, "sent");
        check(json!(["/order/status", "/order/items", "/x"]), body, "status: sent\nitems: [1,2]");
        check(json!(["/x"]), body, "Done (status 200). The answer has no /x.");
        check(json!(["/x"]), "<html>", "Done (status 200). The answer cannot be read as JSON.");
        check(json!([]), " ", "Done (status 200).");
        let page = answered(&json!({}), 404, "<html>not here</html>").1;
        assert_eq!(page, "The system knows nothing by that name (status 404)");
    }
}
