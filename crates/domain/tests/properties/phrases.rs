//! Phrases: any list and any text, without a panic and to the end.

use ostler_domain::human::phrases::{PhraseList, contains_phrase, words};
use proptest::prelude::*;
use proptest::sample::select;

use crate::check;

/// Texts of all scripts, and texts that look like lists and messages.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,60}",
        "[a-d?!|.'’ \n#]{0,40}",
        prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)
    ]
}

/// G49: cutting a text into words never panics, and words have no spaces, no
/// apostrophes and at least one character.
#[test]
fn g49_any_text_is_cut_into_words() {
    check(600, &texts(), |text| {
        for word in words(&text) {
            let clean = !word.is_empty() && !word.contains([' ', '\n', '\'', '’', '`', '.', '?']);
            prop_assert!(clean, "{:?} of {:?}", word, text);
        }
        Ok(())
    });
}

/// G49: any list can be held against any text.
#[test]
fn g49_any_list_meets_any_text() {
    check(600, &(texts(), texts()), |(list, text)| {
        let found = PhraseList::parse(&list).matches(&text);
        prop_assert!(!found || !words(&text).is_empty());
        Ok(())
    });
}

/// A piece of a pattern, for the independent matcher.
#[derive(Debug, Clone)]
enum Piece {
    Word(Vec<&'static str>),
    Maybe(Vec<&'static str>),
    Gap,
}

impl Piece {
    fn written(&self) -> String {
        match self {
            Self::Word(choice) => choice.join("|"),
            Self::Maybe(choice) => choice.join("|") + "?",
            Self::Gap => "...".into(),
        }
    }

    /// Where a match may stand after this piece, given where it may before.
    fn advance(&self, at: &[usize], words: &[String]) -> Vec<usize> {
        let step = |&at: &usize, choice: &[&str]| {
            words.get(at).filter(|word| choice.contains(&word.as_str())).map(|_| at + 1)
        };
        let mut next: Vec<usize> = match self {
            Self::Word(choice) => at.iter().filter_map(|at| step(at, choice)).collect(),
            Self::Maybe(choice) => {
                at.iter().flat_map(|at| step(at, choice).into_iter().chain([*at])).collect()
            }
            Self::Gap => at.iter().flat_map(|at| *at..=(at + 3).min(words.len())).collect(),
        };
        next.sort_unstable();
        next.dedup();
        next
    }
}

/// Patterns with at least one word that must be there.
fn patterns() -> impl Strategy<Value = Vec<Piece>> {
    let choice = || prop::collection::vec(select(vec!["a", "b", "c"]), 1..3);
    let piece = prop_oneof![
        3 => choice().prop_map(Piece::Word),
        2 => choice().prop_map(Piece::Maybe),
        2 => Just(Piece::Gap),
    ];
    (prop::collection::vec(piece, 0..5), choice(), any::<prop::sample::Index>()).prop_map(
        |(mut pieces, word, index)| {
            let at = index.index(pieces.len() + 1);
            pieces.insert(at, Piece::Word(word));
            pieces
        },
    )
}

fn written(pattern: &[Piece]) -> String {
    pattern.iter().map(Piece::written).collect::<Vec<_>>().join(" ")
}

fn messages() -> impl Strategy<Value = String> {
    let word = select(vec!["a", "b", "c", "A", "x", "y", "z"]);
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

/// G49, G51, G52: a list matches exactly when one of its patterns leads
/// through the words from somewhere, followed as a set of positions.
#[test]
fn g49_matching_agrees_with_a_set_of_positions() {
    let lists = prop::collection::vec(patterns(), 0..4);
    check(3000, &(lists, messages()), |(list, text)| {
        let words = words(&text);
        let fits = |pattern: &Vec<Piece>| {
            (0..words.len()).any(|start| {
                let ends = pattern.iter().fold(vec![start], |at, piece| piece.advance(&at, &words));
                !ends.is_empty()
            })
        };
        let lines: Vec<String> = list.iter().map(|pattern| written(pattern)).collect();
        let found = PhraseList::parse(&lines.join("\n")).matches(&text);
        prop_assert_eq!(found, list.iter().any(fits));
        Ok(())
    });
}

/// G49, G51: a false friend only ever takes matches away, and one that says
/// the same as the only phrase takes them all.
#[test]
fn g49_a_false_friend_only_takes_away() {
    check(800, &(patterns(), patterns(), messages()), |(pattern, friend, text)| {
        let (line, friend) = (written(&pattern), written(&friend));
        let plain = PhraseList::parse(&line).matches(&text);
        let with = PhraseList::parse(&format!("{line}\n! {friend}")).matches(&text);
        prop_assert!(plain || !with);
        let itself = PhraseList::parse(&format!("{line}\n! {line}")).matches(&text);
        prop_assert!(!itself);
        Ok(())
    });
}

/// Words as an org would write them into its list, in several scripts.
fn plain_words() -> impl Strategy<Value = String> {
    let known = ["don't", "can’t", "help", "Person", "MENSCH", "ça", "человек", "人工", "คน"];
    prop_oneof![select(known.map(str::to_owned).to_vec()), "[a-zA-Z]{1,8}"]
}

/// D10, G49, G63: what an org writes into a list is found when a customer
/// writes the same, whatever the script, the case and the apostrophes.
#[test]
fn g49_a_phrase_matches_itself() {
    check(400, &prop::collection::vec(plain_words(), 1..5), |phrase| {
        let phrase = phrase.join(" ");
        let text = format!("hello {phrase} thanks");
        prop_assert!(contains_phrase(&text, &phrase), "{:?} as a topic", phrase);
        prop_assert!(PhraseList::parse(&phrase).matches(&text), "{:?} as a pattern", phrase);
        Ok(())
    });
}

/// Letters whose upper case leads back to them; the others (ß, ς) have no
/// single partner.
fn cased_letters() -> impl Strategy<Value = char> {
    let alone =
        |mut chars: std::char::ToUppercase| Some(chars.next()?).filter(|_| chars.len() == 0);
    let letters: Vec<char> = ('a'..'\u{2000}')
        .filter(|&c| {
            alone(c.to_uppercase()).is_some_and(|upper| upper != c && upper.to_lowercase().eq([c]))
        })
        .collect();
    select(letters)
}

/// D10: a topic counts in any case, in every script that has cases.
#[test]
fn d10_a_topic_counts_in_any_case() {
    let word = prop::collection::vec(cased_letters(), 1..6).prop_map(String::from_iter);
    let words = prop::collection::vec(word, 1..4).prop_map(|words| words.join(" "));
    check(400, &(words, "[a-z ]{0,10}", "[a-z ]{0,10}"), |(phrase, before, after)| {
        let text = format!("{before} {phrase} {after}");
        for (text, phrase) in [
            (text.clone(), phrase.to_uppercase()),
            (text.to_uppercase(), phrase.clone()),
            (text.to_uppercase(), phrase.to_uppercase()),
        ] {
            prop_assert!(contains_phrase(&text, &phrase), "{:?} in {:?}", phrase, text);
        }
        Ok(())
    });
}

/// G49: a list that could be held against a message in very many ways, by
/// accident or not, comes to an end like any other. One way after the other,
/// this would run for years.
#[test]
fn g49_lists_with_very_many_ways_come_to_an_end() {
    let many = |piece: &str, count: usize| piece.repeat(count);
    for (name, pieces, text) in [
        ("optional words", many("a? ", 40), many("a ", 40)),
        ("gaps", many("... ", 30), many("a ", 40)),
        ("gaps between words", many("a ... ", 30), many("a ", 60)),
        ("optional words and gaps", many("a? ... ", 30), many("a ", 40)),
        ("many tokens", many("a? ", 500), many("c ", 20)),
    ] {
        let list = PhraseList::parse(&(pieces + "b"));
        assert!(!list.matches(&text), "{name}");
        assert!(list.matches(&(text + "b")), "{name}, with the word that was missing");
    }
}
