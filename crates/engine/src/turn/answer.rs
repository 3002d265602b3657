//! The model's part: it is asked if that can be paid for, and answers in pieces.

use ostler_domain::money::Credits;
use ostler_domain::money::caps::OverBudget;
use ostler_domain::money::price::ModelPrice;
use serde::{Deserialize, Serialize};

use super::Step;
use super::account::ITSELF;
use super::call::{Call, CallState};
use super::draft::{Called, Draft};
use super::node::{FollowUp, Node, Phase};
use super::protocol::{Action, End, Event, NotTaken};
use crate::history::Item;
use crate::model::{Chunk, ModelError, ModelErrorKind, Request, StopReason, Usage};
use crate::outcome::{Outcome, Status};
use crate::tokens;

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

impl Node {
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
    pub(super) fn top_up(&self, wanted: Credits, step: &mut Step<'_, '_>) -> bool {
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

    pub(super) fn count_unfinished(&self, used: Usage, price: ModelPrice, step: &mut Step<'_, '_>) {
        if used != Usage::default() {
            step.account.count_answer(self.agent_type(), used, price);
        }
    }

    /// The model has said all.
    pub(super) fn answered(
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
}
