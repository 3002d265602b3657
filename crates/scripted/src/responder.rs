//! Chooses the rule that answers. Earlier answers are derived from the
//! conversation, so that the same request gets the same answer in another process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ostler_engine::history::Item;

use super::reply::ScriptedReply;
use super::request::{ModelRequest, Situation};
use super::script::{Answer, Answers, Rule, Script};
use super::template::Values;

/// A script, and how often its faults have occurred, which is the one thing the
/// conversation does not show.
#[derive(Debug)]
pub(crate) struct Responder {
    pub(super) script: Arc<Script>,
    /// One counter for each rule.
    faults: Vec<AtomicU64>,
}

impl Responder {
    pub(crate) fn new(script: Arc<Script>) -> Self {
        let faults = script.rules.iter().map(|_| AtomicU64::new(0)).collect();
        Self { script, faults }
    }

    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    /// Returns the reply to a request.
    pub(crate) fn reply(&self, request: &ModelRequest<'_>) -> ScriptedReply {
        let situation = request.situation();
        let mut rules = self.script.rules.iter().enumerate();
        let answer = rules.find_map(|(index, rule)| {
            let found = rule.answer(request, &situation)?;
            self.has_uses_left(index, found.0, request).then_some(found)
        });
        let default = || self.script.default.as_ref()?.at(situation.step);
        match answer.or_else(|| Some((default()?, Values::new(&situation)))) {
            Some((answer, values)) => ScriptedReply::new(answer, &values, request, &situation)
                .unwrap_or_else(|error| {
                    let text = format!("A template of the script fails: {error}");
                    ScriptedReply::notice(text, request, true)
                }),
            None => ScriptedReply::no_rule_matches(request, &situation, self.script.strict),
        }
    }

    fn has_uses_left(&self, index: usize, answer: &Answer, request: &ModelRequest<'_>) -> bool {
        let Some(times) = self.script.rules.get(index).and_then(|rule| rule.times) else {
            return true;
        };
        match self.faults.get(index) {
            Some(faults) if answer.fault.is_some() => {
                let increment = |used| (used < times).then_some(used + 1);
                faults.fetch_update(Ordering::Relaxed, Ordering::Relaxed, increment).is_ok()
            }
            _ => uses(&self.script.rules, index, request) < times,
        }
    }
}

impl Rule {
    /// Returns the answer of the rule if it matches, however often it has been used.
    fn answer<'s>(
        &'s self,
        request: &ModelRequest<'s>,
        situation: &'s Situation<'_>,
    ) -> Option<(&'s Answer, Values<'s>)> {
        let answer = self.answers.at(situation.step)?;
        let values = self.when.matches(request, situation, self.answers.has_steps())?;
        Some((answer, values))
    }
}

/// Returns how often a rule has answered in this conversation, by replaying every
/// answer in it. Consecutive steps are one use.
fn uses(rules: &[Rule], index: usize, request: &ModelRequest<'_>) -> u64 {
    let mut used = vec![0; rules.len()];
    let is_steps = rules.get(index).is_some_and(|rule| matches!(rule.answers, Answers::Steps(_)));
    let until = if is_steps { turn_start(request.history) } else { request.history.len() };
    for (entry, item) in request.history.iter().enumerate().take(until) {
        if matches!(item, Item::Assistant { .. }) {
            replay(rules, &request.before(entry), &mut used);
        }
    }
    used.get(index).copied().unwrap_or_default()
}

/// Counts the rule that gave an answer. Faults are not part of a conversation.
fn replay(rules: &[Rule], request: &ModelRequest<'_>, used: &mut [u64]) {
    let situation = request.situation();
    for (rule, used) in rules.iter().zip(used) {
        let has_uses_left = rule.times.is_none_or(|times| *used < times)
            || (rule.answers.has_steps() && situation.step > 1);
        let answer = rule.answer(request, &situation).filter(|(answer, _)| answer.fault.is_none());
        if has_uses_left && answer.is_some() {
            *used += u64::from(!rule.answers.has_steps() || situation.step == 1);
            return;
        }
    }
}

fn turn_start(history: &[Item]) -> usize {
    history.iter().rposition(|item| matches!(item, Item::User { .. })).unwrap_or_default()
}
