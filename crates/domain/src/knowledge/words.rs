//! Words: what a text is found by, the same on every database.

use std::collections::{BTreeMap, HashMap};

use super::Document;

/// Letters of a word that count; the rest of a longer one is ignored.
pub const MAX_WORD_CHARS: usize = 40;
/// The most different words by which a document is found.
pub const MAX_WORDS: usize = 8000;

/// How often a word of the title or a tag counts.
const TITLE_COUNTS: u64 = 3;
/// The length of a usual document in words; in a longer one each counts less.
const USUAL_LENGTH: u64 = 300;

/// A word and where in the text it begins, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// As it is compared: in lower case, without accents.
    pub text: String,
    /// Where it begins.
    pub at: usize,
}

/// The words of a text, in order. Letters and digits make words, everything
/// else parts them; in scripts without spaces each sign is a word.
pub fn words(text: &str) -> Vec<Word> {
    let (mut found, mut word, mut length) = (Vec::new(), String::new(), 0);
    let mut start = 0;
    let mut end = |word: &mut String, at| {
        if !word.is_empty() {
            found.push(Word { text: std::mem::take(word), at });
        }
    };
    for (at, written) in text.char_indices() {
        if is_accent(written) {
            continue;
        }
        let alone = stands_alone(written);
        if alone || !written.is_alphanumeric() {
            end(&mut word, start);
        }
        if word.is_empty() {
            (start, length) = (at, 0);
        }
        if written.is_alphanumeric() && length < MAX_WORD_CHARS {
            length += 1;
            written.to_lowercase().for_each(|c| push_plain(&mut word, c));
        }
        if alone {
            end(&mut word, start);
        }
    }
    end(&mut word, start);
    found
}

/// What a document is found by: each of its words with its weight, which grows
/// with how often it is there, ever more slowly, and shrinks with the length of
/// the document.
pub fn weights(document: &Document) -> BTreeMap<String, u32> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    let heads = std::iter::once(document.title()).chain(document.tags().iter().map(String::as_str));
    for word in heads.flat_map(words) {
        *counts.entry(word.text).or_default() += TITLE_COUNTS;
    }
    for word in words(document.body()) {
        *counts.entry(word.text).or_default() += 1;
    }
    let length: u64 = counts.values().sum();
    let mut weighed: Vec<(String, u32)> =
        counts.into_iter().map(|(word, count)| (word, weight(count, length))).collect();
    weighed.sort_unstable_by(|(a, heavy), (b, light)| light.cmp(heavy).then(a.cmp(b)));
    weighed.truncate(MAX_WORDS);
    weighed.into_iter().collect()
}

/// The part of BM25 that concerns one document, in thousandths, with k = 1.2
/// and b = 0.75; at most 2200.
fn weight(count: u64, length: u64) -> u32 {
    let scaled = 40 * USUAL_LENGTH * count;
    let saturation = 12 * (USUAL_LENGTH + 3 * length);
    u32::try_from(2200 * scaled / (scaled + saturation)).unwrap_or(u32::MAX)
}

/// Accents that are written as signs of their own.
const fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Signs of scripts without spaces: Chinese, Japanese.
const fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Adds a letter without its accent, so that whoever types none finds it too.
fn push_plain(word: &mut String, c: char) {
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
        other if is_accent(other) => {}
        other => word.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_WORD_CHARS, MAX_WORDS, weights, words};
    use crate::knowledge::Document;

    #[test]
    fn a_text_falls_into_words() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<String> = words(text).into_iter().map(|word| word.text).collect();
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
    fn a_word_knows_where_it_begins() {
        let at = |text: &str| words(text).iter().map(|word| word.at).collect::<Vec<_>>();
        assert_eq!(at("é, two 菜单x"), [0, 4, 8, 11, 14]);
    }

    #[test]
    fn a_word_weighs_more_the_oftener_and_in_the_title() {
        let of = |title: &str, body: &str| {
            weights(&Document::new(title, body, []).unwrap()).get("pizza").copied().unwrap_or(0)
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
        let found = weights(&document);
        assert_eq!(found.len(), MAX_WORDS);
        assert!(found.contains_key("title") && found.contains_key("tag"));
    }
}
