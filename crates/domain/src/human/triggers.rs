//! When a conversation goes to a human by itself.
//!
//! Before the model is called the customer's words, the soul, the blocked
//! topics and failing tools are looked at; after it, the agent's own replies.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::escalation::Urgency;
use super::phrases::{self, PhraseList, contains_phrase, words};
use crate::session::errors::DISABLED_TO_DEGRADE;

/// Negative messages, among the last few, that make an angry customer.
pub const NEGATIVE_MESSAGES: usize = 2;
/// How many of the customer's last messages are looked at.
pub const MOOD_WINDOW: usize = 3;
/// Uncertain replies in a session after which a human is asked.
pub const UNCERTAIN_REPLIES: u32 = 3;

/// Why a conversation goes to a human by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trigger", rename_all = "snake_case")]
pub enum Trigger {
    /// The customer asked for one.
    AskedForPerson,
    /// A topic that the agent must not touch.
    BlockedTopic {
        /// The topic.
        topic: String,
    },
    /// A trigger of the agent's soul.
    SoulTrigger {
        /// The phrase.
        phrase: String,
    },
    /// The customer is angry.
    Angry,
    /// Too many tools have failed.
    ToolsFailing,
    /// The agent keeps saying that it does not know.
    Uncertain,
    /// The agent repeats itself.
    RepeatsItself,
}

impl Trigger {
    /// How pressing it is.
    pub const fn urgency(&self) -> Urgency {
        match self {
            Self::Angry | Self::ToolsFailing => Urgency::High,
            Self::AskedForPerson
            | Self::BlockedTopic { .. }
            | Self::SoulTrigger { .. }
            | Self::RepeatsItself => Urgency::Normal,
            Self::Uncertain => Urgency::Low,
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AskedForPerson => f.write_str("asked for a person"),
            Self::BlockedTopic { topic } => write!(f, "blocked topic: {topic}"),
            Self::SoulTrigger { phrase } => write!(f, "the agent's trigger: {phrase}"),
            Self::Angry => f.write_str("the customer is angry"),
            Self::ToolsFailing => f.write_str("several tools are failing"),
            Self::Uncertain => f.write_str("the agent was uncertain three times"),
            Self::RepeatsItself => f.write_str("the agent repeats itself"),
        }
    }
}

/// The phrase lists of an org.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerPhrases {
    /// Ways to ask for a person.
    pub asks_for_human: PhraseList,
    /// Angry words.
    pub negative: PhraseList,
    /// Ways to admit not knowing.
    pub uncertain: PhraseList,
}

impl Default for TriggerPhrases {
    fn default() -> Self {
        Self {
            asks_for_human: PhraseList::parse(phrases::ASKS_FOR_HUMAN),
            negative: PhraseList::parse(phrases::NEGATIVE),
            uncertain: PhraseList::parse(phrases::UNCERTAIN),
        }
    }
}

/// What is known before the model is called.
#[derive(Debug, Clone, Copy)]
pub struct BeforeModel<'a> {
    /// The customer's new message.
    pub message: &'a str,
    /// The customer's earlier messages, oldest first.
    pub earlier: &'a [&'a str],
    /// The agent's blocked topics.
    pub blocked_topics: &'a [String],
    /// The triggers of the agent's soul.
    pub soul_triggers: &'a [String],
    /// How many tools are off in this session.
    pub disabled_tools: usize,
}

/// The most pressing trigger that fires before the model call, if any. It
/// takes the place of the model call.
pub fn before_model(facts: &BeforeModel<'_>, phrases: &TriggerPhrases) -> Option<Trigger> {
    let named = |list: &[String]| {
        list.iter().find(|phrase| contains_phrase(facts.message, phrase)).cloned()
    };
    let recent = facts.earlier.iter().rev().take(MOOD_WINDOW - 1);
    let negative = std::iter::once(&facts.message)
        .chain(recent)
        .filter(|message| phrases.negative.matches(message))
        .count();
    let fired = [
        (negative >= NEGATIVE_MESSAGES).then_some(Trigger::Angry),
        (facts.disabled_tools >= DISABLED_TO_DEGRADE).then_some(Trigger::ToolsFailing),
        phrases.asks_for_human.matches(facts.message).then_some(Trigger::AskedForPerson),
        named(facts.blocked_topics).map(|topic| Trigger::BlockedTopic { topic }),
        named(facts.soul_triggers).map(|phrase| Trigger::SoulTrigger { phrase }),
    ];
    // The list is from the most pressing to the least.
    fired.into_iter().flatten().next()
}

/// What is known after the agent has replied.
#[derive(Debug, Clone, Copy)]
pub struct AfterReply<'a> {
    /// The reply, which is delivered in any case.
    pub reply: &'a str,
    /// The reply before it.
    pub previous: Option<&'a str>,
    /// The uncertain replies of the session, this one not counted.
    pub uncertain_before: u32,
}

/// Whether a reply counts as uncertain.
pub fn is_uncertain(reply: &str, phrases: &TriggerPhrases) -> bool {
    phrases.uncertain.matches(reply)
}

/// The trigger that fires after a reply, if any.
pub fn after_reply(facts: &AfterReply<'_>, phrases: &TriggerPhrases) -> Option<Trigger> {
    if facts.previous.is_some_and(|previous| alike(previous, facts.reply)) {
        Some(Trigger::RepeatsItself)
    } else if is_uncertain(facts.reply, phrases) && facts.uncertain_before + 1 >= UNCERTAIN_REPLIES
    {
        Some(Trigger::Uncertain)
    } else {
        None
    }
}

