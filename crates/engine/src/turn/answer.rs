//! The model's part of a turn: checks that an answer can be paid for, requests it
//! and takes its chunks.

use ostler_domain::money::Credits;
use ostler_domain::money::caps::BudgetExceeded;
use ostler_domain::money::price::ModelPrice;
use serde::{Deserialize, Serialize};

use super::Step;
use super::call::{CallState, TrackedCall};
use super::draft::{Draft, ParsedCall};
use super::node::{FollowUp, Node, Phase};
use super::protocol::{InputRejected, TurnAction, TurnEnd, TurnEvent};
use crate::history::Item;
use crate::model::{Chunk, ModelError, ModelErrorKind, Request, StopReason, Usage};
use crate::outcome::{OutcomeStatus, ToolOutcome};
use crate::tokens;

/// The cost of a request while the model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestCost {
    /// An estimate.
    input_tokens: u64,
    /// The most the answer may cost.
    reserved: Credits,
    /// The price of the model that answers.
    price: ModelPrice,
}

impl Node {
    /// Requests an answer from the model, or ends the turn if it cannot be paid for.
    pub(super) fn ask_model(&mut self, step: &mut Step<'_, '_>) {
        let limit = step.limits.max_steps;
        if step.account.steps >= limit {
            return self.end(TurnEnd::StepLimit { limit }, step);
        }
        if let Some(limit) = self.max_steps.filter(|limit| self.steps >= *limit) {
            return self.end(TurnEnd::StepLimit { limit }, step);
        }
        let Some(model) = step.rules.models.model(self.model.as_deref()) else {
            let name = self.model.clone().unwrap_or_default();
            let message = format!("unknown model `{name}`");
            let kind = ModelErrorKind::UnknownModel;
            let error = ModelError { model: name, kind, message, retry_after: None };
            return self.end(TurnEnd::ModelFailed(error), step);
        };
        let budget = step.account.available(&step.path);
        if let Err(exceeded) = budget.check_model_call() {
            return self.end(TurnEnd::CreditsExhausted(exceeded), step);
        }
        let (offered, price) = (step.offered(self), model.price());
        let input_tokens =
            tokens::of_request(&self.system, &self.history, step.rules.tools, &offered);
        let (remaining, limit) = budget.tightest_limit();
        let Some(max_tokens) = price.clamp_output(step.limits.max_tokens, input_tokens, remaining)
        else {
            let wanted = price.estimate_credits(input_tokens, step.limits.max_tokens);
            let exceeded = BudgetExceeded { wanted, remaining, limit };
            return self.end(TurnEnd::CreditsExhausted(exceeded), step);
        };
        let reserved = price.estimate_credits(input_tokens, max_tokens);
        if self.request_top_up(reserved, step) {
            self.phase = Phase::ToppingUp;
            return;
        }
        step.account.steps += 1;
        self.steps += 1;
        step.account.hold(&step.path, reserved);
        let cost = RequestCost { input_tokens, reserved, price };
        self.phase = Phase::Model { draft: Draft::default(), cost };
        let request = Request {
            system: self.system.clone(),
            history: self.history.clone(),
            tools: step.rules.tools.clone(),
            offered,
            max_tokens,
        };
        step.act(TurnAction::CallModel { model: self.model.clone(), request });
    }

    /// Requests a top-up if the reservation is too small and more is available.
    pub(super) fn request_top_up(&self, wanted: Credits, step: &mut Step<'_, '_>) -> bool {
        let budget = step.account.available(&step.path);
        let amount = budget.shortfall(wanted).min(budget.top_up);
        if amount.is_zero() {
            return false;
        }
        step.act(TurnAction::TopUp(amount));
        true
    }

    /// Continues after a top-up, even if nothing was added.
    pub(super) fn apply_top_up(
        &mut self,
        added: Credits,
        step: &mut Step<'_, '_>,
    ) -> Result<(), InputRejected> {
        match &mut self.phase {
            Phase::ToppingUp => {
                step.account.apply_top_up(added);
                self.phase = Phase::Ready;
                self.ask_model(step);
                Ok(())
            }
            Phase::Tools { topping_up, .. } if *topping_up => {
                *topping_up = false;
                step.account.apply_top_up(added);
                self.decide_calls(step);
                Ok(())
            }
            _ => Err(InputRejected::NotExpected),
        }
    }

