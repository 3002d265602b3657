//! Starting a turn, and resuming one that was stored.

use std::collections::BTreeMap;

use super::call::{CallState, spec};
use super::input::normalize_outcome;
use super::node::{Node, Phase, unknown_outcome};
use super::protocol::{AgentPath, TurnEvent, TurnOutput};
use super::{Step, Turn, TurnRules};
use crate::history::{CallId, ToolCall};
use crate::outcome::ToolOutcome;

/// The outcomes of external calls that were running when the turn was stored, by
/// agent and call.
pub type KnownOutcomes = BTreeMap<(AgentPath, CallId), ToolOutcome>;

impl Turn {
    /// Starts or resumes the turn.
    ///
    /// Interrupted calls pass the gate again and are repeated, unless they have an
    /// external effect that must not be repeated: the outcome of those is taken from
    /// `known`, or is unknown. Before resuming a turn that has waited for long, update
    /// its budget ([`Input::Budget`](super::Input)) and load its attachments
    /// ([`Turn::for_each_attachment`]).
    pub fn resume(&mut self, known: &KnownOutcomes, rules: &TurnRules<'_>, out: &mut TurnOutput) {
        let limits = self.limits;
        let mut step = Step::new(rules, &mut self.account, &limits, out);
        self.root.resume(known, &mut step);
    }
}

impl Node {
    fn resume(&mut self, known: &KnownOutcomes, step: &mut Step<'_, '_>) {
        match &mut self.phase {
            Phase::Ready | Phase::ToppingUp => {
                self.phase = Phase::Ready;
                self.ask_model(step);
            }
            Phase::Model { .. } => {
                if !self.abandon_answer(step).is_empty() {
                    step.event(TurnEvent::DraftDiscarded);
                }
                // The lost answer does not count as a step.
                step.account.steps = step.account.steps.saturating_sub(1);
                self.steps = self.steps.saturating_sub(1);
                self.phase = Phase::Ready;
                self.ask_model(step);
            }
            Phase::Tools { topping_up, .. } => {
                *topping_up = false;
                self.resume_calls(known, step);
            }
            Phase::Done { .. } => {}
        }
    }

    fn resume_calls(&mut self, known: &KnownOutcomes, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, .. } = &mut self.phase else { return };
        let mut calls = std::mem::take(calls);
        let mut delegated = Vec::new();
        for tracked in &mut calls {
            match &mut tracked.state {
                CallState::Running { approved, external } => {
                    let (approved, external) = (*approved, *external);
                    tracked.state =
                        self.resume_call(&tracked.call, approved, external, known, step);
                }
                CallState::Delegated { agent } => {
                    step.path.push(tracked.call.id.clone());
                    agent.resume(known, step);
                    step.path.pop();
                    delegated.push(tracked.call.id.clone());
                }
                CallState::New { .. }
                | CallState::AwaitingApproval { .. }
                | CallState::AwaitingAnswer { .. }
                | CallState::Done { .. } => {}
            }
        }
        self.phase = Phase::Tools { calls, topping_up: false };
        for id in delegated {
            self.collect_subagent(&id, step);
        }
        self.decide_calls(step);
    }

    /// Returns the state of a call that was running: its known outcome, or a new
    /// attempt, which is charged again.
    fn resume_call(
        &mut self,
        call: &ToolCall,
        approved: bool,
        external: bool,
        known: &KnownOutcomes,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        if let Some(outcome) = known.get(&(step.path.clone(), call.id.clone())) {
            let outcome = normalize_outcome(call, outcome.clone(), step);
            self.refund_unused_units(call, &outcome, step);
            return self.complete_call(call, outcome, step);
        }
        let definition = step.rules.tools.definition(&call.name);
        if external && !definition.is_some_and(|tool| tool.idempotent) {
            return self.complete_call(call, unknown_outcome(), step);
        }
        if let Some(spec) = spec(call, step) {
            let (name, price) = (spec.name.clone(), spec.price_of(&call.arguments));
            step.account.refund_call(&step.path, self.usage_key(), &name, price);
        }
        CallState::New { approved, interrupted: external }
    }
}
