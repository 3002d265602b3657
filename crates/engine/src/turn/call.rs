//! A call on its way: decided, run, waiting for a person, done.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::gate::{AskReason, DenyReason, Verdict};
use ostler_domain::tool::{Reach, Risk, ToolSpec};
use serde::{Deserialize, Serialize};

use super::node::Node;
use super::protocol::{Action, Event, Judgement, Question, QuestionKind};
use super::{OnAsk, Step};
use crate::gate::{Approval, Authorized, fingerprint, pass};
use crate::history::ToolCall;
use crate::outcome::{Outcome, Status};
use crate::tool::Ask;

/// A call and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) call: ToolCall,
    /// How often in a row it was made, this time included.
    pub(super) times: u32,
    pub(super) state: CallState,
}

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum CallState {
    /// The gate is to see it.
    New {
        /// Whether a person has approved it.
        approved: bool,
        /// Whether it had begun outside when the turn was interrupted.
        begun: bool,
    },
    /// It runs.
    Running {
        /// Whether a person had approved it.
        approved: bool,
        /// Whether it has an effect outside.
        external: bool,
    },
    /// A person is to decide whether it runs.
    Undecided {
        /// Why.
        why: AskReason,
        /// How bad a wrong call would be.
        risk: Risk,
        /// What an approval is bound to.
        arguments: ArgumentsHash,
    },
    /// A person is to answer.
    Asking {
        /// What.
        ask: Ask,
    },
    /// Another agent works on it.
    Delegated {
        /// That agent.
        agent: Box<Node>,
    },
    /// It is done.
    Done {
        /// What it came to.
        outcome: Outcome,
    },
}

impl Call {
    pub(super) const fn new(call: ToolCall, times: u32) -> Self {
        Self { call, times, state: CallState::New { approved: false, begun: false } }
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self.state, CallState::Done { .. })
    }

    /// Whether the turn ends with what it came to.
    pub(super) const fn is_last(&self) -> bool {
        matches!(&self.state, CallState::Done { outcome } if outcome.last)
    }

    /// A call that a person has approved already.
    pub(super) const fn approved(call: ToolCall) -> Self {
        Self { call, times: 1, state: CallState::New { approved: true, begun: false } }
    }

    /// The question that it waits with.
    pub(super) fn question(&self) -> Option<Question> {
        let kind = match &self.state {
            CallState::Undecided { why, risk, arguments } => {
                QuestionKind::Approval { why: *why, risk: *risk, arguments: *arguments }
            }
            CallState::Asking { ask } => QuestionKind::Ask(ask.clone()),
            _ => return None,
        };
        Some(Question { call: self.call.clone(), kind })
    }
}

/// What the gate makes of a call.
pub(super) enum Passed {
    /// It runs.
    Run(Authorized, bool),
    /// It waits.
    Wait(CallState),
    /// It does not run.
    Done(Outcome),
}

impl Node {
    /// Takes a call through the gate, and records what was decided.
    pub(super) fn pass(
        &mut self,
        call: &ToolCall,
        approval: Approval,
        step: &mut Step<'_, '_>,
    ) -> Passed {
        if call.unreadable.is_some() {
            let why = "The arguments are not a JSON object. Write the call again.";
            return Passed::Done(Outcome::of(Status::Invalid, why));
        }
        let known = self.may_use(&call.name) && step.rules.tools.get(&call.name).is_some();
        let (verdict, passed) = if known {
            let budget = step.account.free();
            pass(call.clone(), approval, &step.rules.facts(step.account, &budget, self.trust))
        } else {
            (Verdict::Deny(DenyReason::UnknownTool), Err(call.clone()))
        };
        let (id, tool) = (call.id.clone(), call.name.clone());
        let judgement = Judgement { call: id, tool, verdict: verdict.clone() };
        step.account.decisions.push(judgement.clone());
        step.event(Event::Decided(judgement));
        if let Verdict::Deny(why) = &verdict {
            return Passed::Done(self.denied(why, step));
        }
        if let Some(problem) = step.rules.tools.problem_with(&call.name, &call.arguments) {
            let why = format!("These arguments do not fit the tool: {problem}.");
            return Passed::Done(Outcome::of(Status::Invalid, why));
        }
        match (verdict, passed) {
            (_, Ok(authorized)) => Passed::Run(authorized, approval == Approval::Given),
            (Verdict::Ask(why), Err(_)) => Self::asked(call, why, step),
            (_, Err(_)) => Passed::Done(Outcome::of(Status::Denied, "This is not allowed.")),
        }
    }

    /// What the model is told of a refusal. A tool that does not exist is
    /// answered once with those that do.
    fn denied(&mut self, why: &DenyReason, step: &Step<'_, '_>) -> Outcome {
        let status = match why {
            DenyReason::UnknownTool => Status::UnknownTool,
            DenyReason::Disabled { .. } => Status::Disabled,
            DenyReason::OverBudget(_) | DenyReason::SessionReadOnly => Status::InsufficientCredits,
            DenyReason::OutOfScope(_) | DenyReason::DraftOnly | DenyReason::Permission(_) => {
                Status::Denied
            }
        };
        let said = why.for_model();
        if status == Status::UnknownTool && !std::mem::replace(&mut self.corrected, true) {
            let there = self.offered(step.rules).join(", ");
            return Outcome::of(status, format!("{said}. These tools are: {there}."));
        }
        Outcome::of(status, format!("{said}."))
    }

    /// What becomes of a call that a person must decide on.
    fn asked(call: &ToolCall, why: AskReason, step: &mut Step<'_, '_>) -> Passed {
        let risk = spec(call, step).map_or(Risk::Destructive, |spec| spec.risk);
        let arguments = fingerprint(&call.name, &call.arguments);
        let kind = QuestionKind::Approval { why, risk, arguments };
        let question = Question { call: call.clone(), kind };
        match step.limits.on_ask {
            OnAsk::Suspend => {
                step.event(Event::Asked(question));
                Passed::Wait(CallState::Undecided { why, risk, arguments })
            }
            OnAsk::Defer => {
                if !step.account.deferred.contains(&arguments) {
                    step.account.deferred.push(arguments);
                    step.account.put_off.push(question.clone());
                    step.event(Event::Deferred(question));
                }
                let said = "A person has to approve this first. Say that you are checking, and \
                            go on; you will be told what they decided.";
                Passed::Done(Outcome::of(Status::PendingApproval, said))
            }
        }
    }

    /// Starts a call that passed.
    pub(super) fn run(
        &self,
        call: Authorized,
        approved: bool,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        let external = is_external(call.call(), step);
        if let Some(spec) = spec(call.call(), step) {
            let (name, price) = (spec.name.clone(), spec.price);
            step.account.count_call(self.agent_type(), &name, price);
        }
        step.act(Action::Run { call, checkpoint: external });
        CallState::Running { approved, external }
    }
}

/// What policy knows of the tool that a call names.
pub(super) fn spec<'r>(call: &ToolCall, step: &Step<'r, '_>) -> Option<&'r ToolSpec> {
    step.rules.scope.find(&call.name).map(|scoped| &scoped.spec)
}

/// Whether a call has an effect outside, where nothing can be rolled back.
pub(super) fn is_external(call: &ToolCall, step: &Step<'_, '_>) -> bool {
    spec(call, step).is_some_and(|spec| spec.reach == Reach::External && spec.risk != Risk::Read)
}
