//! Errors in the configuration: the place, and what to do.

use ostler_world::unknown_name;

/// Why a configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub(crate) struct ConfigError {
    /// The file with line and column, or the name of a variable.
    pub(crate) place: String,
    pub(crate) message: String,
}

impl ConfigError {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    /// Returns the error at the place in a file that the parser names.
    pub(super) fn in_file(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let place = match error.span() {
            Some(span) => {
                let before = text.get(..span.start).unwrap_or(text);
                let line = before.matches('\n').count() + 1;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                format!("{file}:{line}:{column}")
            }
            None => file.to_owned(),
        };
        Self::new(place, message(error))
    }

    /// Returns the error in the value of a variable.
    pub(super) fn in_variable(variable: &str, error: &toml::de::Error) -> Self {
        Self::new(variable, message(error))
    }
}

/// Returns the message of a parser for people. An unknown key gets the most similar known one.
fn message(error: &toml::de::Error) -> String {
    let text = error.message().trim();
    let quoted = || text.split('`').skip(1).step_by(2);
    match (text.starts_with("unknown field"), quoted().next()) {
        (true, Some(name)) => unknown_name("key", name, quoted().skip(1)),
        _ => text.to_owned(),
    }
}
