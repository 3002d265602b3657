//! One agent of a turn: its history, its phase and its calls.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::{ToolName, Trust};
use serde::{Deserialize, Serialize};

use super::account::ROOT_AGENT;
use super::answer::RequestCost;
use super::call::{CallState, GateResult, TrackedCall, call_price, spec};
use super::draft::{Draft, ParsedCall};
use super::protocol::TurnEvent;
use super::{Step, TurnEnd, TurnRules};
use crate::gate::{Approval, fingerprint};
use crate::history::{CallResult, Content, Item, ToolCall};
use crate::model::StopReason;
use crate::outcome::{OutcomeStatus, ToolOutcome};

/// One agent of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Node {
    /// `None` for the agent the turn belongs to.
    pub(super) agent_type: Option<String>,
    /// `None` means the turn's model.
    pub(super) model: Option<String>,
    pub(super) system: Arc<str>,
    /// The tools its caller allows; `None` means all.
    pub(super) allowed: Option<Vec<ToolName>>,
    pub(super) history: Arc<Vec<Item>>,
    /// How many of them a forked agent has from its caller.
    #[serde(default)]
    pub(super) inherited: usize,
    pub(super) phase: Phase,
    /// Whether it has read anything from outside.
    pub(super) trust: Trust,
    pub(super) follow_ups: VecDeque<FollowUp>,
    /// Whether it was already told which tools exist.
    pub(super) tools_listed: bool,
    /// The calls of its last answer, and how often in a row each was made.
    pub(super) repeats: Vec<(ArgumentsHash, u32)>,
    /// The number of calls it has made.
    pub(super) call_count: u32,
    /// The most answers it may give; `None` means as many as the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_steps: Option<u32>,
    /// The number of answers it has asked for.
    #[serde(default)]
    pub(super) steps: u32,
    pub(super) started_at: Timestamp,
}

/// A message that arrived while the turn was running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUp {
    pub content: Vec<Content>,
    /// Whether the message is from outside.
    pub trust: Trust,
}

/// What an agent is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub(super) enum Phase {
    /// The model is to be asked.
    Ready,
    /// Waits for credits before asking the model.
    ToppingUp,
    /// The model answers.
    Model {
        draft: Draft,
        cost: RequestCost,
    },
    /// Calls of the last answer are in progress.
    Tools {
        calls: Vec<TrackedCall>,
        /// Waits for credits for the next call.
        topping_up: bool,
    },
    Done {
        end: TurnEnd,
    },
}

impl Node {
    pub(super) fn usage_key(&self) -> &str {
        self.agent_type.as_deref().unwrap_or(ROOT_AGENT)
    }

