//! Input handling: passes each input to the agent it is for.

use std::sync::Arc;

use super::Step;
use super::call::CallState;
use super::node::{Node, Phase};
use super::protocol::{Answer, Decision, Input, InputRejected, Question, QuestionKind, TurnEvent};
use crate::gate::fingerprint;
use crate::history::{CallId, Item, ToolCall};
use crate::outcome::{OutcomeStatus, ToolOutcome};
use crate::tool::ToolReply;

impl Node {
    /// Passes an input to the agent at a path.
    pub(super) fn route(
        &mut self,
        path: &[CallId],
        input: Input,
        step: &mut Step<'_, '_>,
    ) -> Result<(), InputRejected> {
        let Some((call, rest)) = path.split_first() else { return self.apply(input, step) };
        let Phase::Tools { calls, .. } = &mut self.phase else {
            return Err(InputRejected::NotExpected);
        };
        let agent = calls.iter_mut().find_map(|tracked| match &mut tracked.state {
            CallState::Delegated { agent } if tracked.call.id == *call => Some(agent),
            _ => None,
        });
        let agent = agent.ok_or(InputRejected::NotExpected)?;
        step.path.push(call.clone());
        let result = agent.route(rest, input, step);
        step.path.pop();
        result?;
        self.collect_subagent(call, step);
        Ok(())
    }

    pub(super) fn apply(
        &mut self,
        input: Input,
        step: &mut Step<'_, '_>,
    ) -> Result<(), InputRejected> {
        match input {
            Input::Chunk(chunk) => self.apply_chunk(chunk, step),
            Input::ModelFailed(error) => self.model_failed(error, step),
            Input::ToppedUp(added) => self.apply_top_up(added, step),
            Input::Reply(call, reply) => self.apply_reply(&call, reply, step),
            Input::Decision(call, decision) => self.apply_decision(&call, decision, step),
            Input::Answer(call, answer) => self.apply_answer(&call, answer, step),
            // Inputs for the whole turn are handled before routing.
            Input::Budget(_)
            | Input::FollowUp(_)
            | Input::Steer(_)
            | Input::Abort
            | Input::TimedOut => Err(InputRejected::NotExpected),
        }
    }

    /// Returns the index of a call in an expected state.
    pub(super) fn find_call(
        &mut self,
        id: &CallId,
        expected: impl Fn(&CallState) -> bool,
    ) -> Result<usize, InputRejected> {
        let Phase::Tools { calls, .. } = &self.phase else {
            return Err(InputRejected::NotExpected);
        };
        let found = calls.iter().position(|call| call.call.id == *id && expected(&call.state));
        found.ok_or(InputRejected::NotExpected)
    }

    pub(super) fn set_call(&mut self, at: usize, state: CallState, step: &mut Step<'_, '_>) {
        if let Phase::Tools { calls, .. } = &mut self.phase
            && let Some(call) = calls.get_mut(at)
        {
            call.state = state;
        }
        self.continue_if_calls_done(step);
    }

    pub(super) fn call_at(&self, at: usize) -> Option<ToolCall> {
        match &self.phase {
            Phase::Tools { calls, .. } => calls.get(at).map(|call| call.call.clone()),
            _ => None,
        }
    }

    /// Applies the reply of a tool.
    pub(super) fn apply_reply(
        &mut self,
        id: &CallId,
        reply: ToolReply,
        step: &mut Step<'_, '_>,
    ) -> Result<(), InputRejected> {
        let at = self.find_call(id, |state| matches!(state, CallState::Running { .. }))?;
        let call = self.call_at(at).ok_or(InputRejected::NotExpected)?;
        let state = match reply {
            ToolReply::Done(outcome) => {
                let outcome = normalize_outcome(&call, outcome, step);
                self.refund_unused_units(&call, &outcome, step);
                self.complete_call(&call, outcome, step)
            }
            ToolReply::Ask(ask) => {
                let kind = QuestionKind::Ask(ask.clone());
                step.event(TurnEvent::Asked(Question { call, kind }));
                CallState::AwaitingAnswer { ask }
            }
            ToolReply::Delegate(sub) => self.delegate(&call, sub, step),
        };
        self.set_call(at, state, step);
        self.collect_subagent(id, step);
        Ok(())
    }

