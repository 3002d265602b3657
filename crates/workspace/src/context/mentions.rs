//! `@path` in a prompt: the content of the file comes with it.

use std::collections::BTreeSet;
use std::ops::Range;

use ostler_engine::history::Content;

use crate::context::images::{self, MAX_IMAGE_BYTES};
use crate::error::WorkspaceError;
use crate::files::{Files, LineRange, ListQuery};

/// The most bytes of one file.
const MAX_FILE_BYTES: usize = 64 * 1024;
/// The most bytes of all files of a prompt.
const MAX_TOTAL_BYTES: usize = 256 * 1024;
const MAX_LISTED: usize = 200;

/// A path that a prompt mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMention {
    /// Where it is in the text, with the `@`.
    pub range: Range<usize>,
    pub path: String,
}

/// A prompt with the files that it mentions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExpandedPrompt {
    /// The text as it was written, then a part for each file.
    pub content: Vec<Content>,
    /// The files that were added.
    pub files: Vec<String>,
    /// What could not be added, in sentences.
    pub problems: Vec<String>,
}

/// Finds `@path` and `@"path with spaces"` in a text. An `@` inside a word, as in an e-mail
/// address, is none; punctuation at the end is not part of the path.
pub fn find_mentions(text: &str) -> Vec<FileMention> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(offset) = text[at..].find('@') {
        let start = at + offset;
        let before = text[..start].chars().next_back();
        let rest = &text[start + 1..];
        at = start + 1;
        if before.is_some_and(|c| !c.is_whitespace() && !"([{<\"'".contains(c)) {
            continue;
        }
        let (path, length) = match rest.strip_prefix('"') {
            Some(quoted) => match quoted.split_once('"') {
                Some((path, _)) => (path, path.len() + 2),
                None => continue,
            },
            None => {
                let end = rest.find(|c: char| c.is_whitespace() || "\"'`<>|".contains(c));
                let word = &rest[..end.unwrap_or(rest.len())];
                let path = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}']);
                (path, path.len())
            }
        };
        if !path.is_empty() && !path.starts_with('@') {
            at = start + 1 + length;
            found.push(FileMention { range: start..at, path: path.to_owned() });
        }
    }
    found
}

/// Adds the files that a prompt mentions: the text of files, the names of files in directories,
/// images as images. A name that is not in the workspace stays as it was written; a path that is
/// not there is a problem.
pub fn expand_mentions(files: &Files, prompt: &str) -> ExpandedPrompt {
    let mut expanded =
        ExpandedPrompt { content: vec![Content::text(prompt)], ..ExpandedPrompt::default() };
    let (mut seen, mut room) = (BTreeSet::new(), MAX_TOTAL_BYTES);
    for mention in find_mentions(prompt) {
        let path = mention.path;
        if !seen.insert(path.clone()) {
            continue;
        }
        match part_of(files, &path, room.min(MAX_FILE_BYTES)) {
            Ok(part) => {
                if let Content::Text { text } = &part {
                    room = room.saturating_sub(text.len());
                }
                expanded.content.push(part);
                expanded.files.push(path);
            }
            // Somebody's name, or a decorator in code.
            Err(WorkspaceError::NotFound { .. } | WorkspaceError::NotADirectory { .. })
                if !looks_like_a_path(&path) => {}
            Err(error) => expanded.problems.push(format!("@{path} was not added: {error}.")),
        }
    }
    expanded
}

/// Returns whether a mention is meant as a path: it has a directory or an extension.
fn looks_like_a_path(mention: &str) -> bool {
    let extension = mention.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_extension =
        (1..=5).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_alphanumeric());
    mention.contains('/') || is_extension
}

fn part_of(files: &Files, path: &str, max_bytes: usize) -> Result<Content, WorkspaceError> {
    let relative = files.relative(path)?;
    let metadata = files.dir().metadata(&relative);
    let metadata = metadata.map_err(|error| WorkspaceError::from_io(&relative, error))?;
    if metadata.is_dir() {
        return directory_part(files, path);
    }
    let range = LineRange { first: 1, max_lines: u64::MAX, max_bytes };
    let read = match files.read_lines(path, range) {
        Err(WorkspaceError::Binary { size, .. }) if size <= MAX_IMAGE_BYTES => {
            let bytes = files.read_bytes(path, MAX_IMAGE_BYTES)?;
            return match images::media_type(&bytes) {
                Some(media_type) => Ok(images::part(path, media_type, &bytes)),
                None => Err(WorkspaceError::Binary { path: path.to_owned(), size }),
            };
        }
        read => read?,
    };
    let rest = if read.has_more {
        format!("\n[The file has {} bytes; only its beginning is here]\n", read.size)
    } else {
        String::new()
    };
    Ok(Content::text(format!("<file path=\"{path}\">\n{}{rest}</file>", read.text)))
}

fn directory_part(files: &Files, path: &str) -> Result<Content, WorkspaceError> {
    let query = ListQuery { path: path.to_owned(), pattern: None, max_entries: MAX_LISTED };
    let list = files.list(&query)?;
    let names: Vec<String> =
        list.entries.iter().map(|entry| entry.path.display().to_string()).collect();
    let rest = if list.has_more { "\n[There are more]" } else { "" };
    Ok(Content::text(format!(
        "<directory path=\"{path}\">\n{}{rest}\n</directory>",
        names.join("\n")
    )))
}

#[cfg(test)]
mod tests {
    use super::find_mentions;
    use proptest::prelude::*;

    #[test]
    fn mentions_are_found() {
        for (text, paths) in [
            ("see @src/main.rs.", vec!["src/main.rs"]),
            ("@a and @b, (@c)", vec!["a", "b", "c"]),
            ("mail rosa@example.com", vec![]),
            ("@\"my notes.md\" please", vec!["my notes.md"]),
            ("@\"open", vec![]),
            ("@ @@ @.", vec![]),
            ("what is in @src/?", vec!["src/"]),
            ("@größe.txt", vec!["größe.txt"]),
        ] {
            let found: Vec<String> =
                find_mentions(text).into_iter().map(|mention| mention.path).collect();
            assert_eq!(found, paths, "{text}");
        }
    }

    proptest! {
        /// Any text is parsed, and mentions are where they say.
        #[test]
        fn property_mentions_are_parts_of_the_text(text in ".{0,80}") {
            let mut end = 0;
            for mention in find_mentions(&text) {
                prop_assert!(mention.range.start >= end);
                end = mention.range.end;
                prop_assert!(text[mention.range].starts_with('@'));
            }
        }
    }
}