    /// Returns whether the caller allows this tool.
    pub(super) fn may_use(&self, name: &str) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|tool| tool.as_str() == name))
    }

    /// Returns the names of the tools offered to the model.
    pub(super) fn offered(&self, rules: &TurnRules<'_>) -> Vec<String> {
        let active = rules.scope.active().map(|spec| spec.name.as_str());
        let existing = active.filter(|name| self.may_use(name) && rules.tools.get(name).is_some());
        existing.map(str::to_owned).collect()
    }

    pub(super) fn push_item(&mut self, item: Item) {
        Arc::make_mut(&mut self.history).push(item);
    }

    /// Counts how often each call was made in a row, in previous answers and in this
    /// one.
    pub(super) fn count_repeats(&mut self, calls: &[ParsedCall]) -> Vec<u32> {
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

    /// Passes new calls through the gate, as far as the reservation covers them.
    pub(super) fn decide_calls(&mut self, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, topping_up: false } = &mut self.phase else { return };
        let mut calls = std::mem::take(calls);
        let mut waits = false;
        for tracked in &mut calls {
            let CallState::New { approved, interrupted } = tracked.state else { continue };
            let price = call_price(&tracked.call, step);
            // Nothing is reserved for a call that the gate refuses because of another limit.
            let is_affordable = step.account.available(&step.path).check(price).is_ok();
            if is_affordable && self.request_top_up(price, step) {
                waits = true;
                break;
            }
            let approval = if approved { Approval::Given } else { Approval::None };
            tracked.state = self.decide(tracked, approval, interrupted, step);
        }
        self.phase = Phase::Tools { calls, topping_up: waits };
        self.continue_if_calls_done(step);
    }

    /// Returns the state of a call after the gate. An interrupted external call that
    /// may not run again has an unknown outcome, whatever the gate decides.
    fn decide(
        &mut self,
        TrackedCall { call, times, .. }: &TrackedCall,
        approval: Approval,
        interrupted: bool,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        if approval == Approval::None && !interrupted && *times > step.limits.max_repeats {
            let why = "You have repeated this call with the same arguments too often. \
                       Do something else, or answer.";
            return self.complete_call(call, ToolOutcome::new(OutcomeStatus::Denied, why), step);
        }
        match self.authorize(call, approval, step) {
            GateResult::Run(authorized, approved) => self.run(authorized, approved, step),
            GateResult::Wait(state) if !interrupted => state,
            GateResult::Done(outcome) if !interrupted => self.complete_call(call, outcome, step),
            GateResult::Wait(_) | GateResult::Done(_) => {
                self.complete_call(call, unknown_outcome(), step)
            }
        }
    }

    /// Completes a call: updates trust, failure counts and effects, and publishes its
    /// end.
    pub(super) fn complete_call(
        &mut self,
        call: &ToolCall,
        outcome: ToolOutcome,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        self.trust = self.trust.after_reading(outcome.trust);
        if outcome.status.is_failure()
            && let Some(spec) = spec(call, step)
        {
            step.record_failure(&spec.name);
        }
        step.event(call_ended(call, &outcome));
        let mut outcome = outcome;
        step.account.effects.append(&mut outcome.effects);
        CallState::Done { outcome }
    }

    /// Continues once every call is done.
    pub(super) fn continue_if_calls_done(&mut self, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, .. } = &self.phase else { return };
        if calls.iter().all(TrackedCall::is_done) {
            let last = calls.iter().any(TrackedCall::ends_turn);
            self.close_calls(step);
            self.phase = Phase::Ready;
            if last { self.end_after_final_call(step) } else { self.ask_model(step) }
        }
    }

    /// Ends the turn with the text that came with the calls.
    fn end_after_final_call(&mut self, step: &mut Step<'_, '_>) {
        let text_beside_calls = self.history.iter().rev().find_map(|item| match item {
            Item::Assistant { text, .. } => Some(text.clone()),
            _ => None,
        });
        let text = text_beside_calls.unwrap_or_default();
        self.end(TurnEnd::Answer { text, stop: StopReason::ToolCalls }, step);
    }

    /// Adds the results of all calls to the history. Unfinished calls are stopped; the
    /// outcome of an external call that was running is unknown.
    pub(super) fn close_calls(&mut self, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, .. } = &mut self.phase else { return };
        let calls = std::mem::take(calls);
        let mut results = Vec::with_capacity(calls.len());
        for TrackedCall { call, state, .. } in calls {
            let outcome = match state {
                CallState::Done { outcome } => outcome,
                other => self.stop_call(&call, other, step),
            };
            results.push(CallResult { call: call.id, outcome });
        }
        self.push_item(Item::Results { results });
    }

    fn stop_call(
        &mut self,
        call: &ToolCall,
        state: CallState,
        step: &mut Step<'_, '_>,
    ) -> ToolOutcome {
        let is_running = matches!(state, CallState::Running { .. });
        let outcome = match state {
            CallState::Running { external: true, .. } => unknown_outcome(),
            CallState::Delegated { agent } => self.stop_subagent(call, *agent, step),
            _ => {
                ToolOutcome::new(OutcomeStatus::Aborted, "This was stopped before it was finished.")
            }
        };
        if is_running {
            self.refund_unused_units(call, &outcome, step);
        }
        step.event(call_ended(call, &outcome));
        outcome
    }

    pub(super) fn end(&mut self, end: TurnEnd, step: &mut Step<'_, '_>) {
        if self.agent_type.is_none() {
            step.event(TurnEvent::Ended(end.clone()));
        }
        self.phase = Phase::Done { end };
    }
}

fn call_ended(call: &ToolCall, outcome: &ToolOutcome) -> TurnEvent {
    TurnEvent::CallEnded {
        call: call.id.clone(),
        tool: call.name.clone(),
        status: outcome.status,
        content: outcome.content.clone(),
    }
}

/// Returns the outcome of an external call that was interrupted.
pub(super) fn unknown_outcome() -> ToolOutcome {
    let why = "This call was interrupted, and it is not known whether it took effect.";
    ToolOutcome::new(OutcomeStatus::OutcomeUnknown, why)
}
