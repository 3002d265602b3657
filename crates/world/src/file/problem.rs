//! What is wrong in a file, and where.

use std::fmt;

/// Something that is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The line of the file, and the length of the part that is wrong.
    pub excerpt: String,
    pub length: usize,
    /// What is wrong and what is expected.
    pub message: String,
}

impl Problem {
    /// Leaves out the text of the file.
    #[must_use]
    pub fn without_excerpt(self) -> Self {
        Self { excerpt: String::new(), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, excerpt, length, message } = self;
        write!(f, "{file}:{line}:{column}: {message}")?;
        if excerpt.is_empty() {
            return Ok(());
        }
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let indent: String =
            excerpt.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let marks = "^".repeat((*length).max(1));
        write!(f, "\n{margin} |\n{number} | {excerpt}\n{margin} | {indent}{marks}")
    }
}

/// Everything that is wrong in a set of files; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
