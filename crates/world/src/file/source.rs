//! A file and the positions in it.

use std::ops::Range;

use toml_edit::{Document, Item, TomlError};

use super::problem::Problem;
use ostler_domain::secret::may_hold_secret;

/// A file, with the position of every value.
#[derive(Debug)]
pub struct Source {
    name: String,
    document: Document<String>,
    /// Where the lines end.
    line_ends: Vec<usize>,
}

impl Source {
    /// Parses a file as TOML.
    pub fn new(name: &str, text: &str) -> Result<Self, Problem> {
        let document = Document::parse(text.to_owned());
        match document {
            Ok(document) => {
                let line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
                Ok(Self { name: name.to_owned(), document, line_ends })
            }
            Err(error) => Err(syntax_error(name, text, &error)),
        }
    }

    /// Returns the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn root(&self) -> &Item {
        self.document.as_item()
    }

    /// Returns a problem at a range of the file.
    pub(crate) fn problem(&self, at: Option<Range<usize>>, message: String) -> Problem {
        problem_at(&self.name, self.document.raw(), at, message)
    }

    /// Returns the line of a position, counted from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.line_ends.partition_point(|end| *end < at) + 1
    }

    /// Returns where a field of a table is, such as `tools.deny[0]`: its value, or else the
    /// nearest table or key around it. An entry of a list is found by number or by text.
    pub(crate) fn find(&self, table: &Item, path: &str) -> Option<Range<usize>> {
        let mut at = table_span(table);
        let mut item = table.clone();
        for step in steps(path) {
            let next = match (item.as_array(), step.parse::<usize>()) {
                (Some(list), Err(_)) => {
                    let entry = list.iter().find(|entry| entry.as_str() == Some(step));
                    entry.cloned().map(Item::Value)
                }
                (_, Ok(index)) => item.get(index).cloned(),
                (None, Err(_)) => item.get(step).cloned(),
            };
            let Some(next) = next else { break };
            at = next.span().or(at);
            item = next;
        }
        at
    }
}

/// Splits `tools.deny[0]` into `tools`, `deny` and `0`.
fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split(['.', '[', ']']).filter(|step| !step.is_empty() && *step != "?")
}

/// Returns the position of a table: its header, or its first line.
pub(super) fn table_span(table: &Item) -> Option<Range<usize>> {
    table.span()
}

fn syntax_error(name: &str, text: &str, error: &TomlError) -> Problem {
    problem_at(name, text, error.span(), error.message().trim_end().replace('\n', ", "))
}

fn problem_at(name: &str, text: &str, at: Option<Range<usize>>, message: String) -> Problem {
    let at = at.unwrap_or(0..0);
    let start = floor_boundary(text, at.start);
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let rest = &text[line_start..];
    let excerpt = rest.lines().next().unwrap_or_default();
    let line_end = line_start + excerpt.len();
    let end = floor_boundary(text, at.end.clamp(start, line_end.max(start)));
    Problem {
        file: name.to_owned(),
        line: before.matches('\n').count() + 1,
        column: text[line_start..start].chars().count() + 1,
        excerpt: if may_hold_secret(excerpt) { String::new() } else { excerpt.to_owned() },
        length: text[start..end].chars().count(),
        message,
    }
}

/// Returns the start of the character at a position.
fn floor_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
