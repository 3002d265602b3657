//! Automatic escalation triggers.
//!
//! Before the model is called, the customer's message, the soul's triggers, the
//! blocked topics and failed tools are checked; after it, the agent's reply.
//!
//! All triggers that fire are reported, the most urgent first. A trigger that a
//! person dismissed, or whose escalation timed out, does not fire again for the same
//! message, and only what happened since the last escalation counts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::escalation::Urgency;
use super::phrases::{self, PhraseList, contains_phrase, normalize, split_words};
use crate::id::AgentId;

/// The thresholds of the triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerPolicy {
    /// Negative messages among the last few that count as an angry customer.
    pub negative_messages: usize,
    /// The number of the customer's latest messages that are checked.
    pub negative_window: usize,
    pub failed_tools: usize,
    pub uncertain_replies: u32,
    /// The share of common words, in percent, from which two replies count as
    /// repetition.
    pub similarity_percent: usize,
}

impl Default for TriggerPolicy {
    fn default() -> Self {
        Self {
            negative_messages: 2,
            negative_window: 3,
            failed_tools: 3,
            uncertain_replies: 3,
            similarity_percent: 80,
        }
    }
}

/// The reason for an automatic escalation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trigger", rename_all = "snake_case")]
pub enum Trigger {
    /// The customer asked for a person.
    AskedForPerson,
    /// The message touches a topic blocked for the agent.
    BlockedTopic {
        topic: String,
    },
    /// The message contains a trigger phrase of the agent's soul.
    SoulTrigger {
        phrase: String,
    },
    Angry,
    ToolsFailing,
    Uncertain,
    RepeatsItself,
}

/// The kinds of triggers, for settings.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
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
    /// Returns the kind of the trigger.
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

    /// Returns the urgency of the escalation.
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

    /// Returns where the conversation goes: to the org's specialist for this kind of
    /// trigger, or to a human if there is none, it is the active agent already, or it
    /// cannot take over.
    pub fn route(
        &self,
        active: AgentId,
        specialists: &BTreeMap<TriggerKind, AgentId>,
        can_take: impl FnOnce(AgentId) -> bool,
    ) -> TriggerRoute {
        match specialists.get(&self.kind()) {
            Some(&agent) if agent != active && can_take(agent) => TriggerRoute::Specialist(agent),
            _ => TriggerRoute::Human,
        }
    }
}

/// The target of an automatic escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerRoute {
    Specialist(AgentId),
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

/// The trigger settings of an org.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TriggerSettings {
    /// The thresholds of the triggers.
    pub policy: TriggerPolicy,
    /// Phrases with which a customer asks for a person.
    pub asks_for_human: PhraseList,
    /// Phrases of an angry customer.
    pub negative: PhraseList,
    /// Phrases with which an agent admits not knowing.
    pub uncertain: PhraseList,
}

impl Default for TriggerSettings {
    fn default() -> Self {
        Self {
            policy: TriggerPolicy::default(),
            asks_for_human: PhraseList::parse(phrases::HUMAN_REQUEST_PHRASES),
            negative: PhraseList::parse(phrases::NEGATIVE_PHRASES),
            uncertain: PhraseList::parse(phrases::UNCERTAIN_PHRASES),
        }
    }
}

/// The facts checked before the model is called. Causes of an escalation that is
/// over do not count again: earlier messages, failed tools and uncertain replies
/// are those since the last escalation ended.
#[derive(Debug, Clone, Copy)]
pub struct MessageFacts<'a> {
    pub message: &'a str,
    /// Oldest first.
    pub earlier_messages: &'a [&'a str],
    pub blocked_topics: &'a [String],
    pub soul_triggers: &'a [String],
    /// The number of disabled tools.
    pub failed_tools: usize,
    /// Triggers of this message that were handled before: a person dismissed them, or
    /// nobody answered in time.
    pub handled_triggers: &'a [Trigger],
}

