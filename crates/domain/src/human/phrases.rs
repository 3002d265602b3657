//! Phrase lists: patterns that are matched on whole words, with exceptions.
//!
//! The lists ship as data, and an org can edit them. A pattern is a sequence of
//! words: `a|b` is a choice, a trailing `?` makes a word optional, `...` stands for
//! up to three words, and `^` and `$` for the beginning and the end of a sentence.
//! A line that starts with `!` is an exception: a match that overlaps with it does
//! not count. No match spans sentences.
//!
//! ```
//! use ostler_domain::human::phrases::PhraseList;
//!
//! let list = PhraseList::parse("connect me to a? human|person\n! human resources");
//! assert!(list.matches("Connect me to a human, please."));
//! assert!(!list.matches("Connect me to human resources."));
//! assert!(!list.matches("Connect me to the wifi."));
//! ```

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The default phrases with which a customer asks for a person.
pub const HUMAN_REQUEST_PHRASES: &str = include_str!("phrases/asks_for_human.txt");
/// The default phrases of an angry customer.
pub const NEGATIVE_PHRASES: &str = include_str!("phrases/negative.txt");
/// The default phrases with which an agent admits not knowing.
pub const UNCERTAIN_PHRASES: &str = include_str!("phrases/uncertain.txt");

/// The maximum number of words that `...` covers.
const MAX_GAP_WORDS: usize = 3;

/// A list of phrases with its exceptions. It is stored as the text it was parsed
/// from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub struct PhraseList {
    text: String,
    patterns: Patterns,
    exceptions: Patterns,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Patterns {
    all: Vec<Vec<Token>>,
    /// The words that a match can begin with; `None` if some pattern can begin with any
    /// word.
    first_words: Option<BTreeSet<String>>,
}

impl Default for Patterns {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Patterns {
    fn new(all: Vec<Vec<Token>>) -> Self {
        let first_words =
            all.iter().map(|pattern| first_words(pattern)).collect::<Option<Vec<_>>>();
        Self { all, first_words: first_words.map(|each| each.into_iter().flatten().collect()) }
    }

    /// Iterates over the word ranges that the patterns match. Hardly any word begins a
    /// match, which `first_words` tells quickly.
    fn spans<'a>(&'a self, words: &'a [&'a str]) -> impl Iterator<Item = Range<usize>> + 'a {
        let can_begin = |word: &str| self.first_words.as_ref().is_none_or(|all| all.contains(word));
        let starts = words.iter().enumerate().filter(move |(_, word)| can_begin(word));
        starts
            .flat_map(move |(start, _)| {
                self.all
                    .iter()
                    .filter_map(move |pattern| Some(start..match_end(pattern, words, start)?))
            })
            .filter(|span| !span.is_empty())
    }
}

