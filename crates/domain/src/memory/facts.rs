//! The facts of a text that a summary must not lose: identifiers (names, codes, paths,
//! addresses), numbers, dates and completion marks.
//!
//! What a fact is, is decided by the form of the words alone, so the same text always has
//! the same facts. In doubt a word is a fact: a summary that is rejected can be written
//! again, a lost name cannot be found again.

mod forms;

use std::collections::BTreeSet;
use std::fmt;

use crate::time::UtcDay;
use forms::{is_code, is_name, number, trimmed, written_date};

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

const COMPLETION_WORDS: [&str; 8] =
    ["completed", "delivered", "done", "finished", "fixed", "resolved", "shipped", "solved"];
const COMPLETION_MARKS: [&str; 6] = ["[x]", "[X]", "✅", "✓", "✔", "☑"];
const NEGATIONS: [&str; 7] = ["not", "never", "no", "isn't", "wasn't", "hasn't", "be"];

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
        if !self.read_numbers(whole, word) && (is_code(whole, word) || is_name(raw, at)) {
            self.facts.insert(Fact::Identifier(lower.clone()));
        }
        self.words.insert(lower);
    }

    /// Reads a word that is a number, an ISO date or several of them, such as `10-12`.
    fn read_numbers(&mut self, whole: &str, word: &str) -> bool {
        if let Some(day) = word.get(..10).and_then(UtcDay::parse_iso) {
            self.facts.insert(Fact::Date(day));
            let time = word.get(11..).unwrap_or_default();
            return time.is_empty() || self.read_numbers(time, time);
        }
        let parts: Option<Vec<_>> = word.split(['-', '–', '/']).map(number).collect();
        let Some(numbers) = parts else { return false };
        let (before, after) = whole.split_once(word).unwrap_or_default();
        let mut sign = if before.contains(['-', '−']) { "-" } else { "" };
        let percent = if after.starts_with('%') { "%" } else { "" };
        for (digits, unit) in numbers {
            self.facts.insert(Fact::Number(format!("{sign}{digits}{percent}")));
            sign = "";
            if let Some(unit) = unit {
                self.facts.insert(Fact::Identifier(unit.clone()));
                self.words.insert(unit);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        let table: [(&str, &[&str]); 17] = [
            ("the user likes green tea.", &[]),
            ("The user met Rosa Bianchi in Rome.", &["bianchi", "rome", "rosa"]),
            ("Rosa's order INV-42 costs €1,250.50.", &["inv-42", "1250.5"]),
            ("Call foo_bar in src/main.rs and `list`", &["foo_bar", "list", "src/main.rs"]),
            ("mail rosa@example.com, use HashMap", &["hashmap", "rosa@example.com"]),
            ("from 10-12 people, 5GB, 12th", &["gb", "10", "12", "5"]),
            ("it is -5 degrees, 50% less, €20", &["-5", "20", "50%"]),
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

    #[test]
    fn signs_and_units_are_facts() {
        assert_eq!(lost("it is -5 degrees", "it is 5 degrees"), ["-5"]);
        assert_eq!(lost("50% of it", "50 of it"), ["50%"]);
        assert_eq!(lost("5GB of data", "5MB of data"), ["gb"]);
        assert_eq!(lost("5GB of data", "5 GB of data"), [""; 0]);
        assert_eq!(lost("the 3rd of 1,000", "number 3 of 1000"), [""; 0]);
    }

    proptest! {
        #[test]
        fn a_text_loses_nothing_to_itself(text in "([ -~€–−✅äÄß]{0,6} ?[0-9]{0,4}[-.,:/%]?){0,20}", any in any::<String>()) {
            for text in [text, any] {
                let facts = TextFacts::of(&text);
                prop_assert_eq!(facts.lost_in(&facts), []);
                prop_assert_eq!(facts.invented_in(&facts), []);
                let again = format!("Well: {text}");
                prop_assert_eq!(facts.lost_in(&TextFacts::of(&again)), []);
            }
        }
    }
}
