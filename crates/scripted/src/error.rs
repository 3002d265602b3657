//! Script errors: the position, and what to write instead.

use std::fmt;

use serde_saphyr::{Error, Location};

/// The reason why a script cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read {file}: {why}; examples/scripts/support.yaml is a script to start from")]
    Unreadable { file: String, why: String },
    #[error("{file}:{line}:{column}: {message}")]
    Invalid {
        file: String,
        /// Starts at 1.
        line: u64,
        /// Starts at 1.
        column: u64,
        /// What is wrong, and what to write instead.
        message: String,
    },
}

/// An error at a position; the file name is added by [`ParseError::in_file`].
#[derive(Debug)]
pub(super) struct ParseError {
    location: Location,
    message: String,
}

impl ParseError {
    pub(super) fn new(location: Location, message: impl fmt::Display) -> Self {
        Self { location, message: message.to_string() }
    }

    pub(super) fn in_file(self, file: &str) -> ScriptError {
        ScriptError::Invalid {
            file: file.to_owned(),
            line: self.location.line().max(1),
            column: self.location.column().max(1),
            message: self.message,
        }
    }
}

impl From<Error> for ParseError {
    fn from(error: Error) -> Self {
        Self::new(error.location().unwrap_or(Location::UNKNOWN), describe(&error))
    }
}

/// Returns the message of an error, without its position.
pub(super) fn describe(error: &Error) -> String {
    let expected = |what: &str| format!("{what} is expected here");
    match error.without_snippet() {
        Error::AliasError { error, .. } => describe(error),
        Error::Message { msg, .. } => msg.clone(),
        Error::SerdeUnknownField { field, expected, .. } => {
            format!("unknown key `{field}`; {}", suggest(field, expected))
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => {
            format!("unknown word `{variant}`; {}", suggest(variant, expected))
        }
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("duplicate key `{key}`"),
        Error::QuotingRequired { .. } => "a text is expected here; put it in quotes".to_owned(),
        Error::NullIntoString { .. } => expected("a text"),
        Error::SerdeInvalidType { expected: what, .. } => expected(what),
        Error::InvalidBooleanStrict { .. } => expected("`true` or `false`"),
        Error::InvalidScalar { ty: "floating point", .. } => expected("a number"),
        Error::InvalidScalar { .. } => expected("a whole number"),
        Error::Unexpected { expected: "mapping start", .. } => expected("a mapping"),
        Error::Unexpected { expected: "sequence start", .. } => expected("a list"),
        Error::Unexpected { expected: "string scalar", .. } => expected("a single value"),
        other => {
            let text = other.to_string();
            // The position is reported separately.
            format!("this is not YAML: {}", text.split(" at line ").next().unwrap_or(&text))
        }
    }
}

/// Returns a hint for an unknown word: the most similar known one, or all of them.
pub(super) fn suggest(word: &str, known: &[&str]) -> String {
    let likeness = |known: &str| strsim::jaro_winkler(word, known);
    let best = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best.filter(|best| likeness(best) > 0.8) {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!("there are: {}", known.join(", ")),
    }
}
