//! Beginning a turn, and taking up one that was stored.

use std::collections::BTreeMap;

use super::call::{CallState, is_external};
use super::node::{Node, Phase};
use super::protocol::{Event, Out};
use super::{Rules, Step, Turn};
use crate::gate::Approval;
use crate::history::CallId;
use crate::outcome::{Outcome, Status};

/// What is known of calls that had begun outside when the turn was stored.
pub type Known = BTreeMap<CallId, Outcome>;

impl Turn {
    /// Says what is to be done now. Calls that had begun are decided on anew and
    /// run again, unless they have an effect outside that cannot be repeated:
    /// what became of those is `known`, or it is unknown.
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
            Phase::Model { draft } => {
                if !draft.is_empty() {
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
            let call = each.call.clone();
            match &mut each.state {
                CallState::Running { approved } => {
                    let approval = if *approved { Approval::Given } else { Approval::None };
                    each.state = match known.get(&call.id) {
                        Some(outcome) => self.done(&call, outcome.clone(), step),
                        None if may_repeat(&call, step) => self.again(&call, approval, step),
                        None => {
                            let why = "This had begun when the work was interrupted, and nobody \
                                       knows whether it was done.";
                            self.done(&call, Outcome::of(Status::OutcomeUnknown, why), step)
                        }
                    };
                }
                CallState::Delegated { agent } => {
                    step.path.push(call.id.clone());
                    agent.resume(known, step);
                    step.path.pop();
                    delegated.push(call.id);
                }
                CallState::New
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
}

/// Whether a call that had begun can simply be made again.
fn may_repeat(call: &crate::history::ToolCall, step: &Step<'_, '_>) -> bool {
    let idempotent = step.rules.tools.definition(&call.name).is_some_and(|tool| tool.idempotent);
    idempotent || !is_external(call, step)
}
