//! Which messages a search finds: those with a word that begins with each word of the query.

use crate::knowledge::tokenizer::tokenize;

/// The most words of a query that count.
const MAX_WORDS: usize = 12;

/// The words of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageQuery(Vec<String>);

impl MessageQuery {
    /// Returns the words of a query, or `None` if it has none.
    pub fn new(query: &str) -> Option<Self> {
        let mut words: Vec<String> = tokenize(query).into_iter().map(|word| word.text).collect();
        words.sort_unstable();
        words.dedup();
        words.truncate(MAX_WORDS);
        (!words.is_empty()).then_some(Self(words))
    }

    /// Returns whether a text has all the words. Case and accents do not matter.
    pub fn finds(&self, text: &str) -> bool {
        let found = tokenize(text);
        let has = |wanted: &String| found.iter().any(|word| word.text.starts_with(wanted));
        self.0.iter().all(has)
    }

    /// Returns the words.
    pub fn words(&self) -> &[String] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::MessageQuery;

    #[test]
    fn u02_a_search_finds_beginnings_of_words_in_any_order() {
        let text = "Ich hätte gern das Geld für den kaputten KAFFEE-Vollautomaten zurück!";
        for (query, expected) in [
            ("kaffee geld", true),
            ("vollauto", true),
            ("zuruck hatte", true),
            ("Geld, geld", true),
            ("automaten", false),
            ("kaffee tee", false),
        ] {
            let query = MessageQuery::new(query).unwrap();
            assert_eq!(query.finds(text), expected, "{query:?}");
        }
        assert_eq!(MessageQuery::new(" … !"), None);
    }
}
