use super::{
    HUMAN_REQUEST_PHRASES, NEGATIVE_PHRASES, PhraseList, UNCERTAIN_PHRASES, contains_phrase,
    normalized_words,
};

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
        HUMAN_REQUEST_PHRASES,
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
            "human",
            "Agent!",
            "a human please",
            "I need an agent",
            "is there a human I can talk to?",
            "get me your manager",
            "let me talk to your boss",
            "speak to customer service",
            "enough with the bot",
            "Do you not have a real person I could speak to?",
            "No need. Talk to a human",
            "why don't you connect me to an agent",
            "I don't want a bot, I want a human",
        ],
    );
}

/// G49: similar phrases that do not ask for a person.
#[test]
fn g49_similar_phrases_do_not_ask_for_a_person() {
    check(
        HUMAN_REQUEST_PHRASES,
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
            "please do not transfer me to a person",
            "don't connect me to an agent",
            "no human please",
            "I don't think I need to talk to a human",
            "I like to talk to people",
            "we want a person per table",
            "ticket agent please",
            "live support band tonight?",
            "",
        ],
    );
}

/// G51: angry words, and words that only look angry.
#[test]
fn g51_negative_words_match_and_similar_ones_do_not() {
    check(
        NEGATIVE_PHRASES,
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
            "I'm not at all happy",
            "not really acceptable",
            "I'm unhappy",
            "bad service",
            "this sucks",
        ],
    );
    check(
        NEGATIVE_PHRASES,
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
            "stupid question, but when do you open?",
            "unbelievable, thank you!",
            "my card was used for fraud",
            "the worst is over",
            "the weather is terrible",
        ],
    );
}

/// G52: replies that admit not knowing.
#[test]
fn g52_uncertain_replies_are_recognized() {
    check(
        UNCERTAIN_PHRASES,
        true,
        &[
            "I'm not sure about that.",
            "I am not entirely certain.",
            "I don't know, sorry.",
            "I couldn't find your order.",
            "I do not have any information on this.",
            "I'm afraid I can't say.",
            "I am unable to check.",
            "I have no idea.",
            "I wasn't able to find it.",
        ],
    );
    check(
        UNCERTAIN_PHRASES,
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
            "I'm not sure if you saw it, it ships today.",
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
fn a_text_is_split_into_words() {
    assert_eq!(normalized_words("Don't  STOP—now!"), ["dont", "stop", "now"]);
    assert_eq!(normalized_words("¿Qué?"), ["qué"]);
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

/// Phrases of an org match however they are written.
#[test]
fn phrases_of_an_org_match_however_they_are_written() {
    let list = PhraseList::parse("don't|won't pay\n人間 please?\ne-mail address");
    for text in ["I WON’T pay", "人間!", "my e-mail address", "E mail address"] {
        assert!(list.matches(text), "{text}");
    }
    let stored = serde_json::to_string(&list).unwrap();
    assert_eq!(serde_json::from_str::<PhraseList>(&stored).unwrap(), list);
}

/// A pattern with very many alternatives takes no longer.
#[test]
fn a_pattern_with_many_alternatives_is_fast() {
    let list = PhraseList::parse(&format!("{} ... ... b", "a? ".repeat(60)));
    assert!(!list.matches(&"a ".repeat(100)));
}

/// G49: a long sentence full of exceptions is scanned once.
#[test]
fn g49_very_many_exceptions_are_fast() {
    let list = PhraseList::parse("worst|best case?\n! worst case");
    let text = "worst case ".repeat(200_000);
    assert!(!list.matches(&text));
    assert!(list.matches(&format!("{text} best")));
}
