//! One agent of a turn: its conversation and what it is doing.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, Trust};
use serde::{Deserialize, Serialize};

use super::account::ITSELF;
use super::answer::Asked;
use super::call::{Call, CallState, Passed, spec};
use super::draft::{Called, Draft};
use super::protocol::Event;
use super::{End, Rules, Step};
use crate::gate::{Approval, fingerprint};
use crate::history::{CallResult, Content, Item, ToolCall};
use crate::model::StopReason;
use crate::outcome::{Outcome, Status};

/// One agent of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Node {
    /// Its kind; none is the agent that the turn belongs to.
    pub(super) kind: Option<String>,
    /// Its model, if it is not the turn's own.
    pub(super) model: Option<String>,
    pub(super) system: Arc<str>,
    /// The tools that its caller gave it; none means no such limit.
    pub(super) allowed: Option<Vec<ToolName>>,
    pub(super) history: Arc<Vec<Item>>,
    pub(super) phase: Phase,
    /// Whether it has read anything from outside.
    pub(super) trust: Trust,
    pub(super) follow_ups: VecDeque<FollowUp>,
    /// Whether it was told once which tools there are.
    pub(super) corrected: bool,
    /// The calls of its last answer, and how often in a row it has made them.
    pub(super) repeats: Vec<(ArgumentsHash, u32)>,
    /// How many calls it has made.
    pub(super) calls: u32,
    pub(super) began: Timestamp,
}

/// What somebody wrote while an agent was at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUp {
    /// What they wrote.
    pub content: Vec<Content>,
    /// Whether it is from outside.
    pub trust: Trust,
}

/// What an agent is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub(super) enum Phase {
    /// The model is to be asked.
    Ready,
    /// More is to be reserved before the model is asked.
    ToppingUp,
    /// The model answers.
    Model {
        /// What has come so far.
        draft: Draft,
        /// What it was asked.
        asked: Asked,
    },
    /// Calls are on their way.
    Tools {
        /// All calls of the last answer.
        calls: Vec<Call>,
        /// Whether more is being reserved for the next of them.
        topping_up: bool,
    },
    /// It is over.
    Done {
        /// How it ended.
        end: End,
    },
}

impl Node {
    pub(super) fn agent_type(&self) -> &str {
        self.kind.as_deref().unwrap_or(ITSELF)
    }

