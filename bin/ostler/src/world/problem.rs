//! What is wrong with a world file: the file, the line, what was expected.

use std::ops::Range;

/// A world file and its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

/// Why a world cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorldError {
    /// The file cannot be read.
    #[error("cannot read {file}: {cause}; examples/harbour.toml is a world to start from")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        cause: std::io::Error,
    },
    /// The file says something that cannot be.
    #[error("{place}: {what}")]
    Wrong {
        /// File and line.
        place: String,
        /// What is wrong, and what was expected.
        what: String,
    },
}

impl Source<'_> {
    /// An error at a place in the file.
    pub(super) fn wrong(&self, at: Range<usize>, what: impl Into<String>) -> WorldError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        WorldError::Wrong { place: format!("{}:{line}", self.name), what: what.into() }
    }

    /// An error of the file as a whole.
    pub(super) fn wrong_whole(&self, what: impl Into<String>) -> WorldError {
        WorldError::Wrong { place: self.name.to_owned(), what: what.into() }
    }
}

/// What to say of an unknown name: the likely one, else all there are.
pub(crate) fn unknown<'a>(
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

/// The known name that an unknown one was probably meant to be.
fn closest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |known: &str| strsim::jaro_winkler(name, known);
    let best = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) > 0.85).then_some(best)
}
