//! A failure before it is known whose it is, and in words that may be shown.

use std::time::Duration;

use ostler_engine::model::{ModelError, ModelErrorKind};
use ostler_engine::secret::Secret;

/// The most characters of what a provider says about a failure.
const MOST: usize = 300;

/// A failure without the name of its model.
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

    /// The stream ended before the answer did.
    pub(crate) fn cut() -> Self {
        Self::new(ModelErrorKind::Cut, "the answer ended in the middle")
    }

    /// What came cannot be read.
    pub(crate) fn malformed(what: impl std::fmt::Display) -> Self {
        // The words may quote what came, and that may be long.
        let what = presentable(&what.to_string());
        Self::new(ModelErrorKind::Malformed, format!("what came is not an answer: {what}"))
    }

    /// The provider says that it failed, and how.
    pub(crate) fn said(status: u16, words: &str) -> Self {
        let words = presentable(words);
        let message = match status {
            // Some providers quote the key here.
            401 | 403 => format!("the provider refused the key (HTTP {status})"),
            _ if words.is_empty() => format!("the provider answered with HTTP {status}"),
            _ => format!("the provider answered with HTTP {status}: {words}"),
        };
        Self::new(ModelErrorKind::Status(status), message)
    }

    /// The same without the key that was sent.
    pub(crate) fn without(mut self, key: Option<&Secret>) -> Self {
        if let Some(key) = key {
            self.message = key.hide_in(&self.message);
        }
        self
    }

    pub(crate) fn of(self, model: &str) -> ModelError {
        let Self { kind, message, retry_after } = self;
        ModelError { model: model.to_owned(), kind, message, retry_after }
    }
}

/// What a provider said, on one line, short, and without anything that looks
/// like a key.
pub(crate) fn presentable(words: &str) -> String {
    let mut shown = String::new();
    for word in words.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !shown.is_empty() {
            shown.push(' ');
        }
        let word = word.get(..MOST).unwrap_or(word);
        shown.push_str(if looks_secret(word) { "[hidden]" } else { word });
        if shown.len() > MOST {
            shown.truncate(shown.floor_char_boundary(MOST));
            shown.push('…');
            break;
        }
    }
    shown
}

fn looks_secret(word: &str) -> bool {
    let bare = word.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    bare.starts_with("sk-") || bare.starts_with("Bearer")
}

#[cfg(test)]
mod tests {
    use super::{Fault, presentable};

    #[test]
    fn what_a_provider_says_is_made_presentable() {
        let check = |words: &str, expected: &str| assert_eq!(presentable(words), expected);
        check("too\n many\u{7} requests ", "too many requests");
        check("Incorrect key: sk-proj-abc.", "Incorrect key: [hidden]");
        check("got 'sk-ant-1' here", "got [hidden] here");
        assert!(presentable(&"ä".repeat(1000)).len() <= 310);
        assert!(presentable(&"word ".repeat(1000)).len() <= 310);
    }

    #[test]
    fn nothing_is_quoted_when_a_key_is_refused() {
        let said = Fault::said(401, "the key ABCDEF is wrong").message;
        assert_eq!(said, "the provider refused the key (HTTP 401)");
    }
}
