//! Beginning a turn, and taking up one that was stored.

use std::collections::BTreeMap;

use super::call::{CallState, spec};
use super::node::{Node, Phase, unknown};
use super::protocol::{Event, Out, Path};
use super::take::labelled;
use super::{Rules, Step, Turn};
use crate::history::{CallId, ToolCall};
use crate::outcome::Outcome;

/// What is known of calls that had begun outside when the turn was stored.
/// Calls are named with the path to the agent that made them.
pub type Known = BTreeMap<(Path, CallId), Outcome>;

impl Turn {
    /// Says what is to be done now. Calls that had begun are decided on anew and
    /// run again, unless they have an effect outside that cannot be repeated:
    /// what became of those is `known`, or it is unknown. A turn that has waited
    /// for long is told its budget first ([`Input::Budget`](super::Input)) and
    /// its pictures are loaded ([`Turn::attached`]).
    pub fn resume(&mut self, known: &Known, rules: &Rules<'_>, out: &mut Out) {
        let limits = self.limits;
        let mut step = Step::new(rules, &mut self.account, &limits, out);
        self.root.resume(known, &mut step);
    }
}

impl Node {
    fn resume(&mut self, known: &Known, step: &mut Step<'_, '_>) {
        match &mut self.phase {
            Phase::Ready | Phase::ToppingUp => {
                self.phase = Phase::Ready;
                self.ask_model(step);
            }
            Phase::Model { .. } => {
                if !self.give_up_answer(step).is_empty() {
                    step.event(Event::DraftDiscarded);
                }
                // The answer that was lost was not counted.
                step.account.steps = step.account.steps.saturating_sub(1);
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

    fn resume_calls(&mut self, known: &Known, step: &mut Step<'_, '_>) {
        let Phase::Tools { calls, .. } = &mut self.phase else { return };
        let mut calls = std::mem::take(calls);
        let mut delegated = Vec::new();
        for each in &mut calls {
            match &mut each.state {
                CallState::Running { approved, external } => {
                    let (approved, external) = (*approved, *external);
                    each.state = self.resume_call(&each.call, approved, external, known, step);
                }
                CallState::Delegated { agent } => {
                    step.path.push(each.call.id.clone());
                    agent.resume(known, step);
                    step.path.pop();
                    delegated.push(each.call.id.clone());
                }
                CallState::New { .. }
                | CallState::Undecided { .. }
                | CallState::Asking { .. }
                | CallState::Done { .. } => {}
            }
        }
        self.phase = Phase::Tools { calls, topping_up: false };
        for id in delegated {
            self.collect(&id, step);
        }
        self.decide_calls(step);
    }

    /// A call that was running: its outcome, or another try of it, which is
    /// counted anew.
    fn resume_call(
        &mut self,
        call: &ToolCall,
        approved: bool,
        external: bool,
        known: &Known,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        if let Some(outcome) = known.get(&(step.path.clone(), call.id.clone())) {
            let outcome = labelled(call, outcome.clone(), step);
            return self.done(call, outcome, step);
        }
        let definition = step.rules.tools.definition(&call.name);
        if external && !definition.is_some_and(|tool| tool.idempotent) {
            return self.done(call, unknown(), step);
        }
        if let Some(spec) = spec(call, step) {
            let (name, price) = (spec.name.clone(), spec.price);
            step.account.uncount_call(self.agent_type(), &name, price);
        }
        CallState::New { approved, begun: external }
    }
}
