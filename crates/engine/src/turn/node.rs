//! One agent of a turn: its conversation and what it is doing.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::money::Credits;
use ostler_domain::money::caps::OverBudget;
use ostler_domain::money::price::ModelPrice;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, Trust};
use serde::{Deserialize, Serialize};

use super::account::ITSELF;
use super::call::{Call, CallState, Passed, spec};
use super::draft::{Called, Draft};
use super::protocol::{Action, Event, NotTaken};
use super::{End, Rules, Step};
use crate::gate::{Approval, fingerprint};
use crate::history::{CallResult, Content, Item, ToolCall};
use crate::model::{Chunk, ModelError, ModelErrorKind, Request, StopReason, Usage};
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

/// What a model was asked, for as long as it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// About how many tokens.
    input: u64,
    /// What the answer may cost.
    held: Credits,
    /// What the model costs that answers.
    price: ModelPrice,
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
        let budget = step.account.free();
        if let Err(short) = budget.check_model_call() {
            return self.end(End::CreditsExhausted(short), step);
        }
        let (offered, price) = (step.offered(self), model.price());
        let input = tokens::of_request(&self.system, &self.history, step.rules.tools, &offered);
        let (left, _) = budget.tightest();
        let Some(max_tokens) = price.clamp_output(step.limits.max_tokens, input, left) else {
            let wanted = price.estimate(input, step.limits.max_tokens);
            let (remaining, limit) = budget.tightest();
            let short = OverBudget { wanted, remaining, limit };
            return self.end(End::CreditsExhausted(short), step);
        };
        let held = price.estimate(input, max_tokens);
        if self.top_up(held, step) {
            self.phase = Phase::ToppingUp;
            return;
        }
        step.account.steps += 1;
        step.account.begin_answer(held);
        let asked = Asked { input, held, price };
        self.phase = Phase::Model { draft: Draft::default(), asked };
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
        let budget = step.account.free();
        let more = budget.missing(wanted).min(budget.top_up);
        if more.is_zero() {
            return false;
        }
        step.act(Action::TopUp(more));
        true
    }

    /// Goes on after more was reserved, or could not be.
    pub(super) fn topped_up(
        &mut self,
        added: Credits,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        match &mut self.phase {
            Phase::ToppingUp => {
                step.account.topped_up(added);
                self.phase = Phase::Ready;
                self.ask_model(step);
                Ok(())
            }
            Phase::Tools { topping_up, .. } if *topping_up => {
                *topping_up = false;
                step.account.topped_up(added);
                self.decide_calls(step);
                Ok(())
            }
            _ => Err(NotTaken::NotExpected),
        }
    }

    /// Takes a piece of the model's answer.
    pub(super) fn chunk(&mut self, chunk: Chunk, step: &mut Step<'_, '_>) -> Result<(), NotTaken> {
        let Phase::Model { draft, asked } = &mut self.phase else {
            return Err(NotTaken::NotExpected);
        };
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
                draft.grow(0)
            }
            Chunk::Restart(restart) => {
                let (used, failed) = (draft.used(asked.input), asked.price);
                if !draft.is_empty() {
                    step.event(Event::DraftDiscarded);
                }
                draft.restart();
                if let Some(model) = step.rules.models.model(Some(&restart.model)) {
                    asked.price = model.price();
                }
                let fits = draft.grow(restart.why.len());
                step.account.restarts.push(restart.clone());
                step.event(Event::Restarted(restart));
                self.count_unfinished(used, failed, step);
                fits
            }
            Chunk::Done(stop) => {
                let (draft, asked) = (std::mem::take(draft), *asked);
                self.answered(draft, asked, stop, step);
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
    ) -> Result<(), NotTaken> {
        if !matches!(self.phase, Phase::Model { .. }) {
            return Err(NotTaken::NotExpected);
        }
        if !self.give_up_answer(step).is_empty() {
            step.event(Event::DraftDiscarded);
        }
        self.end(End::ModelFailed(error), step);
        Ok(())
    }

    /// Gives up an answer that is under way and counts what it has used: the
    /// provider charges for it too.
    pub(super) fn give_up_answer(&mut self, step: &mut Step<'_, '_>) -> Draft {
        let Phase::Model { draft, asked } = &mut self.phase else { return Draft::default() };
        let (draft, asked) = (std::mem::take(draft), *asked);
        step.account.end_answer(asked.held);
        self.phase = Phase::Ready;
        self.count_unfinished(draft.used(asked.input), asked.price, step);
        draft
    }

    fn count_unfinished(&self, used: Usage, price: ModelPrice, step: &mut Step<'_, '_>) {
        if used != Usage::default() {
            step.account.count_answer(self.agent_type(), used, price);
        }
    }

    /// The model has said all.
    fn answered(
        &mut self,
        mut draft: Draft,
        asked: Asked,
        stop: StopReason,
        step: &mut Step<'_, '_>,
    ) {
        step.account.end_answer(asked.held);
        let usage = draft.used(asked.input);
        step.account.count_answer(self.kind.as_deref().unwrap_or(ITSELF), usage, asked.price);
        let history = &self.history;
        let taken = |id: &str| history.iter().any(|item| item.calls(id));
        let calls = draft.calls(step.account.steps, stop, taken);
        let Draft { text, .. } = draft;
        step.event(Event::Answered { usage, stop });
        let said = calls.iter().map(|called| called.call.clone()).collect();
        // Providers refuse an entry with nothing in it.
        if !calls.is_empty() || !text.trim().is_empty() {
            self.say(Item::Assistant { text: text.clone(), calls: said, partial: false });
        }
        if calls.is_empty() {
            return match self.follow_ups.pop_front() {
                Some(FollowUp { content, trust }) => {
                    self.trust = self.trust.after_reading(trust);
                    self.say(Item::User { content });
                    self.repeats.clear();
                    self.ask_model(step);
                }
                None => self.end(End::Answer { text, stop }, step),
            };
        }
        self.calls = self.calls.saturating_add(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        let times = self.count_repeats(&calls);
        let far_too_often = step.limits.max_repeats.saturating_mul(2);
        let looping = times.iter().position(|times| *times > far_too_often);
        let looping = looping.and_then(|at| calls.get(at)).map(|called| called.call.name.clone());
        let calls = calls.into_iter().zip(times).map(|(Called { call, cut }, times)| {
            let mut call = Call::new(call, times);
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

    /// How often each call was made in a row: in the answers before and in this
    /// one.
    fn count_repeats(&mut self, calls: &[Called]) -> Vec<u32> {
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
            self.close_calls(step);
            self.phase = Phase::Ready;
            self.ask_model(step);
        }
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
            CallState::Delegated { agent } => return self.stop_agent(call, *agent, step),
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
