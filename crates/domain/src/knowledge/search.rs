//! Full-text search: ranks the documents for a query and cuts excerpts.
//!
//! The store loads the posting list of each query word; everything else is decided
//! here, so that all databases return the same results.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::tokenizer::tokenize;
use crate::id::DocumentId;

/// The maximum number of words of a query that are looked up.
pub const MAX_QUERY_WORDS: usize = 24;
/// The maximum number of documents in a posting list; those with the highest weight
/// come first.
pub const MAX_DOCUMENTS_PER_WORD: u32 = 300;

/// The maximum length of an excerpt, and of its part before the word, in
/// characters.
const EXCERPT_CHARS: usize = 240;
const CONTEXT_CHARS: usize = 60;

/// Returns the distinct words to look up for a query. Of too many, the longest are
/// kept, because short words are in every document.
pub fn query_words(query: &str) -> Vec<String> {
    let distinct: BTreeSet<String> = tokenize(query).into_iter().map(|word| word.text).collect();
    let mut chosen: Vec<String> = distinct.into_iter().collect();
    chosen.sort_by_key(|word| Reverse(word.chars().count()));
    chosen.truncate(MAX_QUERY_WORDS);
    chosen
}

/// The documents that contain a word, each with the weight of the word in it. `K`
/// identifies a document, which may be any text that is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostingList<K = DocumentId> {
    pub word: String,
    pub documents: Vec<(K, u32)>,
}

/// A document that matches a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentMatch<K = DocumentId> {
    pub document: K,
    /// Higher is better.
    pub relevance: u32,
}

/// Ranks documents, best first. Rarer words count more. `documents` is the number
/// of all documents, counted up to the length of a posting list.
pub fn rank<K: Ord + Copy>(lists: &[PostingList<K>], documents: u32) -> Vec<DocumentMatch<K>> {
    let mut scores: BTreeMap<K, u64> = BTreeMap::new();
    for postings in lists {
        let rarity = inverse_frequency(postings.documents.len() as u64, u64::from(documents));
        for (document, weight) in &postings.documents {
            *scores.entry(*document).or_default() += rarity * u64::from(*weight);
        }
    }
    let relevance = |score: u64| u32::try_from(score).unwrap_or(u32::MAX);
    let mut ranked: Vec<DocumentMatch<K>> = scores
        .into_iter()
        .map(|(document, score)| DocumentMatch { document, relevance: relevance(score) })
        .collect();
    ranked.sort_by_key(|matched| Reverse((matched.relevance, matched.document)));
    ranked
}

/// Returns the weight of a word that `containing` of `all` documents contain: the
/// rarer, the higher.
fn inverse_frequency(containing: u64, all: u64) -> u64 {
    let without = all.saturating_sub(containing);
    (10_000 * (without + 1) / containing.max(1)).isqrt().max(1)
}

/// Returns an excerpt around the first of these words in the text, or the beginning
/// of the text.
pub fn excerpt(body: &str, wanted: &[String]) -> String {
    let all = tokenize(body);
    let offset_of =
        |word: &String| all.iter().find(|found| found.text == *word).map(|found| found.offset);
    let at = wanted.iter().find_map(offset_of).unwrap_or(0);
    let from = excerpt_start(body, at);
    let mut chars = collapse_whitespace(&body[from..]);
    let text: String = chars.by_ref().take(EXCERPT_CHARS).collect();
    let before = if body[..from].trim().is_empty() { "" } else { "… " };
    let after = if chars.next().is_some() { " …" } else { "" };
    format!("{before}{}{after}", text.trim_end())
}

/// Iterates over the characters of a text, with white space collapsed to single
/// spaces.
fn collapse_whitespace(text: &str) -> impl Iterator<Item = char> {
    text.split_whitespace().flat_map(|word| std::iter::once(' ').chain(word.chars())).skip(1)
}

/// Returns the byte offset at which an excerpt begins, so that a few words precede
/// `at`.
fn excerpt_start(body: &str, at: usize) -> usize {
    let earliest = body[..at].char_indices().rev().take(CONTEXT_CHARS).last();
    let earliest = earliest.map_or(0, |(byte, _)| byte);
    if earliest == 0 {
        return 0;
    }
    let space = body[earliest..at].find(char::is_whitespace);
    space.map_or(earliest, |space| earliest + space)
}

#[cfg(test)]
mod tests {
    use super::{DocumentMatch, MAX_QUERY_WORDS, PostingList, excerpt, query_words, rank};
    use crate::id::DocumentId;

    fn postings(word: &str, documents: &[(u128, u32)]) -> PostingList {
        let id = |(id, weight): &(u128, u32)| (DocumentId::from_u128(*id), *weight);
        PostingList { word: word.into(), documents: documents.iter().map(id).collect() }
    }

    fn ranked(found: &[PostingList], documents: u32) -> Vec<u128> {
        rank(found, documents).iter().map(|found| found.document.as_u128()).collect()
    }

    #[test]
    fn query_words_accepts_any_text() {
        assert_eq!(query_words("Is the menu THE menu?"), ["menu", "the", "is"]);
        assert!(query_words("\"' OR * - 🙂").contains(&"or".to_owned()));
        assert!(query_words("").is_empty());
        let long: String = (0..10_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(query_words(&long).len(), MAX_QUERY_WORDS);
        assert_eq!(query_words(&"a b c ".repeat(5000)).len(), 3);
    }

    #[test]
    fn rare_words_and_high_weights_rank_first() {
        let the = postings("the", &[(1, 900), (2, 900), (3, 900), (4, 900)]);
        let wine = postings("wine", &[(2, 400)]);
        assert_eq!(ranked(&[the.clone(), wine.clone()], 4), [2, 4, 3, 1]);
        assert_eq!(ranked(&[wine, postings("beer", &[(1, 800)])], 4), [1, 2]);
        assert_eq!(ranked(&[the], 4), [4, 3, 2, 1]);
        assert_eq!(rank::<DocumentId>(&[], 4), [] as [DocumentMatch; 0]);
    }

    /// The best score fits, however many documents there are.
    #[test]
    fn relevance_does_not_overflow() {
        let heavy: Vec<PostingList> =
            (0..MAX_QUERY_WORDS).map(|n| postings(&n.to_string(), &[(1, 2200)])).collect();
        assert!(rank(&heavy, 300)[0].relevance < u32::MAX);
        assert!(rank(&[postings("x", &[(1, 1)])], 0)[0].relevance > 0);
    }

    #[test]
    fn an_excerpt_contains_the_word() {
        let of = |body: &str, words: &[&str]| {
            excerpt(body, &words.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(of("", &["x"]), "");
        assert_eq!(of(" We  open\nat nine. ", &["open"]), "We open at nine.");
        assert_eq!(of("We open at nine.", &["zebra"]), "We open at nine.");
        let far =
            format!("{}Die Öffnungszeiten: neun bis sechs.", "Lorem ipsum dolor. ".repeat(50));
        let shown = of(&far, &["offnungszeiten"]);
        assert!(shown.starts_with("… ") && shown.ends_with("Die Öffnungszeiten: neun bis sechs."));
        assert!(shown.chars().count() < 120, "{shown}");
        let wide = of(&"日本語".repeat(500), &["語"]);
        assert!(wide.starts_with("日本語") && wide.ends_with(" …"), "{wide}");
        assert_eq!(wide.chars().count(), 242);
    }
}
