//! Phrases that mean something: matched on whole words, with false friends.
//!
//! The lists ship as data and an org may edit them. A pattern is a row of
//! words; `a|b` is a choice, a trailing `?` makes a word optional, `...` stands
//! for up to three words, `^` and `$` for the beginning and the end of a
//! sentence. A line that starts with `!` is a false friend: a match that it
//! touches does not count. No match reaches across sentences.
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

use serde::{Deserialize, Serialize};

/// The shipped list of ways to ask for a person.
pub const ASKS_FOR_HUMAN: &str = include_str!("phrases/asks_for_human.txt");
/// The shipped list of angry words.
pub const NEGATIVE: &str = include_str!("phrases/negative.txt");
/// The shipped list of ways to admit not knowing.
pub const UNCERTAIN: &str = include_str!("phrases/uncertain.txt");

/// The most words that `...` covers.
const GAP: usize = 3;

/// A list of phrases with its false friends. It is stored as the text that it
/// was read from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct PhraseList {
    text: String,
    patterns: Patterns,
    false_friends: Patterns,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Patterns {
    all: Vec<Vec<Token>>,
    /// The words with which a match begins. Nothing if there is a pattern that
    /// may begin with any.
    openers: Option<BTreeSet<String>>,
}

impl Default for Patterns {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Patterns {
    fn new(all: Vec<Vec<Token>>) -> Self {
        let openers = all.iter().map(|pattern| openers(pattern)).collect::<Option<Vec<_>>>();
        Self { all, openers: openers.map(|each| each.into_iter().flatten().collect()) }
    }

    /// Every stretch of words that one of the patterns covers. Hardly any word
    /// begins one, and that is seen at once.
    fn spans<'a>(&'a self, words: &'a [&'a str]) -> impl Iterator<Item = Range<usize>> + 'a {
        let begins = |word: &str| self.openers.as_ref().is_none_or(|all| all.contains(word));
        let starts = words.iter().enumerate().filter(move |(_, word)| begins(word));
        starts
            .flat_map(move |(start, _)| {
                self.all.iter().filter_map(move |pattern| Some(start..end(pattern, words, start)?))
            })
            .filter(|span| !span.is_empty())
    }
}

/// The words with which a pattern begins, unless it may begin with any.
fn openers(pattern: &[Token]) -> Option<Vec<String>> {
    match pattern {
        [Token::Start, rest @ ..] => openers(rest),
        [Token::OneOf { choices, optional: false }, ..] => {
            Some(choices.iter().filter_map(|words| words.first().cloned()).collect())
        }
        _ => None,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// One of these; each is the words that a choice consists of.
    OneOf {
        choices: Vec<Vec<String>>,
        optional: bool,
    },
    Gap,
    Start,
    End,
}

impl From<String> for PhraseList {
    /// Reads a list: a pattern per line, `#` starts a comment.
    fn from(text: String) -> Self {
        let (mut patterns, mut false_friends) = (Vec::new(), Vec::new());
        for line in text.lines().map(str::trim) {
            match line.strip_prefix('!') {
                _ if line.is_empty() || line.starts_with('#') => {}
                Some(rest) => false_friends.push(pattern(rest)),
                None => patterns.push(pattern(line)),
            }
        }
        Self {
            text,
            patterns: Patterns::new(patterns),
            false_friends: Patterns::new(false_friends),
        }
    }
}

impl From<PhraseList> for String {
    fn from(list: PhraseList) -> Self {
        list.text
    }
}

impl PhraseList {
    /// Reads a list.
    pub fn parse(text: &str) -> Self {
        Self::from(text.to_owned())
    }

    /// Whether a text contains one of the phrases.
    pub fn matches(&self, text: &str) -> bool {
        text.split(ends_sentence).any(|sentence| {
            let lowered = lowered(sentence);
            let words: Vec<&str> = cut(&lowered).collect();
            let friends = LazyCell::new(|| Covered::by(self.false_friends.spans(&words)));
            self.patterns.spans(&words).any(|span| !friends.touches(&span))
        })
    }
}

/// Reads a pattern. Its words are cut like those of a text, so that whatever a
/// person types there can be found.
fn pattern(line: &str) -> Vec<Token> {
    let token = |text: &str| {
        match text {
            "..." => return Token::Gap,
            "^" => return Token::Start,
            "$" => return Token::End,
            _ => {}
        }
        let (choice, optional) = text.strip_suffix('?').map_or((text, false), |rest| (rest, true));
        let choices = choice.split('|').map(words).filter(|words| !words.is_empty()).collect();
        Token::OneOf { choices, optional }
    };
    line.split_whitespace().map(token).collect()
}

/// Where the longest match of a pattern that begins at `start` ends. All ways
/// to match are followed side by side, so that no pattern takes long.
fn end(pattern: &[Token], words: &[&str], start: usize) -> Option<usize> {
    let mut reached = BTreeSet::from([start]);
    for token in pattern {
        reached = reached.iter().flat_map(|&at| after(token, words, at)).collect();
        if reached.is_empty() {
            return None;
        }
    }
    reached.last().copied()
}

/// Where a token that begins at a place may end.
fn after(token: &Token, words: &[&str], at: usize) -> Vec<usize> {
    match token {
        Token::Start => Vec::from_iter((at == 0).then_some(at)),
        Token::End => Vec::from_iter((at == words.len()).then_some(at)),
        Token::Gap => (at..=words.len().min(at + GAP)).collect(),
        Token::OneOf { choices, optional } => {
            let fits = choices.iter().filter(|choice| stands_at(choice, &words[at..]));
            fits.map(|choice| at + choice.len()).chain(optional.then_some(at)).collect()
        }
    }
}

fn stands_at(choice: &[String], words: &[&str]) -> bool {
    choice.len() <= words.len() && choice.iter().zip(words).all(|(one, other)| one == other)
}

const fn ends_sentence(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ';' | '\n' | '…' | '。' | '！' | '？')
}

