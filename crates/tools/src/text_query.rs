//! Search by words.

use ostler_domain::knowledge::tokenizer::tokenize;

/// The words of a search.
pub(crate) struct TextQuery(Vec<String>);

impl TextQuery {
    /// Splits a text into words. Without words the query matches everything.
    pub(crate) fn new(text: Option<&str>) -> Self {
        Self(tokenize(text.unwrap_or_default()).into_iter().map(|word| word.text).collect())
    }

    /// Returns whether each word of the query is the beginning of a word of the texts.
    pub(crate) fn matches<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let words: Vec<String> =
            texts.into_iter().flat_map(tokenize).map(|word| word.text).collect();
        self.0.iter().all(|prefix| words.iter().any(|word| word.starts_with(prefix.as_str())))
    }
}
