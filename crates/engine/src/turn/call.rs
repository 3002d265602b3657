//! The life of a tool call: the gate, approval, running, the outcome.

use ostler_domain::gate::approval::ArgumentsHash;
use ostler_domain::gate::{AskReason, DenyReason, GateDecision};
use ostler_domain::money::Credits;
use ostler_domain::tool::{Reach, Risk, ToolSpec};
use serde::{Deserialize, Serialize};

use super::node::Node;
use super::protocol::{GateRecord, Question, QuestionKind, TurnAction, TurnEvent};
use super::{ApprovalMode, Step};
use crate::gate::{Approval, Authorized, authorize, fingerprint};
use crate::history::ToolCall;
use crate::outcome::{OutcomeStatus, ToolOutcome};
use crate::tool::UserQuestion;

/// A call and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrackedCall {
    pub(super) call: ToolCall,
    /// How often in a row it was made, including this time.
    pub(super) times: u32,
    pub(super) state: CallState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum CallState {
    /// The gate has not decided yet.
    New {
        /// Whether a person has approved it.
        approved: bool,
        /// Whether it was an external call already running when the turn was interrupted.
        interrupted: bool,
    },
    Running {
        /// Whether a person has approved it.
        approved: bool,
        /// Whether it has an effect outside.
        external: bool,
    },
    /// A person must decide whether it runs.
    AwaitingApproval {
        why: AskReason,
        risk: Risk,
        /// The arguments the approval is bound to.
        arguments: ArgumentsHash,
    },
    /// A person must answer a question.
    AwaitingAnswer {
        ask: UserQuestion,
    },
    /// A subagent works on it.
    Delegated {
        agent: Box<Node>,
    },
    Done {
        outcome: ToolOutcome,
    },
}

impl TrackedCall {
    pub(super) const fn new(call: ToolCall, times: u32) -> Self {
        Self { call, times, state: CallState::New { approved: false, interrupted: false } }
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self.state, CallState::Done { .. })
    }

    /// Returns whether the turn ends with this call.
    pub(super) const fn ends_turn(&self) -> bool {
        matches!(&self.state, CallState::Done { outcome } if outcome.ends_turn)
    }

    /// Creates a call that a person has already approved.
    pub(super) const fn approved(call: ToolCall) -> Self {
        Self { call, times: 1, state: CallState::New { approved: true, interrupted: false } }
    }

    /// Returns the question that the call waits for.
    pub(super) fn question(&self) -> Option<Question> {
        let kind = match &self.state {
            CallState::AwaitingApproval { why, risk, arguments } => {
                QuestionKind::Approval { why: why.clone(), risk: *risk, arguments: *arguments }
            }
            CallState::AwaitingAnswer { ask } => QuestionKind::Ask(ask.clone()),
            _ => return None,
        };
        Some(Question { call: self.call.clone(), kind })
    }
}

/// What follows from the gate's decision.
pub(super) enum GateResult {
    /// The call, and whether a person approved it.
    Run(Authorized, bool),
    Wait(CallState),
    Done(ToolOutcome),
}

impl Node {
    /// Passes a call through the gate and records the decision.
    pub(super) fn authorize(
        &mut self,
        call: &ToolCall,
        approval: Approval,
        step: &mut Step<'_, '_>,
    ) -> GateResult {
        if call.unreadable.is_some() {
            let why = "The arguments are not a JSON object. Write the call again.";
            return GateResult::Done(ToolOutcome::new(OutcomeStatus::Invalid, why));
        }
        let exists = self.may_use(&call.name) && step.rules.tools.get(&call.name).is_some();
        let (decision, authorized) = if exists {
            let budget = step.account.available(&step.path);
            let facts = step.rules.facts(call, step.account, &budget, self.trust);
            authorize(call, approval, &facts)
        } else {
            (GateDecision::Deny(DenyReason::UnknownTool), None)
        };
        let (id, tool) = (call.id.clone(), call.name.clone());
        let record = GateRecord { call: id, tool, verdict: decision.clone() };
        step.account.decisions.push(record.clone());
        step.event(TurnEvent::Decided(record));
        if let GateDecision::Deny(why) = &decision {
            return GateResult::Done(self.denial_outcome(why, step));
        }
        if let Some(problem) = step.rules.tools.argument_problems(&call.name, &call.arguments) {
            let why = format!("These arguments do not match the schema of the tool: {problem}.");
            return GateResult::Done(ToolOutcome::new(OutcomeStatus::Invalid, why));
        }
        match (decision, authorized) {
            (_, Some(authorized)) => GateResult::Run(authorized, approval == Approval::Given),
            (GateDecision::Ask(why), None) => Self::ask_for_approval(call, why, step),
            (_, None) => {
                GateResult::Done(ToolOutcome::new(OutcomeStatus::Denied, "This is not allowed."))
            }
        }
    }

