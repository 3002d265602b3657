//! Chooses the rule that answers. What was answered before is worked out from
//! the conversation, so that the same request gets the same answer in another
//! process, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostler_engine::history::Item;

use super::asked::{Asked, Situation};
use super::reply::Reply;
use super::script::{Answer, Answers, Rule, Script};
use super::template::Values;

/// A script, and what it cannot learn from the conversation: how often its
/// faults have happened, since they leave nothing behind.
#[derive(Debug)]
pub(crate) struct Player {
    pub(super) script: Arc<Script>,
    /// One for each rule.
    faults: Vec<AtomicU64>,
}

impl Player {
    pub(crate) fn new(script: Arc<Script>) -> Self {
        let faults = script.rules.iter().map(|_| AtomicU64::new(0)).collect();
        Self { script, faults }
    }

    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    /// What is answered.
    pub(crate) fn reply(&self, asked: &Asked<'_>) -> Reply {
        let situation = asked.situation();
        for (index, rule) in self.script.rules.iter().enumerate() {
            if let Some((answer, values)) = rule.answer(asked, &situation)
                && self.has_uses_left(index, answer, asked)
            {
                return Reply::new(answer, &values, asked, &situation);
            }
        }
        let default = self.script.default.as_ref();
        match default.and_then(|default| default.at(situation.step)) {
            Some(answer) => Reply::new(answer, &Values::new(&situation), asked, &situation),
            None => Reply::nothing_fits(asked, &situation, self.script.strict),
        }
    }

    fn has_uses_left(&self, index: usize, answer: &Answer, asked: &Asked<'_>) -> bool {
        let Some(times) = self.script.rules.get(index).and_then(|rule| rule.times) else {
            return true;
        };
        match self.faults.get(index) {
            Some(faults) if answer.fault.is_some() => {
                let more = |used| (used < times).then_some(used + 1);
                faults.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
            }
            _ => uses(&self.script.rules, index, asked) < times,
        }
    }
}

impl Rule {
    /// What it answers, if it fits; how often it did before is not looked at.
    fn answer<'r, 's>(
        &'r self,
        asked: &Asked<'_>,
        situation: &'s Situation<'_>,
    ) -> Option<(&'r Answer, Values<'s>)> {
        let answer = self.answers.at(situation.step)?;
        let values = self.when.fits(asked, situation, self.answers.are_steps())?;
        Some((answer, values))
    }
}

/// How often a rule has answered in this conversation: every answer in it is
/// worked out again, from the first. Steps that follow each other are one use.
fn uses(rules: &[Rule], wanted: usize, asked: &Asked<'_>) -> u64 {
    let mut used = vec![0; rules.len()];
    let is_steps = rules.get(wanted).is_some_and(|rule| matches!(rule.answers, Answers::Steps(_)));
    let until = if is_steps { begin_of_turn(asked.history) } else { asked.history.len() };
    for (entry, item) in asked.history.iter().enumerate().take(until) {
        if matches!(item, Item::Assistant { .. }) {
            replay(rules, &asked.before(entry), &mut used);
        }
    }
    used.get(wanted).copied().unwrap_or_default()
}

/// Counts the rule that gave an answer. What failed is not in a conversation.
fn replay(rules: &[Rule], asked: &Asked<'_>, used: &mut [u64]) {
    let situation = asked.situation();
    for (rule, used) in rules.iter().zip(used) {
        let left = rule.times.is_none_or(|times| *used < times)
            || (rule.answers.are_steps() && situation.step > 1);
        let answer = rule.answer(asked, &situation).filter(|(answer, _)| answer.fault.is_none());
        if left && answer.is_some() {
            *used += u64::from(!rule.answers.are_steps() || situation.step == 1);
            return;
        }
    }
}

fn begin_of_turn(history: &[Item]) -> usize {
    history.iter().rposition(|item| matches!(item, Item::User { .. })).unwrap_or_default()
}
