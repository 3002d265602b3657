//! The facts of a text that a summary must not lose: identifiers (names, codes, paths,
//! addresses), numbers, dates and completion marks.
//!
//! What a fact is, is decided by the form of the words alone, so the same text always has
//! the same facts. In doubt a word is a fact: a summary that is rejected can be written
//! again, a lost name cannot be found again.

use std::collections::BTreeSet;
use std::fmt;

use crate::time::UtcDay;

/// A fact of a text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// In lower case.
    Identifier(String),
    /// Without thousands separators and trailing zeros.
    Number(String),
    Date(UtcDay),
    /// Something is said to be done.
    Completion,
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identifier(text) | Self::Number(text) => f.write_str(text),
            Self::Date(day) => f.write_str(&day.to_iso()),
            Self::Completion => f.write_str("that it was done"),
        }
    }
}

/// The facts and the words of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextFacts {
    facts: BTreeSet<Fact>,
    /// In lower case.
    words: BTreeSet<String>,
}

/// Words that begin with a capital letter without being names.
const NO_NAMES: [&str; 46] = [
    "a",
    "after",
    "agent",
    "all",
    "also",
    "an",
    "and",
    "are",
    "as",
    "asks",
    "assistant",
    "at",
    "before",
    "but",
    "by",
    "for",
    "from",
    "has",
    "he",
    "her",
    "his",
    "i",
    "if",
    "in",
    "is",
    "it",
    "its",
    "no",
    "not",
    "now",
    "of",
    "on",
    "or",
    "she",
    "that",
    "the",
    "their",
    "they",
    "this",
    "to",
    "user",
    "wants",
    "was",
    "we",
    "when",
    "with",
];
const COMPLETION_WORDS: [&str; 8] =
    ["completed", "delivered", "done", "finished", "fixed", "resolved", "shipped", "solved"];
const COMPLETION_MARKS: [&str; 6] = ["[x]", "[X]", "✅", "✓", "✔", "☑"];
const NEGATIONS: [&str; 7] = ["not", "never", "no", "isn't", "wasn't", "hasn't", "be"];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

impl TextFacts {
    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let raw: Vec<&str> = text.split_whitespace().collect();
        let mut found = Self::default();
        let mut at = 0;
        while at < raw.len() {
            if let Some((day, length)) = written_date(&raw[at..]) {
                found.facts.insert(Fact::Date(day));
                at += length;
            } else {
                found.read_word(&raw, at);
                at += 1;
            }
        }
        found
    }

    /// Returns the facts of a text that has only this one.
    pub(super) fn single(fact: Fact) -> Self {
        Self { facts: [fact].into(), words: BTreeSet::new() }
    }

    /// Adds the facts of another text.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.facts.extend(other.facts);
        self.words.extend(other.words);
        self
    }

    /// Returns the facts of this text that another does not have.
    pub fn lost_in(&self, other: &Self) -> Vec<Fact> {
        let kept = |fact: &&Fact| match fact {
            Fact::Identifier(word) => other.words.contains(word),
            fact => other.facts.contains(fact),
        };
        self.facts.iter().filter(|fact| !kept(fact)).cloned().collect()
    }

    /// Returns the numbers, dates and completion marks that another text has and this one
    /// does not.
    pub fn invented_in(&self, other: &Self) -> Vec<Fact> {
        let new = |fact: &&Fact| !matches!(fact, Fact::Identifier(_)) && !self.facts.contains(fact);
        other.facts.iter().filter(new).cloned().collect()
    }

    fn read_word(&mut self, raw: &[&str], at: usize) {
        let whole = raw[at];
        let word = trimmed(whole);
        let lower = word.to_lowercase();
        let follows_negation = (1..=2)
            .filter_map(|back| raw.get(at.checked_sub(back)?))
            .any(|before| NEGATIONS.contains(&trimmed(before).to_lowercase().as_str()));
        let is_mark = COMPLETION_MARKS.iter().any(|mark| whole.contains(mark));
        if is_mark || (COMPLETION_WORDS.contains(&lower.as_str()) && !follows_negation) {
            self.facts.insert(Fact::Completion);
        }
        if word.is_empty() {
            return;
        }
        if !self.read_numbers(word) && (is_code(whole, word) || is_name(raw, at)) {
            self.facts.insert(Fact::Identifier(lower.clone()));
        }
        self.words.insert(lower);
    }

    /// Reads a word that is a number, an ISO date or several of them, such as `10-12`.
    fn read_numbers(&mut self, word: &str) -> bool {
        if let Some(day) = word.get(..10).and_then(UtcDay::parse_iso) {
            self.facts.insert(Fact::Date(day));
            let time = word.get(11..).unwrap_or_default();
            return time.is_empty() || self.read_numbers(time);
        }
        let parts: Option<BTreeSet<Fact>> =
            word.split(['-', '–', '/']).map(|part| number(part).map(Fact::Number)).collect();
        let Some(numbers) = parts else { return false };
        self.facts.extend(numbers);
        true
    }
}

/// Returns a word without the punctuation around it.
fn trimmed(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '@'));
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