    /// Returns what the model is told about a denial. The first call of an unknown tool
    /// is answered with the list of tools.
    fn denial_outcome(&mut self, why: &DenyReason, step: &Step<'_, '_>) -> ToolOutcome {
        let status = match why {
            DenyReason::UnknownTool => OutcomeStatus::UnknownTool,
            DenyReason::Disabled { .. } => OutcomeStatus::Disabled,
            DenyReason::OverBudget(_) | DenyReason::SessionReadOnly => {
                OutcomeStatus::InsufficientCredits
            }
            DenyReason::OutOfScope(_) | DenyReason::DraftOnly | DenyReason::Permission(_) => {
                OutcomeStatus::Denied
            }
        };
        let text = why.model_text();
        if status == OutcomeStatus::UnknownTool && !std::mem::replace(&mut self.tools_listed, true)
        {
            let tool_names = self.offered(step.rules).join(", ");
            return ToolOutcome::new(
                status,
                format!("{text}. The available tools are: {tool_names}."),
            );
        }
        ToolOutcome::new(status, format!("{text}."))
    }

    /// Suspends or defers a call that needs approval.
    fn ask_for_approval(call: &ToolCall, why: AskReason, step: &mut Step<'_, '_>) -> GateResult {
        let risk = spec(call, step).map_or(Risk::Destructive, |spec| spec.risk);
        let arguments = fingerprint(&call.name, &call.arguments);
        let kind = QuestionKind::Approval { why: why.clone(), risk, arguments };
        let question = Question { call: call.clone(), kind };
        match step.limits.approval_mode {
            ApprovalMode::Suspend => {
                step.event(TurnEvent::Asked(question));
                GateResult::Wait(CallState::AwaitingApproval { why, risk, arguments })
            }
            ApprovalMode::Defer => {
                if !step.account.deferred_hashes.contains(&arguments) {
                    step.account.deferred_hashes.push(arguments);
                    step.account.deferred_questions.push(question.clone());
                    step.event(TurnEvent::Deferred(question));
                }
                let text = "A person has to approve this first. Say that you are checking, and \
                            go on; you will be told what they decided.";
                GateResult::Done(ToolOutcome::new(OutcomeStatus::PendingApproval, text))
            }
        }
    }

    /// Starts an authorized call.
    pub(super) fn run(
        &self,
        call: Authorized,
        approved: bool,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        let external = is_external(call.call(), step);
        if let Some(spec) = spec(call.call(), step) {
            let (name, price) = (spec.name.clone(), spec.price_of(&call.call().arguments));
            step.account.count_call(&step.path, self.usage_key(), &name, price);
        }
        step.event(TurnEvent::CallStarted { call: call.call().clone() });
        step.act(TurnAction::Run { call, checkpoint: external });
        CallState::Running { approved, external }
    }

    /// Gives back what a call was charged for units that it did not use. If it is not known
    /// whether the call took effect, all of them count as used.
    pub(super) fn refund_unused_units(
        &self,
        call: &ToolCall,
        outcome: &ToolOutcome,
        step: &mut Step<'_, '_>,
    ) {
        let Some(spec) = spec(call, step).filter(|spec| spec.units.is_some()) else { return };
        if outcome.status == OutcomeStatus::OutcomeUnknown {
            return;
        }
        let used = spec.price_of_units(outcome.units.unwrap_or_default());
        let unused = spec.price_of(&call.arguments).saturating_sub(used);
        step.account.refund_call(&step.path, self.usage_key(), &spec.name, unused);
    }
}

/// Returns the policy specification of the called tool.
pub(super) fn spec<'r>(call: &ToolCall, step: &Step<'r, '_>) -> Option<&'r ToolSpec> {
    step.rules.scope.find(&call.name).map(|scoped| &scoped.spec)
}

/// Returns the most that a call costs.
pub(super) fn call_price(call: &ToolCall, step: &Step<'_, '_>) -> Credits {
    spec(call, step).map_or(Credits::ZERO, |spec| spec.price_of(&call.arguments))
}

/// Returns whether a call has an external effect, which cannot be rolled back.
pub(super) fn is_external(call: &ToolCall, step: &Step<'_, '_>) -> bool {
    spec(call, step).is_some_and(|spec| spec.reach == Reach::External && spec.risk != Risk::Read)
}
