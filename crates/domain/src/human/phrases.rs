//! Phrases that mean something: matched on whole words, with false friends.
//!
//! The lists ship as data and an org may edit them. A pattern is a row of
//! words; `a|b` is a choice, a trailing `?` makes a word optional, `...` stands
//! for up to three words. A line that starts with `!` is a false friend: a
//! match that it touches does not count.
//!
//! ```
//! use ostler_domain::human::phrases::PhraseList;
//!
//! let list = PhraseList::parse("connect me to a? human|person\n! human resources");
//! assert!(list.matches("Connect me to a human, please."));
//! assert!(!list.matches("Connect me to human resources."));
//! assert!(!list.matches("Connect me to the wifi."));
//! ```

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
    patterns: Vec<Vec<Token>>,
    false_friends: Vec<Vec<Token>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// One of these; each is the words that a choice consists of.
    OneOf {
        choices: Vec<Vec<String>>,
        optional: bool,
    },
    Gap,
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
        Self { text, patterns, false_friends }
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
        let words = words(text);
        let friends = spans(&self.false_friends, &words);
        spans(&self.patterns, &words)
            .iter()
            .any(|span| !friends.iter().any(|friend| overlap(span, friend)))
    }
}

/// Reads a pattern. Its words are cut like those of a text, so that whatever a
/// person types there can be found.
fn pattern(line: &str) -> Vec<Token> {
    let token = |text: &str| {
        if text == "..." {
            return Token::Gap;
        }
        let (choice, optional) = text.strip_suffix('?').map_or((text, false), |rest| (rest, true));
        let choices = choice.split('|').map(words).filter(|words| !words.is_empty()).collect();
        Token::OneOf { choices, optional }
    };
    line.split_whitespace().map(token).collect()
}

/// Every stretch of words that one of the patterns covers.
fn spans(patterns: &[Vec<Token>], words: &[String]) -> Vec<Range<usize>> {
    (0..words.len())
        .flat_map(|start| {
            patterns.iter().filter_map(move |pattern| Some(start..end(pattern, words, start)?))
        })
        .filter(|span| !span.is_empty())
        .collect()
}