/// Returns the canonical form of a number with at most three letters behind it, such as
/// `1,000.50`, `12th` and `5GB`.
fn number(word: &str) -> Option<String> {
    let end = word.rfind(|c: char| c.is_ascii_digit())? + 1;
    let (digits, unit) = word.split_at(end);
    let is_numeric = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':' | '\'' | '_'));
    let is_unit = unit.chars().count() <= 3 && unit.chars().all(char::is_alphabetic);
    if !is_numeric || !is_unit {
        return None;
    }
    let plain: String = digits.chars().filter(|c| !matches!(c, ',' | '\'' | '_')).collect();
    let has_fraction = plain.contains('.') && !plain.contains(':');
    let plain =
        if has_fraction { plain.trim_end_matches('0').trim_end_matches('.') } else { &plain };
    Some(plain.to_owned())
}

/// Returns whether the form of a word says that it is a code, a path, an address or an
/// abbreviation.
fn is_code(whole: &str, word: &str) -> bool {
    let mut chars = word.chars().skip(1);
    whole.contains('`')
        || word.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '@' | '/' | '\\'))
        || word.trim_matches('.').contains('.')
        || word.contains("::")
        || chars.any(char::is_uppercase)
}

/// Returns whether a word is a name: it has a capital letter inside a sentence, or at its
/// beginning with another one behind it.
fn is_name(raw: &[&str], at: usize) -> bool {
    let word = trimmed(raw[at]);
    if !is_capitalized(word) {
        return false;
    }
    let begins_sentence =
        at.checked_sub(1).is_none_or(|before| raw[before].ends_with(['.', '!', '?', ':']));
    !begins_sentence || raw.get(at + 1).is_some_and(|next| is_capitalized(trimmed(next)))
}

fn is_capitalized(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && !NO_NAMES.contains(&word.to_lowercase().as_str())
}

/// Returns the date that the words begin with, and the number of its words: `18 November
/// 2026`, `November 18, 2026`.
fn written_date(words: &[&str]) -> Option<(UtcDay, usize)> {
    let [first, second, third, ..] = words else { return None };
    let month = |word: &str| {
        let name = trimmed(word).to_lowercase();
        let is_month = |full: &str| full == name || (name.len() == 3 && full.starts_with(&name));
        MONTHS
            .iter()
            .position(|full| is_month(full))
            .and_then(|index| u32::try_from(index + 1).ok())
    };
    let value = |word: &str| number(trimmed(word))?.parse::<u32>().ok();
    let (month, day) = match (month(first), month(second)) {
        (Some(month), _) => (month, value(second)?),
        (None, Some(month)) => (month, value(first)?),
        (None, None) => return None,
    };
    Some((UtcDay::from_civil(i64::from(value(third)?), month, day)?, 3))
}

#[cfg(test)]
mod tests {
    use super::TextFacts;

    fn facts(text: &str) -> Vec<String> {
        TextFacts::of(text).facts.iter().map(ToString::to_string).collect()
    }

    fn lost(before: &str, after: &str) -> Vec<String> {
        let lost = TextFacts::of(before).lost_in(&TextFacts::of(after));
        lost.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn facts_are_recognized_by_their_form() {
        let table: [(&str, &[&str]); 16] = [
            ("the user likes green tea.", &[]),
            ("The user met Rosa Bianchi in Rome.", &["bianchi", "rome", "rosa"]),
            ("Rosa's order INV-42 costs €1,250.50.", &["inv-42", "1250.5"]),
            ("Call foo_bar in src/main.rs and `list`", &["foo_bar", "list", "src/main.rs"]),
            ("mail rosa@example.com, use HashMap", &["hashmap", "rosa@example.com"]),
            ("from 10-12 people, 5GB, 12th", &["10", "12", "5"]),
            ("due 2026-11-18 at 10:30", &["10:30", "2026-11-18"]),
            ("due 2026-11-18T10:30", &["10:30", "2026-11-18"]),
            ("due on 18 November 2026", &["2026-11-18"]),
            ("due on Nov 18th, 2026.", &["2026-11-18"]),
            ("the tests are done", &["that it was done"]),
            ("the tests are not done", &[]),
            ("it will be done", &[]),
            ("[x] write ✅", &["that it was done"]),
            ("[ ] write", &[]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(facts(text), expected, "{text}");
        }
    }

    #[test]
    fn a_rewritten_text_keeps_its_facts() {
        let before = "Rosa Bianchi ordered 3 boxes of INV-42 on 2026-11-18. It was delivered.";
        let table: [(&str, &[&str]); 5] = [
            ("INV-42 (3 boxes), ordered by Rosa Bianchi on 18 November 2026, is done", &[]),
            ("ROSA bianchi: 3.0 boxes, inv-42, Nov 18 2026, completed", &[]),
            ("Bianchi ordered 3 boxes of INV-42 on 2026-11-18, delivered", &["rosa"]),
            ("Rosa Bianchi ordered 4 boxes of INV-42 on 2026-11-18, delivered", &["3"]),
            ("Rosa Bianchi ordered INV-42", &["3", "2026-11-18", "that it was done"]),
        ];
        for (after, expected) in table {
            assert_eq!(lost(before, after), expected, "{after}");
        }
        let (before, after) =
            (TextFacts::of("a plan for 2 tests"), TextFacts::of("2 tests done of 5"));
        let invented: Vec<String> =
            before.invented_in(&after).iter().map(ToString::to_string).collect();
        assert_eq!(invented, ["5", "that it was done"]);
    }
}
