//! When a conversation goes to a human by itself.
//!
//! Before the model is called the customer's words, the soul, the blocked
//! topics and failing tools are looked at; after it, the agent's own replies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::escalation::Urgency;
use super::phrases::{self, PhraseList, contains_phrase, words};
use crate::id::AgentId;

/// How much it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerPolicy {
    /// Negative messages, among the last few, that make an angry customer.
    pub negative_messages: usize,
    /// How many of the customer's last messages are looked at.
    pub mood_window: usize,
    /// Tools that have failed.
    pub failed_tools: usize,
    /// Uncertain replies.
    pub uncertain_replies: u32,
    /// The share of words, in percent, that two replies have in common when
    /// the agent repeats itself.
    pub alike_percent: usize,
}

impl Default for TriggerPolicy {
    fn default() -> Self {
        Self {
            negative_messages: 2,
            mood_window: 3,
            failed_tools: 3,
            uncertain_replies: 3,
            alike_percent: 80,
        }
    }
}

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

/// The kinds of triggers, for settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each variant is the trigger of the same name")]
pub enum TriggerKind {
    AskedForPerson,
    BlockedTopic,
    SoulTrigger,
    Angry,
    ToolsFailing,
    Uncertain,
    RepeatsItself,
}

impl Trigger {
    /// Its kind.
    pub const fn kind(&self) -> TriggerKind {
        match self {
            Self::AskedForPerson => TriggerKind::AskedForPerson,
            Self::BlockedTopic { .. } => TriggerKind::BlockedTopic,
            Self::SoulTrigger { .. } => TriggerKind::SoulTrigger,
            Self::Angry => TriggerKind::Angry,
            Self::ToolsFailing => TriggerKind::ToolsFailing,
            Self::Uncertain => TriggerKind::Uncertain,
            Self::RepeatsItself => TriggerKind::RepeatsItself,
        }
    }

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

    /// Where it sends the conversation: to the org's specialist for such
    /// things, unless that one has it already, else to a human.
    pub fn route(&self, active: AgentId, specialists: &BTreeMap<TriggerKind, AgentId>) -> Route {
        match specialists.get(&self.kind()) {
            Some(&agent) if agent != active => Route::Specialist(agent),
            _ => Route::Human,
        }
    }
}

/// Where a trigger sends a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// To this agent.
    Specialist(AgentId),
    /// To a person.
    Human,
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AskedForPerson => f.write_str("asked for a person"),
            Self::BlockedTopic { topic } => write!(f, "blocked topic: {topic}"),
            Self::SoulTrigger { phrase } => write!(f, "the agent's trigger: {phrase}"),
            Self::Angry => f.write_str("the customer is angry"),
            Self::ToolsFailing => f.write_str("several tools are failing"),
            Self::Uncertain => f.write_str("the agent keeps being uncertain"),
            Self::RepeatsItself => f.write_str("the agent repeats itself"),
        }
    }
}

/// What an org has set about triggers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TriggerSettings {
    /// How much it takes.
    pub policy: TriggerPolicy,
    /// Ways to ask for a person.
    pub asks_for_human: PhraseList,
    /// Angry words.
    pub negative: PhraseList,
    /// Ways to admit not knowing.
    pub uncertain: PhraseList,
}

impl Default for TriggerSettings {
    fn default() -> Self {
        Self {
            policy: TriggerPolicy::default(),
            asks_for_human: PhraseList::parse(phrases::ASKS_FOR_HUMAN),
            negative: PhraseList::parse(phrases::NEGATIVE),
            uncertain: PhraseList::parse(phrases::UNCERTAIN),
        }
    }
}

/// What is known before the model is called. What led to an escalation that is
/// over does not count again: earlier messages, failed tools and uncertain
/// replies are those since the last escalation ended.
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
    /// How many tools have been switched off.
    pub failed_tools: usize,
    /// A trigger of this very message that a person has called a false alarm.
    pub dismissed: Option<&'a Trigger>,
}

/// The most pressing trigger that fires before the model call, if any. It
/// takes the place of the model call.
pub fn before_model(facts: &BeforeModel<'_>, settings: &TriggerSettings) -> Option<Trigger> {
    let policy = settings.policy;
    let named = |list: &[String]| {
        list.iter().find(|phrase| contains_phrase(facts.message, phrase)).cloned()
    };
    let recent = facts.earlier.iter().rev().take(policy.mood_window.saturating_sub(1));
    let negative = std::iter::once(&facts.message)
        .chain(recent)
        .filter(|message| settings.negative.matches(message))
        .count();
    // From the most pressing to the least.
    let fired = [
        (negative >= policy.negative_messages).then_some(Trigger::Angry),
        (facts.failed_tools >= policy.failed_tools).then_some(Trigger::ToolsFailing),
        settings.asks_for_human.matches(facts.message).then_some(Trigger::AskedForPerson),
        named(facts.blocked_topics).map(|topic| Trigger::BlockedTopic { topic }),
        named(facts.soul_triggers).map(|phrase| Trigger::SoulTrigger { phrase }),
    ];
    fired.into_iter().flatten().find(|trigger| facts.dismissed != Some(trigger))
}

