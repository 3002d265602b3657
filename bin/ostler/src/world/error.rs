//! Errors in a world file, with the file, the line and what was expected.

use std::ops::Range;

/// The text of a world file and its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceFile<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

/// Why a world cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorldError {
    #[error("cannot read {file}: {cause}; examples/harbour.toml is an example")]
    Unreadable { file: String, cause: std::io::Error },
    #[error("{location}: {message}")]
    Invalid {
        /// The file, with the line if it is known.
        location: String,
        message: String,
    },
}

impl SourceFile<'_> {
    /// Returns an error at a position in the file.
    pub(super) fn error_at(&self, at: Range<usize>, message: impl Into<String>) -> WorldError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        WorldError::Invalid { location: format!("{}:{line}", self.name), message: message.into() }
    }

    /// Returns an error about the file as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> WorldError {
        WorldError::Invalid { location: self.name.to_owned(), message: message.into() }
    }
}

/// Formats an error about an unknown name, with the most similar name or all names.
pub(crate) fn unknown_name<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = match (closest(name, &known), &known[..]) {
        (Some(close), _) => format!("did you mean `{close}`?"),
        (None, []) => "there is none".to_owned(),
        (None, all) => format!("there are: {}", all.join(", ")),
    };
    format!("no {kind} `{name}`; {hint}")
}

/// Returns the known name that is most similar to a name, if it is similar enough.
fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let similarity = |known: &str| strsim::jaro_winkler(name, known);
    let best = known.iter().copied().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(best) > 0.85).then_some(best)
}