/// What some stretches of words cover, for a quick look however many there are:
/// where each begins, and how far it and those before it reach.
struct Covered(Vec<(usize, usize)>);

impl Covered {
    /// The stretches come in the order in which they begin.
    fn by(stretches: impl Iterator<Item = Range<usize>>) -> Self {
        let reach = stretches.scan(0, |furthest, one| {
            *furthest = one.end.max(*furthest);
            Some((one.start, *furthest))
        });
        Self(reach.collect())
    }

    fn touches(&self, span: &Range<usize>) -> bool {
        let before = self.0.partition_point(|(start, _)| *start < span.end);
        before.checked_sub(1).is_some_and(|last| self.0[last].1 > span.start)
    }
}

/// Whether a text contains a phrase word for word, whatever its case.
pub fn contains_phrase(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (words(text), words(phrase));
    !phrase.is_empty() && text.windows(phrase.len()).any(|window| window == phrase)
}

/// The words of a text in lower case. Apostrophes vanish (`don't` is `dont`);
/// scripts that do not put spaces between words count character by character.
pub fn words(text: &str) -> Vec<String> {
    cut(&lowered(text)).map(str::to_owned).collect()
}

/// A text in lower case, without what is silent.
pub(super) fn lowered(text: &str) -> String {
    let loud = |c: &char| !is_silent(*c);
    if text.is_ascii() {
        return text.chars().map(|c| c.to_ascii_lowercase()).filter(loud).collect();
    }
    // Greek has two small sigmas; which one a word ends in depends on the writer.
    text.to_lowercase().chars().map(|c| if c == 'ς' { 'σ' } else { c }).filter(loud).collect()
}

/// The words of a text that is in lower case.
pub(super) fn cut(text: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| !c.is_alphanumeric() && !is_a_word_by_itself(c);
    text.split(between).flat_map(|chunk| {
        let mut rest = chunk;
        std::iter::from_fn(move || {
            let first = rest.chars().next()?;
            let end = if is_a_word_by_itself(first) {
                first.len_utf8()
            } else {
                rest.find(is_a_word_by_itself).unwrap_or(rest.len())
            };
            let (word, left) = rest.split_at(end);
            rest = left;
            Some(word)
        })
    })
}

/// Apostrophes, and accents that come behind their letter.
const fn is_silent(c: char) -> bool {
    matches!(c, '\'' | '’' | '`' | '\u{0300}'..='\u{036F}')
}

/// Thai, Japanese kana, and Chinese characters.
const fn is_a_word_by_itself(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0E7F}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

#[cfg(test)]
mod tests;
