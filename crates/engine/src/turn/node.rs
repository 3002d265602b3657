//! One agent of a turn: its conversation and what it is doing.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::money::Credits;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, Trust};
use serde::{Deserialize, Serialize};

use super::account::ITSELF;
use super::call::{Call, CallState, Passed, is_external, spec};
use super::draft::{Called, Draft};
use super::protocol::{Action, Event, NotExpected};
use super::{End, Rules, Step};
use crate::gate::{Approval, fingerprint};
use crate::history::{CallResult, Content, Item, ToolCall};
use crate::model::{Chunk, ModelError, ModelErrorKind, Request, StopReason};
use crate::outcome::{Outcome, Status};
use crate::tokens;

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
    pub(super) follow_ups: VecDeque<Vec<Content>>,
    /// Whether it was told once which tools there are.
    pub(super) corrected: bool,
    /// The calls of its last answer, and how often in a row it has made them.
    pub(super) repeats: Vec<(ArgumentsHash, u32)>,
    /// How many calls it has made.
    pub(super) calls: u32,
    pub(super) began: Timestamp,
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

    /// Asks the model, if that can be paid for.
    pub(super) fn ask_model(&mut self, step: &mut Step<'_, '_>) {
        let most = step.limits.max_steps;
        if step.account.steps >= most {
            return self.end(End::StepLimit { most }, step);
        }
        let Some(model) = step.rules.models.model(self.model.as_deref()) else {
            let name = self.model.clone().unwrap_or_default();
            let message = format!("there is no model `{name}` here");
            let kind = ModelErrorKind::UnknownModel;
            let error = ModelError { model: name, kind, message, retry_after: None };
            return self.end(End::ModelFailed(error), step);
        };
        if let Err(short) = step.account.budget.check_model_call() {
            return self.end(End::CreditsExhausted(short), step);
        }
        let (offered, price) = (step.offered(self), model.price());
        let input = tokens::of_request(&self.system, &self.history, step.rules.tools, &offered);
        let (left, _) = step.account.budget.tightest();
        let Some(max_tokens) = price.clamp_output(step.limits.max_tokens, input, left) else {
            let wanted = price.estimate(input, step.limits.max_tokens);
            let short = step.account.budget.check(wanted.max(left + Credits::new(1)));
            return match short {
                Err(short) => self.end(End::CreditsExhausted(short), step),
                Ok(()) => self.end(End::StepLimit { most }, step),
            };
        };
        if self.top_up(price.estimate(input, max_tokens), step) {
            self.phase = Phase::ToppingUp;
            return;
        }
        step.account.steps += 1;
        self.phase = Phase::Model { draft: Draft::default() };
        let request = Request {
            system: self.system.clone(),
            history: self.history.clone(),
            tools: step.rules.tools.clone(),
            offered,
            max_tokens,
        };
        step.act(Action::CallModel { model: self.model.clone(), request });
    }

    /// Asks for more if what is reserved does not reach and more can be had.
    fn top_up(&self, wanted: Credits, step: &mut Step<'_, '_>) -> bool {
        let budget = &step.account.budget;
        let more = budget.missing(wanted).min(budget.top_up);
        if more.is_zero() {
            return false;
        }
        step.act(Action::TopUp(more));
        true
    }

    /// Goes on after more was reserved, or could not be.
    pub(super) fn topped_up(&mut self, step: &mut Step<'_, '_>) -> Result<(), NotExpected> {
        match &mut self.phase {
            Phase::ToppingUp => {
                self.phase = Phase::Ready;
                self.ask_model(step);
                Ok(())
            }
            Phase::Tools { topping_up, .. } if *topping_up => {
                *topping_up = false;
                self.decide_calls(step);
                Ok(())
            }
            _ => Err(NotExpected),
        }
    }

    /// Takes a piece of the model's answer.
    pub(super) fn chunk(
        &mut self,
        chunk: Chunk,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotExpected> {
        let Phase::Model { draft } = &mut self.phase else { return Err(NotExpected) };
        let fits = match chunk {
            Chunk::Text(text) => {
                let fits = draft.say(&text);
                step.event(Event::Text { text });
                fits
            }
            Chunk::Call { index, id, name } => draft.begin(index, id, name),
            Chunk::Arguments { index, json } => draft.argue(index, &json),
            Chunk::Usage(usage) => {
                draft.usage = usage;
                true
            }
            Chunk::Restart(restart) => {
                if !draft.is_empty() {
                    step.event(Event::DraftDiscarded);
                }
                *draft = Draft::default();
                step.account.restarts.push(restart.clone());
                step.event(Event::Restarted(restart));
                true
            }
            Chunk::Done(stop) => {
                let draft = std::mem::take(draft);
                self.answered(draft, stop, step);
                true
            }
        };
        if !fits {
            let model = self.model.clone().unwrap_or_default();
            let (kind, message) = (ModelErrorKind::Malformed, "the answer is too long".to_owned());
            self.model_failed(ModelError { model, kind, message, retry_after: None }, step)?;
        }
        Ok(())
    }

    pub(super) fn model_failed(
        &mut self,
        error: ModelError,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotExpected> {
        let Phase::Model { draft } = &self.phase else { return Err(NotExpected) };
        if !draft.is_empty() {
            step.event(Event::DraftDiscarded);
        }
        self.end(End::ModelFailed(error), step);
        Ok(())
    }

    /// The model has said all.
    fn answered(&mut self, mut draft: Draft, stop: StopReason, step: &mut Step<'_, '_>) {
        let history = &self.history;
        let taken = |id: &str| history.iter().any(|item| item.calls(id));
        let calls = draft.calls(step.account.steps, stop, taken);
        let Draft { text, usage, .. } = draft;
        if let Some(model) = step.rules.models.model(self.model.as_deref()) {
            let price = model.price();
            step.account.count_answer(self.kind.as_deref().unwrap_or(ITSELF), usage, price);
        }
        step.event(Event::Answered { usage, stop });
        let said = calls.iter().map(|called| called.call.clone()).collect();
        self.say(Item::Assistant { text: text.clone(), calls: said, partial: false });
        if calls.is_empty() {
            return match self.follow_ups.pop_front() {
                Some(content) => {
                    self.say(Item::User { content });
                    self.repeats.clear();
                    self.ask_model(step);
                }
                None => self.end(End::Answer { text, stop }, step),
            };
        }
        self.calls = self.calls.saturating_add(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        let looping = self.count_repeats(&calls, step.limits.max_repeats);
        let calls = calls.into_iter().map(|Called { call, cut }| {
            let mut call = Call::new(call);
            if cut {
                let why = "The answer was cut off before this call was complete.";
                call.state = CallState::Done { outcome: Outcome::of(Status::Invalid, why) };
            }
            call
        });
        self.phase = Phase::Tools { calls: calls.collect(), topping_up: false };
        if let Some(tool) = looping {
            self.close_calls(step);
            return self.end(End::Loop { tool }, step);
        }
        self.decide_calls(step);
    }

    /// Counts calls that were made before in a row; names one that was made far
    /// too often.
    fn count_repeats(&mut self, calls: &[Called], most: u32) -> Option<String> {
        let before = std::mem::take(&mut self.repeats);
        let mut looping = None;
        for Called { call, .. } in calls {
            let print = fingerprint(&call.name, &call.arguments);
            let times = before.iter().find(|(seen, _)| *seen == print).map_or(0, |(_, n)| *n);
            let times = times.saturating_add(1);
            self.repeats.push((print, times));
            if times > most.saturating_mul(2) {
                looping = Some(call.name.clone());
            }
        }
        looping
    }

    /// Takes the calls that the gate has not seen through it, as far as what is
    /// reserved reaches.
    pub(super) fn decide_calls(&mut self, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, topping_up: false } = &mut self.phase else { return };
        let mut calls = std::mem::take(calls);
        let mut waits = false;
        for each in calls.iter_mut().filter(|call| call.state == CallState::New) {
            let price = spec(&each.call, step).map_or(Credits::ZERO, |spec| spec.price);
            if self.top_up(price, step) {
                waits = true;
                break;
            }
            each.state = self.decide(&each.call, Approval::None, step);
        }
        self.phase = Phase::Tools { calls, topping_up: waits };
        self.calls_changed(step);
    }

    /// The state of a call after the gate has seen it.
    pub(super) fn decide(
        &mut self,
        call: &ToolCall,
        approval: Approval,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        let print = fingerprint(&call.name, &call.arguments);
        let times = self.repeats.iter().find(|(seen, _)| *seen == print).map_or(0, |(_, n)| *n);
        if approval == Approval::None && times > step.limits.max_repeats {
            let why = "You have made this call with these arguments before, again and again. \
                       Do something else, or answer.";
            return self.done(call, Outcome::of(Status::Denied, why), step);
        }
        self.again(call, approval, step)
    }

    /// Takes a call through the gate, however often it was made.
    pub(super) fn again(
        &mut self,
        call: &ToolCall,
        approval: Approval,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        match self.pass(call, approval, step) {
            Passed::Run(authorized, approved) => self.run(authorized, approved, step),
            Passed::Wait(state) => state,
            Passed::Done(outcome) => self.done(call, outcome, step),
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
            self.close_calls(step);
            self.phase = Phase::Ready;
            self.ask_model(step);
        }
    }

    /// Writes what the calls came to. Those that are not done were stopped, and
    /// of one that had begun outside nobody knows what became of it.
    pub(super) fn close_calls(&mut self, step: &Step<'_, '_>) {
        let Phase::Tools { calls, .. } = &mut self.phase else { return };
        let results = std::mem::take(calls).into_iter().map(|Call { call, state }| {
            let outcome = match state {
                CallState::Done { outcome } => outcome,
                CallState::Running { .. } if is_external(&call, step) => {
                    let why = "This was stopped, and nobody knows whether it was done.";
                    Outcome::of(Status::OutcomeUnknown, why)
                }
                _ => Outcome::of(Status::Aborted, "This was stopped before it was done."),
            };
            CallResult { call: call.id, outcome }
        });
        let results = results.collect();
        self.say(Item::Results { results });
    }

    pub(super) fn end(&mut self, end: End, step: &mut Step<'_, '_>) {
        if self.kind.is_none() {
            step.event(Event::Ended(end.clone()));
        }
        self.phase = Phase::Done { end };
    }
}