    /// Applies a person's decision. It is valid only for the arguments the person saw,
    /// and an approved call passes the gate again under the current rules.
    pub(super) fn apply_decision(
        &mut self,
        id: &CallId,
        decision: Decision,
        step: &mut Step<'_, '_>,
    ) -> Result<(), InputRejected> {
        let at = self.find_call(id, |state| matches!(state, CallState::AwaitingApproval { .. }))?;
        let mut call = self.call_at(at).ok_or(InputRejected::NotExpected)?;
        match decision {
            Decision::Approve { seen, arguments } => {
                if seen != fingerprint(&call.name, &call.arguments) {
                    return Err(InputRejected::ArgumentsChanged);
                }
                if let Some(arguments) = arguments {
                    if let Some(why) = step.rules.tools.argument_problems(&call.name, &arguments) {
                        return Err(InputRejected::InvalidArguments { why });
                    }
                    call.arguments = arguments.into();
                    self.replace_arguments(at, &call);
                }
                self.set_call(at, CallState::New { approved: true, interrupted: false }, step);
                self.decide_calls(step);
            }
            Decision::Reject { reason } => {
                let why = format!("A person rejected this call: {reason}");
                let state =
                    self.complete_call(&call, ToolOutcome::new(OutcomeStatus::Rejected, why), step);
                self.set_call(at, state, step);
            }
        }
        Ok(())
    }

    /// Replaces the arguments of a call, both in its state and in the history, so that
    /// the record shows what ran.
    pub(super) fn replace_arguments(&mut self, at: usize, call: &ToolCall) {
        if let Phase::Tools { calls, .. } = &mut self.phase
            && let Some(waiting) = calls.get_mut(at)
        {
            waiting.call = call.clone();
        }
        if let Some(Item::Assistant { calls, .. }) = Arc::make_mut(&mut self.history).last_mut()
            && let Some(recorded) = calls.iter_mut().find(|recorded| recorded.id == call.id)
        {
            *recorded = call.clone();
        }
    }

    /// Completes a call with a person's answer.
    pub(super) fn apply_answer(
        &mut self,
        id: &CallId,
        answer: Answer,
        step: &mut Step<'_, '_>,
    ) -> Result<(), InputRejected> {
        let at = self.find_call(id, |state| matches!(state, CallState::AwaitingAnswer { .. }))?;
        let call = self.call_at(at).ok_or(InputRejected::NotExpected)?;
        let outcome = match answer {
            Answer::Final { text } => ToolOutcome::ok(text).ending_turn(),
            answer => ToolOutcome::ok(answer.text()),
        };
        let state = self.complete_call(&call, outcome, step);
        self.set_call(at, state, step);
        Ok(())
    }
}

/// Limits an outcome to the tool's output size and to its trust.
pub(super) fn normalize_outcome(
    call: &ToolCall,
    outcome: ToolOutcome,
    step: &Step<'_, '_>,
) -> ToolOutcome {
    let Some(definition) = step.rules.tools.definition(&call.name) else { return outcome };
    let trust = outcome.trust.after_reading(definition.spec.output);
    ToolOutcome { trust, ..outcome.truncated(definition.max_output) }
}

impl Answer {
    /// Returns the text for the model.
    fn text(self) -> String {
        match self {
            Self::Text { text } | Self::Final { text } => text,
            Self::Plan { approved: true, feedback: None } => "The plan was approved.".into(),
            Self::Plan { approved: true, feedback: Some(feedback) } => {
                format!("The plan was approved: {feedback}")
            }
            Self::Plan { approved: false, feedback } => {
                let why = feedback.unwrap_or_else(|| "no reason was given".into());
                format!("The plan was not approved: {why}")
            }
        }
    }
}
