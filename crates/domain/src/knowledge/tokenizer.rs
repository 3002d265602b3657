//! Tokenizer: the words by which a text is indexed and found, the same on every
//! database.

use std::collections::{BTreeMap, HashMap};

use super::Document;

/// The number of letters of a word that count; the rest is ignored.
pub const MAX_WORD_CHARS: usize = 40;
/// The maximum number of distinct words indexed for a document.
pub const MAX_WORDS: usize = 8000;

/// How many times a word of the title or a tag counts.
const TITLE_BOOST: u64 = 3;
/// The typical document length in words; in a longer one each word counts less.
const TYPICAL_LENGTH: u64 = 300;

/// A word of a text and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// In lower case, without accents.
    pub text: String,
    /// Offset of its first byte.
    pub offset: usize,
}

/// Splits a text into words, in order. Words consist of letters and digits; in
/// scripts without spaces each character is a word.
pub fn tokenize(text: &str) -> Vec<Word> {
    let (mut found, mut word, mut length) = (Vec::new(), String::new(), 0);
    let mut start = 0;
    let mut push_word = |word: &mut String, offset| {
        if !word.is_empty() {
            found.push(Word { text: std::mem::take(word), offset });
        }
    };
    for (at, c) in text.char_indices() {
        if is_combining_accent(c) {
            continue;
        }
        let is_word = is_unspaced_script(c);
        if is_word || !c.is_alphanumeric() {
            push_word(&mut word, start);
        }
        if word.is_empty() {
            (start, length) = (at, 0);
        }
        if c.is_alphanumeric() && length < MAX_WORD_CHARS {
            length += 1;
            c.to_lowercase().for_each(|c| push_unaccented(&mut word, c));
        }
        if is_word {
            push_word(&mut word, start);
        }
    }
    push_word(&mut word, start);
    found
}

/// Returns the weight of each word of a document. It grows ever more slowly with
/// the number of occurrences, and shrinks with the length of the document.
pub fn word_weights(document: &Document) -> BTreeMap<String, u32> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    let headings =
        std::iter::once(document.title()).chain(document.tags().iter().map(String::as_str));
    for word in headings.flat_map(tokenize) {
        *counts.entry(word.text).or_default() += TITLE_BOOST;
    }
    count_words(document.body(), &mut counts);
    weigh(counts)
}

/// Returns the weight of each word of a text without title and tags.
pub fn text_weights(text: &str) -> BTreeMap<String, u32> {
    let mut counts = HashMap::new();
    count_words(text, &mut counts);
    weigh(counts)
}

fn count_words(text: &str, counts: &mut HashMap<String, u64>) {
    for word in tokenize(text) {
        *counts.entry(word.text).or_default() += 1;
    }
}

fn weigh(counts: HashMap<String, u64>) -> BTreeMap<String, u32> {
    let length: u64 = counts.values().sum();
    let mut weights: Vec<(String, u32)> =
        counts.into_iter().map(|(word, count)| (word, weight(count, length))).collect();
    weights.sort_unstable_by(|(a, heavy), (b, light)| light.cmp(heavy).then(a.cmp(b)));
    weights.truncate(MAX_WORDS);
    weights.into_iter().collect()
}

/// Returns the document part of BM25 in thousandths, with k = 1.2 and b = 0.75; at
/// most 2200.
fn weight(count: u64, length: u64) -> u32 {
    let scaled = 40 * TYPICAL_LENGTH * count;
    let saturation = 12 * (TYPICAL_LENGTH + 3 * length);
    u32::try_from(2200 * scaled / (scaled + saturation)).unwrap_or(u32::MAX)
}

/// Returns whether this is a combining accent.
const fn is_combining_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Returns whether this is a character of a script without spaces: Chinese or
/// Japanese.
const fn is_unspaced_script(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Adds a letter without its accent, so that a query typed without accents finds
/// it.
fn push_unaccented(word: &mut String, c: char) {
    match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' => word.push('a'),
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => word.push('c'),
        'ď' | 'đ' => word.push('d'),
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => word.push('e'),
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => word.push('g'),
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' => word.push('i'),
        'ĺ' | 'ļ' | 'ľ' | 'ł' => word.push('l'),
        'ñ' | 'ń' | 'ņ' | 'ň' => word.push('n'),
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' => word.push('o'),
        'ŕ' | 'ŗ' | 'ř' => word.push('r'),
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => word.push('s'),
        'ţ' | 'ť' | 'ț' => word.push('t'),
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => word.push('u'),
        'ý' | 'ÿ' => word.push('y'),
        'ź' | 'ż' | 'ž' => word.push('z'),
        'ß' => word.push_str("ss"),
        'æ' => word.push_str("ae"),
        'œ' => word.push_str("oe"),
        other if is_combining_accent(other) => {}
        other => word.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_WORD_CHARS, MAX_WORDS, tokenize, word_weights};
    use crate::knowledge::Document;

    #[test]
    fn a_text_is_split_into_words() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<String> = tokenize(text).into_iter().map(|word| word.text).collect();
            assert_eq!(found, expected, "{text}");
        };
        check("", &[]);
        check(" \0 * - \" 🙂 ()", &[]);
        check("Don't order NOW!", &["don", "t", "order", "now"]);
        check("L'orario: 9-18", &["l", "orario", "9", "18"]);
        check(
            "Perché CAFÉ cafe\u{301} İzmir Straße",
            &["perche", "cafe", "cafe", "izmir", "strasse"],
        );
        check("menü菜单メ2", &["menu", "菜", "单", "メ", "2"]);
        check("привет мир", &["привет", "мир"]);
        check(&"x".repeat(10_000), &[&"x".repeat(MAX_WORD_CHARS)]);
    }

    #[test]
    fn a_word_has_the_offset_of_its_first_byte() {
        let offsets =
            |text: &str| tokenize(text).iter().map(|word| word.offset).collect::<Vec<_>>();
        assert_eq!(offsets("é, two 菜单x"), [0, 4, 8, 11, 14]);
    }

    #[test]
    fn a_word_weighs_more_when_repeated_and_in_the_title() {
        let of = |title: &str, body: &str| {
            word_weights(&Document::new(title, body, []).unwrap())
                .get("pizza")
                .copied()
                .unwrap_or(0)
        };
        assert_eq!(of("Menu", "pasta"), 0);
        assert!(of("Menu", "pizza pasta") < of("Menu", "pizza pizza pasta"));
        assert!(of("Menu", "pizza pasta") < of("Pizza", "pasta"));
        assert!(of("Menu", &format!("pizza {}", "pasta ".repeat(500))) < of("Menu", "pizza pasta"));
    }

    #[test]
    fn the_words_of_a_document_are_limited() {
        let body: String = (0..2 * MAX_WORDS).map(|n| format!("w{n} ")).collect();
        let document = Document::new("Title", &body, ["tag"]).unwrap();
        let found = word_weights(&document);
        assert_eq!(found.len(), MAX_WORDS);
        assert!(found.contains_key("title") && found.contains_key("tag"));
    }
}
