//! Properties of phrase lists: any list matches any text without a panic and in
//! reasonable time.

use ostler_domain::human::phrases::{PhraseList, contains_phrase, normalized_words};
use ostler_domain::human::triggers::{TriggerSettings, is_uncertain};
use ostler_domain::tool::template::ArgumentTemplate;
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

/// G49: splitting a text into words never panics; words are not empty and have no
/// spaces or apostrophes.
#[test]
fn g49_any_text_is_split_into_words() {
    check(600, &texts(), |text| {
        for word in normalized_words(&text) {
            let clean = !word.is_empty() && !word.contains([' ', '\n', '\'', '’', '`', '.', '?']);
            prop_assert!(clean, "{:?} of {:?}", word, text);
        }
        Ok(())
    });
}

/// G49: any list can be matched with any text.
#[test]
fn g49_any_list_matches_any_text_without_panic() {
    check(600, &(texts(), texts()), |(list, text)| {
        let found = PhraseList::parse(&list).matches(&text);
        prop_assert!(!found || !normalized_words(&text).is_empty());
        Ok(())
    });
}

/// A part of a pattern, for the independent matcher.
#[derive(Debug, Clone)]
enum PatternPart {
    Word(Vec<&'static str>),
    Optional(Vec<&'static str>),
    Gap,
}

impl PatternPart {
    fn to_text(&self) -> String {
        match self {
            Self::Word(choice) => choice.join("|"),
            Self::Optional(choice) => choice.join("|") + "?",
            Self::Gap => "...".into(),
        }
    }

    /// Returns the positions after this part, given those before it.
    fn advance(&self, at: &[usize], words: &[String]) -> Vec<usize> {
        let step = |&at: &usize, choice: &[&str]| {
            words.get(at).filter(|word| choice.contains(&word.as_str())).map(|_| at + 1)
        };
        let mut next: Vec<usize> = match self {
            Self::Word(choice) => at.iter().filter_map(|at| step(at, choice)).collect(),
            Self::Optional(choice) => {
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
fn patterns() -> impl Strategy<Value = Vec<PatternPart>> {
    let choice = || prop::collection::vec(select(vec!["a", "b", "c"]), 1..3);
    let part = prop_oneof![
        3 => choice().prop_map(PatternPart::Word),
        2 => choice().prop_map(PatternPart::Optional),
        2 => Just(PatternPart::Gap),
    ];
    (prop::collection::vec(part, 0..5), choice(), any::<prop::sample::Index>()).prop_map(
        |(mut parts, word, index)| {
            let at = index.index(parts.len() + 1);
            parts.insert(at, PatternPart::Word(word));
            parts
        },
    )
}

fn to_text(pattern: &[PatternPart]) -> String {
    pattern.iter().map(PatternPart::to_text).collect::<Vec<_>>().join(" ")
}

fn messages() -> impl Strategy<Value = String> {
    let word = select(vec!["a", "b", "c", "A", "x", "y", "z"]);
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

/// G49, G51, G52: a list matches exactly when one of its patterns does from some
/// position, followed as a set of positions.
#[test]
fn g49_matching_agrees_with_a_set_of_positions() {
    let lists = prop::collection::vec(patterns(), 0..4);
    check(3000, &(lists, messages()), |(list, text)| {
        let words = normalized_words(&text);
        let matches_somewhere = |pattern: &Vec<PatternPart>| {
            (0..words.len()).any(|start| {
                let ends = pattern.iter().fold(vec![start], |at, part| part.advance(&at, &words));
                !ends.is_empty()
            })
        };
        let lines: Vec<String> = list.iter().map(|pattern| to_text(pattern)).collect();
        let found = PhraseList::parse(&lines.join("\n")).matches(&text);
        prop_assert_eq!(found, list.iter().any(matches_somewhere));
        Ok(())
    });
}

/// G49, G51: an exception only removes matches, and one equal to the only phrase
/// removes them all.
#[test]
fn g49_an_exception_only_removes_matches() {
    check(800, &(patterns(), patterns(), messages()), |(pattern, exception, text)| {
        let (line, exception) = (to_text(&pattern), to_text(&exception));
        let plain = PhraseList::parse(&line).matches(&text);
        let with_exception = PhraseList::parse(&format!("{line}\n! {exception}")).matches(&text);
        prop_assert!(plain || !with_exception);
        let itself = PhraseList::parse(&format!("{line}\n! {line}")).matches(&text);
        prop_assert!(!itself);
        Ok(())
    });
}

/// Words as an org would write them in its list, in several scripts.
fn plain_words() -> impl Strategy<Value = String> {
    let known = ["don't", "can’t", "help", "Person", "MENSCH", "ça", "человек", "人工", "คน"];
    prop_oneof![select(known.map(str::to_owned).to_vec()), "[a-zA-Z]{1,8}"]
}

/// D10, G49, G63: a phrase of an org matches when a customer writes the same, in
/// any script, case and apostrophes.
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

/// Letters whose upper case maps back to them; others (ß, ς) have no single
/// partner.
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
fn d10_a_topic_matches_in_any_case() {
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

/// G49: a list that can match in very many ways terminates quickly. Tried one by
/// one, this would run for years.
#[test]
fn g49_lists_with_very_many_alternatives_terminate() {
    let many = |part: &str, count: usize| part.repeat(count);
    for (name, parts, text) in [
        ("optional words", many("a? ", 40), many("a ", 40)),
        ("gaps", many("... ", 30), many("a ", 40)),
        ("gaps between words", many("a ... ", 30), many("a ", 60)),
        ("optional words and gaps", many("a? ... ", 30), many("a ", 40)),
        ("many tokens", many("a? ", 500), many("c ", 20)),
    ] {
        let list = PhraseList::parse(&(parts + "b"));
        assert!(!list.matches(&text), "{name}");
        assert!(list.matches(&(text + "b")), "{name}, with the word that was missing");
    }
}

/// Returns the processor time of this thread, so that a busy machine changes nothing; where
/// the system does not tell it, the time.
fn cpu_time() -> std::time::Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = stat.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(
        || START.get_or_init(std::time::Instant::now).elapsed(),
        std::time::Duration::from_nanos,
    )
}

/// Returns whether four times the text takes at most six times as long, in one of a
/// few measurements.
fn is_linear(part: &str, work: &dyn Fn(&str)) -> bool {
    let time = |bytes: usize| {
        let text = part.repeat(bytes / part.len());
        let run = || {
            let started = cpu_time();
            work(&text);
            cpu_time().saturating_sub(started)
        };
        (0..2).map(|_| run()).min().unwrap_or_default()
    };
    let slack = std::time::Duration::from_millis(10);
    (0..6).any(|_| {
        let (small, large) = (time(8 * 1024), time(32 * 1024));
        large < small * 6 + slack
    })
}

/// S05: looking for the shipped trigger phrases takes linear time.
#[test]
fn s05_looking_for_phrases_takes_linear_time() {
    let settings = TriggerSettings::default();
    let work = |text: &str| {
        std::hint::black_box(is_uncertain(text, &settings));
        std::hint::black_box(settings.asks_for_human.matches(text));
        std::hint::black_box(settings.negative.matches(text));
        std::hint::black_box(contains_phrase(text, "speak ... human"));
    };
    for part in ["a ", "speak to ", "i want to ", "'", "é", "not ", "talk to a talk to "] {
        assert!(is_linear(part, &work), "{part:?}");
    }
}

/// S05: reading and filling the templates of an organization's HTTP tools takes linear time.
#[test]
fn s05_reading_a_template_takes_linear_time() {
    let work = |text: &str| {
        let read = ArgumentTemplate::parse(text);
        std::hint::black_box(read.ok().and_then(|read| read.render(|_| Some("x".to_owned()))));
    };
    for part in ["{", "}", "{a}", "{a", "a b", "{contact.id}", "é"] {
        assert!(is_linear(part, &work), "{part:?}");
    }
}
