//! The YAML block at the start of a Markdown file.

use serde::de::DeserializeOwned;

/// A mistake in a file that people have written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {why}")]
pub struct ContextError {
    pub path: String,
    /// The number of the line, from 1.
    pub line: u64,
    pub why: String,
}

/// A file that begins with a YAML block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatter<T> {
    pub(super) fields: T,
    /// The text after the block.
    pub(super) body: String,
}

const DELIMITER: &str = "---";

/// Parses a file whose first line is `---`. Fails with the line of the mistake.
pub(super) fn parse<T: DeserializeOwned>(
    path: &str,
    text: &str,
) -> Result<FrontMatter<T>, ContextError> {
    let error = |line, why: String| ContextError { path: path.to_owned(), line, why };
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(DELIMITER) {
        return Err(error(1, "the file must begin with a line `---`".to_owned()));
    }
    let (mut block, mut is_closed) = (String::new(), false);
    for line in lines.by_ref() {
        if line.trim_end() == DELIMITER {
            is_closed = true;
            break;
        }
        block.push_str(line);
    }
    if !is_closed {
        return Err(error(1, "the block that begins here has no closing `---`".to_owned()));
    }
    let fields = serde_saphyr::from_str(&block).map_err(|mistake| {
        // The block begins in the second line of the file.
        let line = mistake.location().map_or(1, |location| location.line() + 1);
        error(line, first_line(&mistake.to_string()))
    })?;
    Ok(FrontMatter { fields, body: lines.collect() })
}

/// Returns the number of the line that sets a field, or 1.
pub(super) fn line_of(text: &str, field: &str) -> u64 {
    let is_field = |line: &str| {
        line.strip_prefix(field).is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    text.lines().zip(1..).find(|(line, _)| is_field(line)).map_or(1, |(_, number)| number)
}

fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}
