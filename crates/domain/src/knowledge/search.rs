//! Search: which documents fit a question best, and what of them to show.
//!
//! The store brings, for each word of the question, the documents that have it;
//! everything else is decided here, so that every database answers the same.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::words::words;
use crate::id::DocumentId;

/// The most words of a question that are looked up.
pub const MAX_QUERY_WORDS: usize = 24;
/// The most documents that are looked at for one word, those first in which it
/// weighs most.
pub const MAX_PER_WORD: u32 = 300;

/// The most characters of an excerpt, and of what stands before the word.
const EXCERPT_CHARS: usize = 240;
const BEFORE_CHARS: usize = 60;

/// The words to look a question up by, each once. Of too many the longest are
/// taken: short ones are in every document.
pub fn query_words(question: &str) -> Vec<String> {
    let different: BTreeSet<String> = words(question).into_iter().map(|word| word.text).collect();
    let mut chosen: Vec<String> = different.into_iter().collect();
    chosen.sort_by_key(|word| Reverse(word.chars().count()));
    chosen.truncate(MAX_QUERY_WORDS);
    chosen
}

/// The documents that have a word, each with the weight of the word in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postings {
    /// The word.
    pub word: String,
    /// The documents.
    pub documents: Vec<(DocumentId, u32)>,
}

/// A document that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Which one.
    pub document: DocumentId,
    /// How well it fits; higher is better.
    pub relevance: u32,
}

/// The documents, best first. Of words that fit equally well the rarer counts
/// more; `documents` is how many there are, counted up to [`MAX_PER_WORD`].
pub fn rank(found: &[Postings], documents: u32) -> Vec<Match> {
    let mut scores: BTreeMap<DocumentId, u64> = BTreeMap::new();
    for postings in found {
        let rarity = rarity(postings.documents.len() as u64, u64::from(documents));
        for (document, weight) in &postings.documents {
            *scores.entry(*document).or_default() += rarity * u64::from(*weight);
        }
    }
    let relevance = |score: u64| u32::try_from(score).unwrap_or(u32::MAX);
    let mut ranked: Vec<Match> = scores
        .into_iter()
        .map(|(document, score)| Match { document, relevance: relevance(score) })
        .collect();
    ranked.sort_by_key(|found| Reverse((found.relevance, found.document)));
    ranked
}

/// How much a word says that so many of all documents have.
fn rarity(having: u64, all: u64) -> u64 {
    let without = all.saturating_sub(having);
    (10_000 * (without + 1) / having.max(1)).isqrt().max(1)
}

/// A piece of a text around the first of these words that is in it, or the
/// beginning of the text.
pub fn excerpt(body: &str, wanted: &[String]) -> String {
    let all = words(body);
    let place = |word: &String| all.iter().find(|found| found.text == *word).map(|found| found.at);
    let at = wanted.iter().find_map(place).unwrap_or(0);
    let from = start_before(body, at);
    let mut signs = squeezed(&body[from..]);
    let piece: String = signs.by_ref().take(EXCERPT_CHARS).collect();
    let before = if body[..from].trim().is_empty() { "" } else { "… " };
    let after = if signs.next().is_some() { " …" } else { "" };
    format!("{before}{}{after}", piece.trim_end())
}

/// The characters of a text, with one space for any white space.
fn squeezed(text: &str) -> impl Iterator<Item = char> {
    text.split_whitespace().flat_map(|word| std::iter::once(' ').chain(word.chars())).skip(1)
}

/// Where to begin, so that a few words stand before a place.
fn start_before(body: &str, at: usize) -> usize {
    let earliest = body[..at].char_indices().rev().take(BEFORE_CHARS).last();
    let earliest = earliest.map_or(0, |(byte, _)| byte);
    if earliest == 0 {
        return 0;
    }
    let space = body[earliest..at].find(char::is_whitespace);
    space.map_or(earliest, |space| earliest + space)
}

#[cfg(test)]
mod tests {
    use super::{MAX_QUERY_WORDS, Match, Postings, excerpt, query_words, rank};
    use crate::id::DocumentId;

    fn postings(word: &str, documents: &[(u128, u32)]) -> Postings {
        let id = |(id, weight): &(u128, u32)| (DocumentId::from_u128(*id), *weight);
        Postings { word: word.into(), documents: documents.iter().map(id).collect() }
    }

    fn ranked(found: &[Postings], documents: u32) -> Vec<u128> {
        rank(found, documents).iter().map(|found| found.document.as_u128()).collect()
    }

    #[test]
    fn a_question_is_any_text() {
        assert_eq!(query_words("Is the menu THE menu?"), ["menu", "the", "is"]);
        assert!(query_words("\"' OR * - 🙂").contains(&"or".to_owned()));
        assert!(query_words("").is_empty());
        let long: String = (0..10_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(query_words(&long).len(), MAX_QUERY_WORDS);
        assert_eq!(query_words(&"a b c ".repeat(5000)).len(), 3);
    }

    #[test]
    fn rare_words_and_heavy_words_come_first() {
        let the = postings("the", &[(1, 900), (2, 900), (3, 900), (4, 900)]);
        let wine = postings("wine", &[(2, 400)]);
        assert_eq!(ranked(&[the.clone(), wine.clone()], 4), [2, 4, 3, 1]);
        assert_eq!(ranked(&[wine, postings("beer", &[(1, 800)])], 4), [1, 2]);
        assert_eq!(ranked(&[the], 4), [4, 3, 2, 1]);
        assert_eq!(rank(&[], 4), [] as [Match; 0]);
    }

    /// However many documents there are, the best score fits.
    #[test]
    fn relevance_does_not_overflow() {
        let heavy: Vec<Postings> =
            (0..MAX_QUERY_WORDS).map(|n| postings(&n.to_string(), &[(1, 2200)])).collect();
        assert!(rank(&heavy, 300)[0].relevance < u32::MAX);
        assert!(rank(&[postings("x", &[(1, 1)])], 0)[0].relevance > 0);
    }

    #[test]
    fn an_excerpt_shows_the_word() {
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