/// The triggers that fired, the most urgent first; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiredTriggers(Vec<Trigger>);

impl FiredTriggers {
    fn of(triggers: Vec<Trigger>) -> Option<Self> {
        (!triggers.is_empty()).then_some(Self(triggers))
    }

    /// Returns the triggers.
    pub fn triggers(&self) -> &[Trigger] {
        &self.0
    }

    /// Returns the highest urgency of the triggers.
    pub fn urgency(&self) -> Urgency {
        self.0.iter().map(Trigger::urgency).max().unwrap_or(Urgency::Low)
    }
}

impl fmt::Display for FiredTriggers {
    /// The reason of the escalation, which names every trigger.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&reasons.join("; "))
    }
}

/// Returns the triggers that fire for a message, if any. The escalation then
/// replaces the model call.
pub fn check_message(
    facts: &MessageFacts<'_>,
    settings: &TriggerSettings,
) -> Option<FiredTriggers> {
    let policy = settings.policy;
    let matching_phrases = |list: &[String]| -> Vec<String> {
        list.iter().filter(|phrase| contains_phrase(facts.message, phrase)).cloned().collect()
    };
    let recent = facts.earlier_messages.iter().rev().take(policy.negative_window.saturating_sub(1));
    let negative = std::iter::once(&facts.message)
        .chain(recent)
        .filter(|message| settings.negative.matches(message))
        .count();
    // In order of urgency.
    let single = [
        (negative >= policy.negative_messages).then_some(Trigger::Angry),
        (facts.failed_tools >= policy.failed_tools).then_some(Trigger::ToolsFailing),
        settings.asks_for_human.matches(facts.message).then_some(Trigger::AskedForPerson),
    ];
    let topics = matching_phrases(facts.blocked_topics).into_iter();
    let phrases = matching_phrases(facts.soul_triggers).into_iter();
    let fired = single
        .into_iter()
        .flatten()
        .chain(topics.map(|topic| Trigger::BlockedTopic { topic }))
        .chain(phrases.map(|phrase| Trigger::SoulTrigger { phrase }))
        .filter(|trigger| !facts.handled_triggers.contains(trigger));
    FiredTriggers::of(fired.collect())
}

/// The facts checked after the agent has replied.
#[derive(Debug, Clone, Copy)]
pub struct ReplyFacts<'a> {
    /// Delivered in any case.
    pub reply: &'a str,
    /// The previous reply, if it was sent after the last escalation ended.
    pub previous: Option<&'a str>,
    /// The uncertain replies since the last escalation ended, without this one.
    pub uncertain_before: u32,
}

/// Returns whether a reply counts as uncertain.
pub fn is_uncertain(reply: &str, settings: &TriggerSettings) -> bool {
    settings.uncertain.matches(reply)
}

/// Returns the trigger that fires for a reply, if any.
pub fn check_reply(facts: &ReplyFacts<'_>, settings: &TriggerSettings) -> Option<Trigger> {
    let TriggerPolicy { similarity_percent, uncertain_replies, .. } = settings.policy;
    if facts.previous.is_some_and(|previous| are_similar(previous, facts.reply, similarity_percent))
    {
        Some(Trigger::RepeatsItself)
    } else if is_uncertain(facts.reply, settings)
        && facts.uncertain_before.saturating_add(1) >= uncertain_replies
    {
        Some(Trigger::Uncertain)
    } else {
        None
    }
}

/// Returns whether two replies share at least this percentage of their words.
fn are_similar(first: &str, second: &str, percent: usize) -> bool {
    let (first, second) = (normalize(first), normalize(second));
    let (first, second): (BTreeSet<&str>, BTreeSet<&str>) =
        (split_words(&first).collect(), split_words(&second).collect());
    let (shared, all) = (first.intersection(&second).count(), first.union(&second).count());
    all > 0 && shared * 100 >= all * percent
}

#[cfg(test)]
mod tests;