/// What is known after the agent has replied.
#[derive(Debug, Clone, Copy)]
pub struct AfterReply<'a> {
    /// The reply, which is delivered in any case.
    pub reply: &'a str,
    /// The reply before it.
    pub previous: Option<&'a str>,
    /// The uncertain replies since the last escalation ended, this one not
    /// counted.
    pub uncertain_before: u32,
}

/// Whether a reply counts as uncertain.
pub fn is_uncertain(reply: &str, settings: &TriggerSettings) -> bool {
    settings.uncertain.matches(reply)
}

/// The trigger that fires after a reply, if any.
pub fn after_reply(facts: &AfterReply<'_>, settings: &TriggerSettings) -> Option<Trigger> {
    let TriggerPolicy { alike_percent, uncertain_replies, .. } = settings.policy;
    if facts.previous.is_some_and(|previous| alike(previous, facts.reply, alike_percent)) {
        Some(Trigger::RepeatsItself)
    } else if is_uncertain(facts.reply, settings)
        && facts.uncertain_before.saturating_add(1) >= uncertain_replies
    {
        Some(Trigger::Uncertain)
    } else {
        None
    }
}

/// Whether two replies share at least this part of their words.
fn alike(one: &str, other: &str, percent: usize) -> bool {
    let one: BTreeSet<String> = words(one).into_iter().collect();
    let other: BTreeSet<String> = words(other).into_iter().collect();
    let (shared, all) = (one.intersection(&other).count(), one.union(&other).count());
    all > 0 && shared * 100 >= all * percent
}

#[cfg(test)]
mod tests {
    use super::{
        AfterReply, BeforeModel, Trigger, TriggerSettings, after_reply, alike, before_model,
    };
    use super::{Route, TriggerKind};
    use crate::human::escalation::Urgency;
    use crate::id::AgentId;

    fn facts<'a>(message: &'a str, earlier: &'a [&'a str]) -> BeforeModel<'a> {
        BeforeModel {
            message,
            earlier,
            blocked_topics: &[],
            soul_triggers: &[],
            failed_tools: 0,
            dismissed: None,
        }
    }

    fn fired(facts: &BeforeModel<'_>) -> Option<(Trigger, Urgency)> {
        before_model(facts, &TriggerSettings::default())
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
        let with = |failed_tools| fired(&BeforeModel { failed_tools, ..facts("hi", &[]) });
        assert_eq!(with(2), None);
        assert_eq!(with(3), Some((Trigger::ToolsFailing, Urgency::High)));
    }

    fn after(reply: &str, previous: Option<&str>, uncertain_before: u32) -> Option<Trigger> {
        let facts = AfterReply { reply, previous, uncertain_before };
        after_reply(&facts, &TriggerSettings::default())
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
            assert_eq!(alike(one, other, 80), expected, "{one} / {other}");
        }
        let again = after("Please send the order number.", Some("please send the order number"), 0);
        assert_eq!(again, Some(Trigger::RepeatsItself));
        assert_eq!(Trigger::RepeatsItself.urgency(), Urgency::Normal);
        assert_eq!(after("hello", None, 0), None);
    }

    /// G47: what a person has called a false alarm does not fire again for the
    /// same message; another trigger still does.
    #[test]
    fn g47_a_dismissed_trigger_does_not_fire_again() {
        let settings = TriggerSettings::default();
        let message = "I want a real person for legal advice";
        let topics = ["legal advice".to_owned()];
        let first = BeforeModel { blocked_topics: &topics, ..facts(message, &[]) };
        let fired = before_model(&first, &settings).unwrap();
        assert_eq!(fired, Trigger::AskedForPerson);
        let again = BeforeModel { dismissed: Some(&fired), ..first };
        let topic = "legal advice".to_owned();
        assert_eq!(before_model(&again, &settings), Some(Trigger::BlockedTopic { topic }));
    }

    /// G03: a trigger goes to the org's specialist, and from there to a human.
    #[test]
    fn g03_a_trigger_may_go_to_a_specialist() {
        let [gia, enzo] = [1, 2].map(AgentId::from_u128);
        let specialists = [(TriggerKind::Angry, enzo)].into();
        let route = |trigger: Trigger, active| trigger.route(active, &specialists);
        assert_eq!(route(Trigger::Angry, gia), Route::Specialist(enzo));
        assert_eq!(route(Trigger::Angry, enzo), Route::Human);
        assert_eq!(route(Trigger::AskedForPerson, gia), Route::Human);
    }

    /// G49, G51: an org's settings are stored and read back, and may be sparse.
    #[test]
    fn settings_survive_being_stored() {
        let settings = TriggerSettings::default();
        let stored = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<TriggerSettings>(&stored).unwrap(), settings);
        let own: TriggerSettings =
            serde_json::from_str(r#"{"asks_for_human":"chef please"}"#).unwrap();
        assert!(own.asks_for_human.matches("Chef, please!"));
        assert_eq!(own.negative, settings.negative);
    }
}
