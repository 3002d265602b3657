//! The forms of words: numbers, dates, codes and names.

use crate::time::UtcDay;

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

/// Returns a word without the punctuation around it.
pub(super) fn trimmed(word: &str) -> &str {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '_' | '@'));
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

const ORDINALS: [&str; 4] = ["nd", "rd", "st", "th"];

/// Returns the canonical form of a number, and the unit of at most three letters behind it:
/// `1,000.50`, `12th` and `5GB`.
pub(super) fn number(word: &str) -> Option<(String, Option<String>)> {
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
    let unit = Some(unit.to_lowercase());
    let unit = unit.filter(|unit| !unit.is_empty() && !ORDINALS.contains(&unit.as_str()));
    Some((plain.to_owned(), unit))
}

/// Returns whether the form of a word says that it is a code, a path, an address or an
/// abbreviation.
pub(super) fn is_code(whole: &str, word: &str) -> bool {
    let mut chars = word.chars().skip(1);
    whole.contains('`')
        || word.contains(|c: char| c.is_ascii_digit() || matches!(c, '_' | '@' | '/' | '\\'))
        || word.trim_matches('.').contains('.')
        || word.contains("::")
        || chars.any(char::is_uppercase)
}

/// Returns whether a word is a name: it has a capital letter inside a sentence, or at its
/// beginning with another one behind it.
pub(super) fn is_name(raw: &[&str], at: usize) -> bool {
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
pub(super) fn written_date(words: &[&str]) -> Option<(UtcDay, usize)> {
    let [first, second, third, ..] = words else { return None };
    let month = |word: &str| {
        let name = trimmed(word).to_lowercase();
        let is_month = |full: &str| full == name || (name.len() == 3 && full.starts_with(&name));
        MONTHS
            .iter()
            .position(|full| is_month(full))
            .and_then(|index| u32::try_from(index + 1).ok())
    };
    let value = |word: &str| number(trimmed(word))?.0.parse::<u32>().ok();
    let (month, day) = match (month(first), month(second)) {
        (Some(month), _) => (month, value(second)?),
        (None, Some(month)) => (month, value(first)?),
        (None, None) => return None,
    };
    Some((UtcDay::from_civil(i64::from(value(third)?), month, day)?, 3))
}