/// Whether two replies share at least four fifths of their words.
fn alike(one: &str, other: &str) -> bool {
    let one: BTreeSet<String> = words(one).into_iter().collect();
    let other: BTreeSet<String> = words(other).into_iter().collect();
    let (shared, all) = (one.intersection(&other).count(), one.union(&other).count());
    all > 0 && shared * 5 >= all * 4
}

#[cfg(test)]
mod tests {
    use super::{
        AfterReply, BeforeModel, Trigger, TriggerPhrases, after_reply, alike, before_model,
    };
    use crate::human::escalation::Urgency;

    fn facts<'a>(message: &'a str, earlier: &'a [&'a str]) -> BeforeModel<'a> {
        BeforeModel { message, earlier, blocked_topics: &[], soul_triggers: &[], disabled_tools: 0 }
    }

    fn fired(facts: &BeforeModel<'_>) -> Option<(Trigger, Urgency)> {
        before_model(facts, &TriggerPhrases::default())
            .map(|trigger| (trigger.clone(), trigger.urgency()))
    }

    /// G48, G49: asking for a person is urgency normal; small talk is nothing.
    #[test]
    fn g48_g49_asking_for_a_person_escalates() {
        let asked = fired(&facts("This is ridiculous. I want a real person!", &["I paid 50"]));
        assert_eq!(asked, Some((Trigger::AskedForPerson, Urgency::Normal)));
        assert_eq!(fired(&facts("connect me to the wifi", &[])), None);
    }

    /// G51: two negative messages among the last three, the new one included.
    #[test]
    fn g51_an_angry_customer_is_urgent() {
        let angry = Some((Trigger::Angry, Urgency::High));
        type Case<'a> = (&'a [&'a str], &'a str, Option<(Trigger, Urgency)>);
        let table: [Case<'_>; 6] = [
            (&[], "this is useless", None),
            (&["terrible service"], "this is useless", angry.clone()),
            (&["terrible service", "where is it"], "this is useless", angry.clone()),
            (&["terrible service", "ok", "where is it"], "this is useless", None),
            (&["terrible", "useless"], "hello?", angry.clone()),
            (&["terrible", "useless"], "I want a real person", angry),
        ];
        for (earlier, message, expected) in table {
            assert_eq!(fired(&facts(message, earlier)), expected, "{earlier:?} {message}");
        }
    }

    /// D10: a blocked topic escalates and the reason names it.
    #[test]
    fn d10_a_blocked_topic_is_named() {
        let topics = ["medical advice".to_owned()];
        let facts = BeforeModel {
            blocked_topics: &topics,
            ..facts("I need Medical Advice on allergies", &[])
        };
        let (trigger, urgency) = fired(&facts).unwrap();
        assert_eq!(trigger.to_string(), "blocked topic: medical advice");
        assert_eq!(urgency, Urgency::Normal);
    }

    /// G63: an agent's own trigger fires for it and not for another.
    #[test]
    fn g63_a_souls_trigger_belongs_to_its_agent() {
        let triggers = ["cancel my contract".to_owned()];
        let with = BeforeModel {
            soul_triggers: &triggers,
            ..facts("Please cancel my contract today", &[])
        };
        let (trigger, _) = fired(&with).unwrap();
        assert_eq!(trigger.to_string(), "the agent's trigger: cancel my contract");
        assert_eq!(fired(&facts("Please cancel my contract today", &[])), None);
    }

    /// G54: three tools off is urgent.
    #[test]
    fn g54_failing_tools_are_urgent() {
        let with = |disabled_tools| fired(&BeforeModel { disabled_tools, ..facts("hi", &[]) });
        assert_eq!(with(2), None);
        assert_eq!(with(3), Some((Trigger::ToolsFailing, Urgency::High)));
    }

    fn after(reply: &str, previous: Option<&str>, uncertain_before: u32) -> Option<Trigger> {
        let facts = AfterReply { reply, previous, uncertain_before };
        after_reply(&facts, &TriggerPhrases::default())
    }

    /// G52: the third uncertain reply, with urgency low.
    #[test]
    fn g52_the_third_uncertain_reply_asks_for_a_human() {
        assert_eq!(after("I'm not sure.", None, 1), None);
        assert_eq!(after("I'm not sure.", None, 2), Some(Trigger::Uncertain));
        assert_eq!(after("It is at 5 pm.", None, 7), None);
        assert_eq!(Trigger::Uncertain.urgency(), Urgency::Low);
    }

    /// G53: two replies in a row that share 0.8 of their words.
    #[test]
    fn g53_a_loop_is_noticed() {
        let table = [
            ("one two three four", "One, two, three, four!", true),
            ("a b c d", "a b c d e", true),
            ("a b c", "a b c d", false),
            ("a a a b", "b a", true),
            ("", "", false),
        ];
        for (one, other, expected) in table {
            assert_eq!(alike(one, other), expected, "{one} / {other}");
        }
        let again = after("Please send the order number.", Some("please send the order number"), 0);
        assert_eq!(again, Some(Trigger::RepeatsItself));
        assert_eq!(Trigger::RepeatsItself.urgency(), Urgency::Normal);
        assert_eq!(after("hello", None, 0), None);
    }
}
