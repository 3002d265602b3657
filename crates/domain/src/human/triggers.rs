//! When a conversation goes to a human by itself.
//!
//! Before the model is called the customer's words, the soul, the blocked
//! topics and failing tools are looked at; after it, the agent's own replies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::escalation::Urgency;
use super::phrases::{self, PhraseList, contains_phrase, cut, lowered};
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
    /// things, unless that one has it already or cannot take it, else to a
    /// human.
    pub fn route(
        &self,
        active: AgentId,
        specialists: &BTreeMap<TriggerKind, AgentId>,
        can_take: impl FnOnce(AgentId) -> bool,
    ) -> Route {
        match specialists.get(&self.kind()) {
            Some(&agent) if agent != active && can_take(agent) => Route::Specialist(agent),
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
    /// Triggers of this very message that have been dealt with: a person called
    /// them a false alarm, or nobody answered in time.
    pub settled: &'a [Trigger],
}

/// The triggers that fire, the most pressing first; never none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired(Vec<Trigger>);

impl Fired {
    fn of(triggers: Vec<Trigger>) -> Option<Self> {
        (!triggers.is_empty()).then_some(Self(triggers))
    }

    /// All of them.
    pub fn triggers(&self) -> &[Trigger] {
        &self.0
    }

    /// How pressing the most pressing one is.
    pub fn urgency(&self) -> Urgency {
        self.0.iter().map(Trigger::urgency).max().unwrap_or(Urgency::Low)
    }
}

impl fmt::Display for Fired {
    /// The reason of the escalation: every trigger is named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&reasons.join("; "))
    }
}

/// The triggers that fire before the model call, if any. They take its place.
pub fn before_model(facts: &BeforeModel<'_>, settings: &TriggerSettings) -> Option<Fired> {
    let policy = settings.policy;
    let named = |list: &[String]| -> Vec<String> {
        list.iter().filter(|phrase| contains_phrase(facts.message, phrase)).cloned().collect()
    };
    let recent = facts.earlier.iter().rev().take(policy.mood_window.saturating_sub(1));
    let negative = std::iter::once(&facts.message)
        .chain(recent)
        .filter(|message| settings.negative.matches(message))
        .count();
    // From the most pressing to the least.
    let single = [
        (negative >= policy.negative_messages).then_some(Trigger::Angry),
        (facts.failed_tools >= policy.failed_tools).then_some(Trigger::ToolsFailing),
        settings.asks_for_human.matches(facts.message).then_some(Trigger::AskedForPerson),
    ];
    let topics = named(facts.blocked_topics).into_iter();
    let phrases = named(facts.soul_triggers).into_iter();
    let fired = single
        .into_iter()
        .flatten()
        .chain(topics.map(|topic| Trigger::BlockedTopic { topic }))
        .chain(phrases.map(|phrase| Trigger::SoulTrigger { phrase }))
        .filter(|trigger| !facts.settled.contains(trigger));
    Fired::of(fired.collect())
}

/// What is known after the agent has replied.
#[derive(Debug, Clone, Copy)]
pub struct AfterReply<'a> {
    /// The reply, which is delivered in any case.
    pub reply: &'a str,
    /// The reply before it, if it came after the last escalation ended.
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
    let (one, other) = (lowered(one), lowered(other));
    let (one, other): (BTreeSet<&str>, BTreeSet<&str>) =
        (cut(&one).collect(), cut(&other).collect());
    let (shared, all) = (one.intersection(&other).count(), one.union(&other).count());
    all > 0 && shared * 100 >= all * percent
}

#[cfg(test)]
mod tests;