    /// Whether its caller gave it this tool.
    pub(super) fn may_use(&self, name: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|tool| tool.as_str() == name))
    }

    /// The names of the tools that the model is offered.
    pub(super) fn offered(&self, rules: &Rules<'_>) -> Vec<String> {
        let active = rules.scope.active().map(|spec| spec.name.as_str());
        let there = active.filter(|name| self.may_use(name) && rules.tools.get(name).is_some());
        there.map(str::to_owned).collect()
    }

    pub(super) fn say(&mut self, item: Item) {
        Arc::make_mut(&mut self.history).push(item);
    }

    /// How often each call was made in a row: in the answers before and in this
    /// one.
    pub(super) fn count_repeats(&mut self, calls: &[Called]) -> Vec<u32> {
        let mut counts = std::mem::take(&mut self.repeats);
        let prints: Vec<ArgumentsHash> = calls
            .iter()
            .map(|called| fingerprint(&called.call.name, &called.call.arguments))
            .collect();
        counts.retain(|(seen, _)| prints.contains(seen));
        let times = prints.into_iter().map(|print| {
            match counts.iter_mut().find(|(seen, _)| *seen == print) {
                Some((_, times)) => {
                    *times = times.saturating_add(1);
                    *times
                }
                None => {
                    counts.push((print, 1));
                    1
                }
            }
        });
        let times = times.collect();
        self.repeats = counts;
        times
    }

    /// Takes the calls that the gate has not seen through it, as far as what is
    /// reserved reaches.
    pub(super) fn decide_calls(&mut self, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, topping_up: false } = &mut self.phase else { return };
        let mut calls = std::mem::take(calls);
        let mut waits = false;
        for each in &mut calls {
            let CallState::New { approved, begun } = each.state else { continue };
            let price = spec(&each.call, step).map_or(Credits::ZERO, |spec| spec.price);
            if self.top_up(price, step) {
                waits = true;
                break;
            }
            let approval = if approved { Approval::Given } else { Approval::None };
            each.state = self.decide(each, approval, begun, step);
        }
        self.phase = Phase::Tools { calls, topping_up: waits };
        self.calls_changed(step);
    }

    /// The state of a call after the gate has seen it. One that had begun outside
    /// and may not run again has an unknown outcome, whatever the gate says.
    fn decide(
        &mut self,
        Call { call, times, .. }: &Call,
        approval: Approval,
        begun: bool,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        if approval == Approval::None && !begun && *times > step.limits.max_repeats {
            let why = "You have made this call with these arguments before, again and again. \
                       Do something else, or answer.";
            return self.done(call, Outcome::of(Status::Denied, why), step);
        }
        match self.pass(call, approval, step) {
            Passed::Run(authorized, approved) => self.run(authorized, approved, step),
            Passed::Wait(state) if !begun => state,
            Passed::Done(outcome) if !begun => self.done(call, outcome, step),
            Passed::Wait(_) | Passed::Done(_) => self.done(call, unknown(), step),
        }
    }

    /// A call has come to something: what that means for the session.
    pub(super) fn done(
        &mut self,
        call: &ToolCall,
        outcome: Outcome,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        self.trust = self.trust.after_reading(outcome.trust);
        if outcome.status.is_failure()
            && let Some(spec) = spec(call, step)
        {
            step.failed(&spec.name);
        }
        let (id, tool, status) = (call.id.clone(), call.name.clone(), outcome.status);
        step.event(Event::CallEnded { call: id, tool, status });
        let mut outcome = outcome;
        step.account.effects.append(&mut outcome.effects);
        CallState::Done { outcome }
    }

    /// Goes on once every call is done.
    pub(super) fn calls_changed(&mut self, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, .. } = &self.phase else { return };
        if calls.iter().all(Call::is_done) {
            let last = calls.iter().any(Call::is_last);
            self.close_calls(step);
            self.phase = Phase::Ready;
            if last { self.end_with_call(step) } else { self.ask_model(step) }
        }
    }

    /// Ends with what was said beside the calls.
    fn end_with_call(&mut self, step: &mut Step<'_, '_>) {
        let said = self.history.iter().rev().find_map(|item| match item {
            Item::Assistant { text, .. } => Some(text.clone()),
            _ => None,
        });
        let text = said.unwrap_or_default();
        self.end(End::Answer { text, stop: StopReason::ToolCalls }, step);
    }

    /// Writes what the calls came to. Those that are not done were stopped, and
    /// of one that had begun outside nobody knows what became of it.
    pub(super) fn close_calls(&mut self, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, .. } = &mut self.phase else { return };
        let calls = std::mem::take(calls);
        let mut results = Vec::with_capacity(calls.len());
        for Call { call, state, .. } in calls {
            let outcome = match state {
                CallState::Done { outcome } => outcome,
                other => self.stopped(&call, other, step),
            };
            results.push(CallResult { call: call.id, outcome });
        }
        self.say(Item::Results { results });
    }

    fn stopped(&mut self, call: &ToolCall, state: CallState, step: &mut Step<'_, '_>) -> Outcome {
        let outcome = match state {
            CallState::Running { external: true, .. } => unknown(),
            CallState::Delegated { agent } => self.stop_agent(call, *agent, step),
            _ => Outcome::of(Status::Aborted, "This was stopped before it was done."),
        };
        let (id, tool, status) = (call.id.clone(), call.name.clone(), outcome.status);
        step.event(Event::CallEnded { call: id, tool, status });
        outcome
    }

    pub(super) fn end(&mut self, end: End, step: &mut Step<'_, '_>) {
        if self.kind.is_none() {
            step.event(Event::Ended(end.clone()));
        }
        self.phase = Phase::Done { end };
    }
}

/// What is said of a call that had begun outside and was interrupted.
pub(super) fn unknown() -> Outcome {
    let why = "This had begun when the work was interrupted, and nobody knows whether it was done.";
    Outcome::of(Status::OutcomeUnknown, why)
}
