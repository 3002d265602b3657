//! What is wrong with a script: the file, the place, and what to write instead.

use std::fmt;

/// Why a script cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read {file}: {why}; examples/scripts/support.yaml is a script to start from")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
    /// The script says something that cannot be.
    #[error("{file}:{line}:{column}: {what}")]
    Wrong {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: u64,
        /// What is wrong, and what to write instead.
        what: String,
    },
}

/// A place in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

/// Something wrong at a place; the file is added by whoever knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) at: Place,
    pub(super) what: String,
}

impl Wrong {
    pub(super) fn new(at: Place, what: impl fmt::Display) -> Self {
        Self { at, what: what.to_string() }
    }

    pub(super) fn in_file(self, file: &str) -> ScriptError {
        let Place { line, column } = self.at;
        ScriptError::Wrong { file: file.to_owned(), line, column, what: self.what }
    }
}

/// What to say of a word that is none of the known ones.
pub(super) fn unknown(word: &str, known: &[&str]) -> String {
    let likeness = |known: &str| strsim::jaro_winkler(word, known);
    let best = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best.filter(|best| likeness(best) > 0.8) {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!("there are: {}", known.join(", ")),
    }
}
