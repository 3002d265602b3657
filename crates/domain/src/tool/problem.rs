//! A mistake in the definition of a tool.

use std::fmt;

/// A mistake in the definition of a tool, as a sentence, with the field that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolProblem {
    /// The path of the field: `headers.Authorization`.
    pub field: String,
    pub message: String,
}

impl ToolProblem {
    /// Creates a problem of a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for ToolProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
