//! Faults: model errors before the model name is known, with messages that are safe
//! to show.

use std::time::Duration;

use ostler_engine::model::{ModelError, ModelErrorKind};
use ostler_engine::secret::Secret;

/// The length limit of a provider's error message.
const MAX_CHARS: usize = 300;

/// A model error without the model name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: ModelErrorKind,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
}

impl Fault {
    pub(crate) fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// The stream ended before the answer was complete.
    pub(crate) fn incomplete() -> Self {
        Self::new(ModelErrorKind::Incomplete, "the answer ended before it was complete")
    }

    /// The response could not be parsed.
    pub(crate) fn malformed(detail: impl std::fmt::Display) -> Self {
        // The text may quote the response, which may be long.
        let detail = sanitize_message(&detail.to_string());
        Self::new(
            ModelErrorKind::Malformed,
            format!("the response is not a valid answer: {detail}"),
        )
    }

    /// The provider reported an error.
    pub(crate) fn from_status(status: u16, message: &str) -> Self {
        let message = sanitize_message(message);
        let message = match status {
            // Some providers quote the key here.
            401 | 403 => format!("the provider refused the key (HTTP {status})"),
            _ if message.is_empty() => format!("the provider answered with HTTP {status}"),
            _ => format!("the provider answered with HTTP {status}: {message}"),
        };
        Self::new(ModelErrorKind::Status(status), message)
    }

    /// Removes the API key from the message.
    pub(crate) fn redacted(mut self, key: Option<&Secret>) -> Self {
        if let Some(key) = key {
            self.message = key.redact(&self.message);
        }
        self
    }

    pub(crate) fn for_model(self, model: &str) -> ModelError {
        let Self { kind, message, retry_after } = self;
        ModelError { model: model.to_owned(), kind, message, retry_after }
    }
}

/// Reduces a provider's message to one short line without anything that looks like
/// a key.
pub(crate) fn sanitize_message(message: &str) -> String {
    let mut sanitized = String::new();
    for word in message.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !sanitized.is_empty() {
            sanitized.push(' ');
        }
        let word = word.get(..MAX_CHARS).unwrap_or(word);
        sanitized.push_str(if looks_secret(word) { "[hidden]" } else { word });
        if sanitized.len() > MAX_CHARS {
            sanitized.truncate(sanitized.floor_char_boundary(MAX_CHARS));
            sanitized.push('…');
            break;
        }
    }
    sanitized
}

fn looks_secret(word: &str) -> bool {
    let bare = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    bare.starts_with("sk-") || bare.starts_with("Bearer")
}

#[cfg(test)]
mod tests {
    use super::{Fault, sanitize_message};

    #[test]
    fn provider_messages_are_sanitized() {
        let check = |message: &str, expected: &str| assert_eq!(sanitize_message(message), expected);
        check("too\n many\u{7} requests ", "too many requests");
        check("Incorrect key: sk-proj-abc.", "Incorrect key: [hidden]");
        check("got 'sk-ant-1' here", "got [hidden] here");
        assert!(sanitize_message(&"ä".repeat(1000)).len() <= 310);
        assert!(sanitize_message(&"word ".repeat(1000)).len() <= 310);
    }

    #[test]
    fn a_refused_key_is_never_quoted() {
        let message = Fault::from_status(401, "the key ABCDEF is wrong").message;
        assert_eq!(message, "the provider refused the key (HTTP 401)");
    }
}