    pub(super) fn apply_chunk(
        &mut self,
        chunk: Chunk,
        step: &mut Step<'_, '_>,
    ) -> Result<(), InputRejected> {
        let Phase::Model { draft, cost } = &mut self.phase else {
            return Err(InputRejected::NotExpected);
        };
        let fits = match chunk {
            Chunk::Text(text) => {
                let fits = draft.push_text(&text);
                step.event(TurnEvent::Text { text });
                fits
            }
            Chunk::Call { index, id, name } => draft.begin_call(index, id, name),
            Chunk::Arguments { index, json } => draft.push_arguments(index, &json),
            Chunk::Usage(usage) => {
                draft.usage = usage;
                draft.count_piece(0)
            }
            Chunk::Restart(restart) => {
                let (used, failed) = (draft.usage_or_estimate(cost.input_tokens), cost.price);
                if !draft.is_empty() {
                    step.event(TurnEvent::DraftDiscarded);
                }
                draft.restart();
                if let Some(model) = step.rules.models.model(Some(&restart.model)) {
                    cost.price = model.price();
                }
                let fits = draft.count_piece(restart.why.len());
                step.account.restarts.push(restart.clone());
                step.event(TurnEvent::Restarted(restart));
                self.count_partial_usage(used, failed, step);
                fits
            }
            Chunk::Done(stop) => {
                let (draft, cost) = (std::mem::take(draft), *cost);
                self.finish_answer(draft, cost, stop, step);
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
    ) -> Result<(), InputRejected> {
        if !matches!(self.phase, Phase::Model { .. }) {
            return Err(InputRejected::NotExpected);
        }
        if !self.abandon_answer(step).is_empty() {
            step.event(TurnEvent::DraftDiscarded);
        }
        self.end(TurnEnd::ModelFailed(error), step);
        Ok(())
    }

    /// Discards an answer in progress and counts what it has used, because the provider
    /// charges for it.
    pub(super) fn abandon_answer(&mut self, step: &mut Step<'_, '_>) -> Draft {
        let Phase::Model { draft, cost } = &mut self.phase else { return Draft::default() };
        let (draft, cost) = (std::mem::take(draft), *cost);
        step.account.release(&step.path, cost.reserved);
        self.phase = Phase::Ready;
        self.count_partial_usage(draft.usage_or_estimate(cost.input_tokens), cost.price, step);
        draft
    }

    pub(super) fn count_partial_usage(
        &self,
        used: Usage,
        price: ModelPrice,
        step: &mut Step<'_, '_>,
    ) {
        if used != Usage::default() {
            step.account.count_answer(&step.path, self.usage_key(), used, price);
        }
    }

    /// Records a complete answer and continues with its calls, the next follow-up or
    /// the end.
    pub(super) fn finish_answer(
        &mut self,
        mut draft: Draft,
        cost: RequestCost,
        stop: StopReason,
        step: &mut Step<'_, '_>,
    ) {
        step.account.release(&step.path, cost.reserved);
        let usage = draft.usage_or_estimate(cost.input_tokens);
        step.account.count_answer(&step.path, self.usage_key(), usage, cost.price);
        let history = &self.history;
        let is_taken = |id: &str| history.iter().any(|item| item.has_call(id));
        let calls = draft.calls(step.account.steps, stop, is_taken);
        let Draft { text, .. } = draft;
        let made_calls: Vec<_> = calls.iter().map(|called| called.call.clone()).collect();
        step.event(TurnEvent::Answered { usage, stop, calls: made_calls.clone() });
        // Providers reject empty entries.
        if !calls.is_empty() || !text.trim().is_empty() {
            self.push_item(Item::Assistant {
                text: text.clone(),
                calls: made_calls,
                partial: false,
            });
        }
        if calls.is_empty() {
            return match self.follow_ups.pop_front() {
                Some(FollowUp { content, trust }) => {
                    self.trust = self.trust.after_reading(trust);
                    self.push_item(Item::User { content });
                    self.repeats.clear();
                    self.ask_model(step);
                }
                None => self.end(TurnEnd::Answer { text, stop }, step),
            };
        }
        self.call_count =
            self.call_count.saturating_add(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        let times = self.count_repeats(&calls);
        let far_too_often = step.limits.max_repeats.saturating_mul(2);
        let looping = times.iter().position(|times| *times > far_too_often);
        let looping = looping.and_then(|at| calls.get(at)).map(|called| called.call.name.clone());
        let calls = calls.into_iter().zip(times).map(|(ParsedCall { call, truncated }, times)| {
            let mut call = TrackedCall::new(call, times);
            if truncated {
                let why = "The answer was cut off before this call was complete.";
                call.state =
                    CallState::Done { outcome: ToolOutcome::new(OutcomeStatus::Invalid, why) };
            }
            call
        });
        self.phase = Phase::Tools { calls: calls.collect(), topping_up: false };
        if let Some(tool) = looping {
            self.close_calls(step);
            return self.end(TurnEnd::Loop { tool }, step);
        }
        self.decide_calls(step);
    }
}
