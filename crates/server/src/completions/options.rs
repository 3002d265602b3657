//! Options of the OpenAI API that a request may have. What an agent may do is decided by its
//! harness, so most of them are not for callers. One that would change what the caller gets is
//! refused; one that only tunes the model is ignored.

use serde_json::{Map, Value};

use super::error::ChatError;

/// Options that only tune the model, which is configured for the agent.
const IGNORED: [&str; 14] = [
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "seed",
    "reasoning_effort",
    "verbosity",
    "service_tier",
    "parallel_tool_calls",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prompt_cache_options",
    "detail",
];

/// Checks the options of a request. Those without a value are ignored.
pub(super) fn check(options: &Map<String, Value>) -> Result<(), ChatError> {
    for (name, value) in options {
        if let Some(why) = refusal(name, value) {
            return Err(ChatError::unsupported(name, why));
        }
    }
    Ok(())
}

/// Returns why an option is refused.
fn refusal(name: &str, value: &Value) -> Option<String> {
    if is_unset(value) || IGNORED.contains(&name) {
        return None;
    }
    let why = match name {
        "tools" | "functions" => {
            "the agent has its own tools, which run on the server; tools of the client are not \
             called, leave `tools` out"
        }
        "tool_choice" | "function_call" => {
            if matches!(value.as_str(), Some("auto" | "none")) {
                return None;
            }
            "the agent decides itself which of its tools it calls"
        }
        "n" if *value == 1 => return None,
        "n" => "an agent gives one answer; send the request several times for more",
        "response_format" if value["type"] == "text" => return None,
        "response_format" => {
            "an agent answers in text; say in the message which form you need, and check it"
        }
        "logprobs" | "top_logprobs" | "logit_bias" => {
            "an answer may be of several model calls and has no probabilities of tokens"
        }
        "stop" => "an answer cannot be cut at a word; cut it yourself",
        "modalities" if *value == serde_json::json!(["text"]) => return None,
        "modalities" | "audio" => "an agent answers in text only",
        "prediction" => "predicted output is not supported",
        "web_search_options" => "whether an agent searches the web is decided by its tools",
        "store" => "every run is recorded on the server anyway; leave `store` out",
        other => return Some(format!("there is no option `{other}`")),
    };
    Some(why.to_owned())
}

/// Returns whether a value is the same as none.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(true) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;

    fn refused(name: &str, value: Value) -> bool {
        check(&[(name.to_owned(), value)].into_iter().collect()).is_err()
    }

    /// K04: what cannot be honoured and would mislead is refused with a sentence.
    #[test]
    fn k04_options_that_would_mislead_are_refused() {
        for (name, value, expected) in [
            ("tools", json!([{"type": "function", "function": {"name": "f"}}]), true),
            ("tools", json!([]), false),
            ("functions", json!([{"name": "f"}]), true),
            ("tool_choice", json!("required"), true),
            ("tool_choice", json!("auto"), false),
            ("n", json!(2), true),
            ("n", json!(1), false),
            ("response_format", json!({"type": "json_object"}), true),
            ("response_format", json!({"type": "text"}), false),
            ("stop", json!(["\n"]), true),
            ("stop", Value::Null, false),
            ("logprobs", json!(true), true),
            ("logprobs", json!(false), false),
            ("modalities", json!(["text"]), false),
            ("modalities", json!(["text", "audio"]), true),
            ("store", json!(true), true),
            ("temperature", json!(0.7), false),
            ("reasoning_effort", json!("low"), false),
            ("no_such_option", json!(1), true),
        ] {
            assert_eq!(refused(name, value.clone()), expected, "{name}: {value}");
        }
    }
}
