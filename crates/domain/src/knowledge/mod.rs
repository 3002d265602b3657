//! Knowledge: the documents of an org and the full-text search over them.
//!
//! The full-text indexes of the databases are not used: they split words
//! differently, rank one org's documents by those of others, and PostgreSQL does
//! not use them under row-level security.
//!
//! Which documents go into a prompt is decided in [`crate::prompt::knowledge`].

pub mod search;
pub mod tokenizer;

use std::collections::BTreeSet;

/// The longest title, in characters.
pub const MAX_TITLE_CHARS: usize = 200;
/// The longest body, in bytes.
pub const MAX_BODY_BYTES: usize = 256 * 1024;
/// The most tags of a document.
pub const MAX_TAGS: usize = 32;
/// The longest tag, in characters.
pub const MAX_TAG_CHARS: usize = 64;

/// A document within the limits. Its tags are clean, and it has no NUL characters,
/// which not every database stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    title: String,
    body: String,
    tags: BTreeSet<String>,
}

/// The reason why a document is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("a document needs a title")]
    NoTitle,
    #[error("a title has at most {MAX_TITLE_CHARS} characters")]
    LongTitle,
    #[error("a document has at most {MAX_BODY_BYTES} bytes; divide it into several")]
    LongBody,
    #[error("a document has at most {MAX_TAGS} tags")]
    ManyTags,
    #[error("a tag has at most {MAX_TAG_CHARS} characters")]
    LongTag,
}

impl Document {
    /// Makes a document. Cleans the tags and drops empty ones.
    pub fn new<'t>(
        title: &str,
        body: &str,
        tags: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, DocumentError> {
        let title = title.trim().replace('\0', "");
        let tags: BTreeSet<String> =
            tags.into_iter().map(clean_tag).filter(|tag| !tag.is_empty()).collect();
        if title.is_empty() {
            Err(DocumentError::NoTitle)
        } else if title.chars().count() > MAX_TITLE_CHARS {
            Err(DocumentError::LongTitle)
        } else if body.len() > MAX_BODY_BYTES {
            Err(DocumentError::LongBody)
        } else if tags.len() > MAX_TAGS {
            Err(DocumentError::ManyTags)
        } else if tags.iter().any(|tag| tag.chars().count() > MAX_TAG_CHARS) {
            Err(DocumentError::LongTag)
        } else {
            Ok(Self { title, body: body.replace('\0', ""), tags })
        }
    }

    /// Returns the title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the body.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the clean tags.
    pub const fn tags(&self) -> &BTreeSet<String> {
        &self.tags
    }
}

/// Normalizes a tag for comparison: trimmed, in lower case, without control
/// characters.
pub fn clean_tag(tag: &str) -> String {
    let visible: String = tag.chars().filter(|c| !c.is_control()).collect();
    visible.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{Document, DocumentError, MAX_BODY_BYTES, MAX_TAG_CHARS, MAX_TITLE_CHARS};

    #[test]
    fn a_new_document_has_clean_title_body_and_tags() {
        let tags = [" Menu", "menu ", "", " \t", "Wine\0"];
        let made = Document::new(" Our\0 menu ", "Pizza\0\n", tags).unwrap();
        assert_eq!((made.title(), made.body()), ("Our menu", "Pizza\n"));
        assert_eq!(made.tags(), &["menu", "wine"].map(String::from).into());
        let again =
            Document::new(made.title(), made.body(), made.tags().iter().map(String::as_str));
        assert_eq!(again, Ok(made));
    }

    #[test]
    fn a_document_over_a_limit_is_refused() {
        let check = |title: &str, body: &str, tags: &[String], expected| {
            let made = Document::new(title, body, tags.iter().map(String::as_str));
            assert_eq!(made.err(), expected);
        };
        let long = |length: usize| "é".repeat(length);
        let tags = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        check(&long(MAX_TITLE_CHARS), &"x".repeat(MAX_BODY_BYTES), &tags(32), None);
        check(" \0", "", &[], Some(DocumentError::NoTitle));
        check(&long(MAX_TITLE_CHARS + 1), "", &[], Some(DocumentError::LongTitle));
        check("t", &"x".repeat(MAX_BODY_BYTES + 1), &[], Some(DocumentError::LongBody));
        check("t", "", &tags(33), Some(DocumentError::ManyTags));
        check("t", "", &[long(MAX_TAG_CHARS + 1)], Some(DocumentError::LongTag));
    }
}