/// Where the longest match of a pattern that begins at `start` ends. All ways
/// to match are followed side by side, so that no pattern takes long.
fn end(pattern: &[Token], words: &[String], start: usize) -> Option<usize> {
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
fn after(token: &Token, words: &[String], at: usize) -> Vec<usize> {
    match token {
        Token::Gap => (at..=words.len().min(at + GAP)).collect(),
        Token::OneOf { choices, optional } => {
            let fits = choices.iter().filter(|choice| words[at..].starts_with(choice));
            fits.map(|choice| at + choice.len()).chain(optional.then_some(at)).collect()
        }
    }
}

const fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Whether a text contains a phrase word for word, whatever its case.
pub fn contains_phrase(text: &str, phrase: &str) -> bool {
    let (text, phrase) = (words(text), words(phrase));
    !phrase.is_empty() && text.windows(phrase.len()).any(|window| window == phrase)
}

/// The words of a text in lower case. Apostrophes vanish (`don't` is `dont`);
/// scripts that do not put spaces between words count character by character.
pub fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    // Greek has two small sigmas; which one a word ends in depends on the writer.
    let text = text.to_lowercase().replace('ς', "σ");
    for c in text.chars().filter(|c| !is_silent(*c)) {
        if is_a_word_by_itself(c) {
            words.extend([c.to_string(), String::new()]);
        } else if c.is_alphanumeric() {
            if let Some(word) = words.last_mut() {
                word.push(c);
            }
        } else {
            words.push(String::new());
        }
    }
    words.retain(|word| !word.is_empty());
    words
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
mod tests {
    use super::{ASKS_FOR_HUMAN, NEGATIVE, PhraseList, UNCERTAIN, contains_phrase, words};

    fn check(list: &str, expected: bool, texts: &[&str]) {
        let list = PhraseList::parse(list);
        for text in texts {
            assert_eq!(list.matches(text), expected, "{text}");
        }
    }

    /// G49: ways to ask for a person.
    #[test]
    fn g49_asking_for_a_person_is_recognized() {
        check(
            ASKS_FOR_HUMAN,
            true,
            &[
                "talk to a human",
                "I want a real person!",
                "Can I speak with someone?",
                "let me talk to your manager",
                "Please connect me to an agent",
                "transfer me to a representative",
                "put me through to a person",
                "HUMAN PLEASE",
                "agent, please",
                "I need a human",
                "Get me a human.",
                "can i chat with a member of staff",
                "I'd like to speak to a real human being",
                "why can't I talk to a human",
                "I do not want to talk to a bot, I want to talk to a human",
                "stop with the automated replies",
                "No, talk to a human",
                "No! Get me a human",
                "No. Connect me to an agent",
                "I'd rather talk to a human",
                "real agent please",
                "give me a human",
                "I want a person",
            ],
        );
    }

    /// G49: false friends that look like it.
    #[test]
    fn g49_false_friends_of_asking_for_a_person() {
        check(
            ASKS_FOR_HUMAN,
            false,
            &[
                "connect me to the wifi",
                "a table for one person please",
                "Is this fit for human consumption?",
                "I don't need to talk to a human",
                "no need to speak to a person, thanks",
                "I would rather not talk to someone",
                "I do not want a human",
                "I spoke to your agent yesterday and all is well",
                "do you need a cleaning agent",
                "my travel agent booked it",
                "how much is it per person",
                "talk to my wife about it",
                "put me down for two",
                "can you connect my printer to the network",
                "I am a person who likes pizza",
                "human resources please",
                "transfer me the money",
                "my real estate agent please",
                "",
            ],
        );
    }

    /// G51: angry words, and words that only look angry.
    #[test]
    fn g51_negative_words_and_their_false_friends() {
        check(
            NEGATIVE,
            true,
            &[
                "This is ridiculous, what a useless service.",
                "worst pizza ever",
                "I am fed up with this",
                "you are wasting my time",
                "I'm not happy",
                "not good enough",
                "so rude!",
                "What a joke",
                "this is TERRIBLE",
                "what a waste of my time",
                "I hate this",
            ],
        );
        check(
            NEGATIVE,
            false,
            &[
                "not bad at all",
                "I'm not angry, just curious",
                "I hate to bother you",
                "worst case I come tomorrow",
                "it was not that terrible",
                "awfully nice of you",
                "no problem",
                "where is the rubbish bin",
                "I want to report a scam call",
                "what a lovely evening",
                "I hate mushrooms",
                "I have an upset stomach",
            ],
        );
    }

    /// G52: replies that admit not knowing.
    #[test]
    fn g52_uncertain_replies_are_recognized() {
        check(
            UNCERTAIN,
            true,
            &[
                "I'm not sure about that.",
                "I am not entirely certain.",
                "I don't know, sorry.",
                "I couldn't find your order.",
                "I do not have any information on this.",
                "I'm afraid I can't say.",
                "I am unable to check.",
            ],
        );
        check(
            UNCERTAIN,
            false,
            &[
                "If you are not sure, look at the receipt.",
                "You don't know yet which size you want?",
                "I know the answer.",
                "Sure, I can find it.",
                "The shop cannot deliver today.",
                "I do understand your frustration.",
                "I could help you with that.",
                "I do have the information.",
            ],
        );
    }

    /// D10, G63: a topic counts as whole words, whatever its case.
    #[test]
    fn d10_a_topic_is_matched_on_word_boundaries() {
        let table = [
            ("Can I get LEGAL advice?", "legal advice", true),
            ("legal, and advice", "legal advice", false),
            ("a warm day", "war", false),
            ("the war.", "war", true),
            ("法律のアドバイス", "法律", true),
            ("anything", "", false),
            ("don’t panic", "dont panic", true),
        ];
        for (text, phrase, expected) in table {
            assert_eq!(contains_phrase(text, phrase), expected, "{text} / {phrase}");
        }
    }

    #[test]
    fn a_text_is_cut_into_words() {
        assert_eq!(words("Don't  STOP—now!"), ["dont", "stop", "now"]);
        assert_eq!(words("¿Qué?"), ["qué"]);
    }

    #[test]
    fn an_optional_word_and_a_gap_may_be_empty() {
        let list = PhraseList::parse("a b? ... c");
        for (text, expected) in
            [("a c", true), ("a b c", true), ("a x y z c", true), ("a w x y z c", false)]
        {
            assert_eq!(list.matches(text), expected, "{text}");
        }
    }

    /// An org's own words are found however they are written.
    #[test]
    fn a_list_of_an_org_is_cut_like_a_text() {
        let list = PhraseList::parse("don't|won't pay\n人間 please?\ne-mail address");
        for text in ["I WON’T pay", "人間!", "my e-mail address", "E mail address"] {
            assert!(list.matches(text), "{text}");
        }
        let stored = serde_json::to_string(&list).unwrap();
        assert_eq!(serde_json::from_str::<PhraseList>(&stored).unwrap(), list);
    }

    /// A pattern that could be matched in very many ways takes no longer.
    #[test]
    fn a_nasty_pattern_is_harmless() {
        let list = PhraseList::parse(&format!("{} ... ... b", "a? ".repeat(60)));
        assert!(!list.matches(&"a ".repeat(100)));
    }
}