/// Returns the words that a pattern can begin with; `None` if it can begin with any
/// word.
fn first_words(pattern: &[Token]) -> Option<Vec<String>> {
    match pattern {
        [Token::Start, rest @ ..] => first_words(rest),
        [Token::OneOf { choices, optional: false }, ..] => {
            Some(choices.iter().filter_map(|words| words.first().cloned()).collect())
        }
        _ => None,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// One of these choices, each a sequence of words.
    OneOf {
        choices: Vec<Vec<String>>,
        optional: bool,
    },
    Gap,
    Start,
    End,
}

impl From<String> for PhraseList {
    /// Parses a list: a pattern per line; `#` starts a comment.
    fn from(text: String) -> Self {
        let (mut patterns, mut exceptions) = (Vec::new(), Vec::new());
        for line in text.lines().map(str::trim) {
            match line.strip_prefix('!') {
                _ if line.is_empty() || line.starts_with('#') => {}
                Some(rest) => exceptions.push(parse_pattern(rest)),
                None => patterns.push(parse_pattern(line)),
            }
        }
        Self { text, patterns: Patterns::new(patterns), exceptions: Patterns::new(exceptions) }
    }
}

impl From<PhraseList> for String {
    fn from(list: PhraseList) -> Self {
        list.text
    }
}

impl PhraseList {
    /// Parses a list. No text is invalid.
    pub fn parse(text: &str) -> Self {
        Self::from(text.to_owned())
    }

    /// Returns whether a text contains one of the phrases.
    pub fn matches(&self, text: &str) -> bool {
        text.split(ends_sentence).any(|sentence| {
            let normalized = normalize(sentence);
            let words: Vec<&str> = split_words(&normalized).collect();
            let excepted = LazyCell::new(|| SpanIndex::new(self.exceptions.spans(&words)));
            self.patterns.spans(&words).any(|span| !excepted.overlaps(&span))
        })
    }
}

/// Parses a pattern. Its words are split like those of a text, so that whatever a
/// person types can match.
fn parse_pattern(line: &str) -> Vec<Token> {
    let token = |text: &str| {
        match text {
            "..." => return Token::Gap,
            "^" => return Token::Start,
            "$" => return Token::End,
            _ => {}
        }
        let (choice, optional) = text.strip_suffix('?').map_or((text, false), |rest| (rest, true));
        let choices =
            choice.split('|').map(normalized_words).filter(|words| !words.is_empty()).collect();
        Token::OneOf { choices, optional }
    };
    line.split_whitespace().map(token).collect()
}

/// Returns the end of the longest match that begins at `start`. Follows all
/// alternatives at once, so that no pattern takes exponential time.
fn match_end(pattern: &[Token], words: &[&str], start: usize) -> Option<usize> {
    let mut reached = BTreeSet::from([start]);
    for token in pattern {
        reached = reached.iter().flat_map(|&at| token_ends(token, words, at)).collect();
        if reached.is_empty() {
            return None;
        }
    }
    reached.last().copied()
}

/// Returns the positions at which a token that begins at `at` can end.
fn token_ends(token: &Token, words: &[&str], at: usize) -> Vec<usize> {
    match token {
        Token::Start => Vec::from_iter((at == 0).then_some(at)),
        Token::End => Vec::from_iter((at == words.len()).then_some(at)),
        Token::Gap => (at..=words.len().min(at + MAX_GAP_WORDS)).collect(),
        Token::OneOf { choices, optional } => {
            let matching = choices.iter().filter(|choice| is_prefix(choice, &words[at..]));
            matching.map(|choice| at + choice.len()).chain(optional.then_some(at)).collect()
        }
    }
}

fn is_prefix(choice: &[String], words: &[&str]) -> bool {
    choice.len() <= words.len() && choice.iter().zip(words).all(|(expected, word)| expected == word)
}

const fn ends_sentence(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ';' | '\n' | '…' | '。' | '！' | '？')
}

/// Word ranges, indexed for fast overlap checks: where each begins, and how far it
/// and those before it reach.
struct SpanIndex(Vec<(usize, usize)>);

impl SpanIndex {
    /// The ranges must be sorted by their start.
    fn new(spans: impl Iterator<Item = Range<usize>>) -> Self {
        let reach = spans.scan(0, |max_end, span| {
            *max_end = span.end.max(*max_end);
            Some((span.start, *max_end))
        });
        Self(reach.collect())
    }

    fn overlaps(&self, span: &Range<usize>) -> bool {
        let before = self.0.partition_point(|(start, _)| *start < span.end);
        before.checked_sub(1).is_some_and(|last| self.0[last].1 > span.start)
    }
}

/// Returns whether a text contains a phrase word for word, ignoring case.
pub fn contains_phrase(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (normalized_words(text), normalized_words(phrase));
    !phrase.is_empty() && text.windows(phrase.len()).any(|window| window == phrase)
}

/// Returns the words of a text in lower case. Apostrophes are dropped (`don't`
/// becomes `dont`); in scripts without spaces each character is a word.
pub fn normalized_words(text: &str) -> Vec<String> {
    split_words(&normalize(text)).map(str::to_owned).collect()
}

/// Lowers the case of a text and drops apostrophes and combining accents.
pub(super) fn normalize(text: &str) -> String {
    let is_kept = |c: &char| !is_ignored(*c);
    if text.is_ascii() {
        return text.chars().map(|c| c.to_ascii_lowercase()).filter(is_kept).collect();
    }
    // Greek has two lower-case sigmas; which one ends a word depends on the writer.
    text.to_lowercase().chars().map(|c| if c == 'ς' { 'σ' } else { c }).filter(is_kept).collect()
}

/// Splits a normalized text into words.
pub(super) fn split_words(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| !c.is_alphanumeric() && !is_unspaced_script(c);
    text.split(is_separator).flat_map(|chunk| {
        let mut rest = chunk;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let end = if is_unspaced_script(first) {
                first.len_utf8()
            } else {
                rest.find(is_unspaced_script).unwrap_or(rest.len())
            };
            let (word, left) = rest.split_at(end);
            rest = left;
            Some(word)
        })
    })
}

/// Apostrophes and combining accents.
const fn is_ignored(c: char) -> bool {
    matches!(c, '\'' | '’' | '`' | '\u{0300}'..='\u{036F}')
}

/// Thai, Japanese kana, and Chinese characters.
const fn is_unspaced_script(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

#[cfg(test)]
mod tests;
