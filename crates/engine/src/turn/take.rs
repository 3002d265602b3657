//! What an agent of a turn is told: each input finds the agent it is for, and what
//! waits for it.

use std::sync::Arc;

use super::Step;
use super::call::CallState;
use super::node::{Node, Phase};
use super::protocol::{Answer, Decision, Event, Input, NotTaken, Question, QuestionKind};
use crate::gate::fingerprint;
use crate::history::{CallId, Item, ToolCall};
use crate::outcome::{Outcome, Status};
use crate::tool::Reply;

impl Node {
    /// Gives an input to the agent it is for.
    pub(super) fn route(
        &mut self,
        path: &[CallId],
        input: Input,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        let Some((call, rest)) = path.split_first() else { return self.take(input, step) };
        let Phase::Tools { calls, .. } = &mut self.phase else { return Err(NotTaken::NotExpected) };
        let agent = calls.iter_mut().find_map(|each| match &mut each.state {
            CallState::Delegated { agent } if each.call.id == *call => Some(agent),
            _ => None,
        });
        let agent = agent.ok_or(NotTaken::NotExpected)?;
        step.path.push(call.clone());
        let taken = agent.route(rest, input, step);
        step.path.pop();
        taken?;
        self.collect(call, step);
        Ok(())
    }

    pub(super) fn take(&mut self, input: Input, step: &mut Step<'_, '_>) -> Result<(), NotTaken> {
        match input {
            Input::Chunk(chunk) => self.chunk(chunk, step),
            Input::ModelFailed(error) => self.model_failed(error, step),
            Input::ToppedUp(added) => self.topped_up(added, step),
            Input::Reply(call, reply) => self.replied(&call, reply, step),
            Input::Decision(call, decision) => self.decided(&call, decision, step),
            Input::Answer(call, answer) => self.told(&call, answer, step),
            // These are for the whole turn and never get here.
            Input::Budget(_)
            | Input::FollowUp(_)
            | Input::Steer(_)
            | Input::Abort
            | Input::TimedOut => Err(NotTaken::NotExpected),
        }
    }

    /// The call that waits in a certain state, taken out to be changed.
    pub(super) fn waiting(
        &mut self,
        id: &CallId,
        expected: impl Fn(&CallState) -> bool,
    ) -> Result<usize, NotTaken> {
        let Phase::Tools { calls, .. } = &self.phase else { return Err(NotTaken::NotExpected) };
        let found = calls.iter().position(|call| call.call.id == *id && expected(&call.state));
        found.ok_or(NotTaken::NotExpected)
    }

    pub(super) fn set_call(&mut self, at: usize, state: CallState, step: &mut Step<'_, '_>) {
        if let Phase::Tools { calls, .. } = &mut self.phase
            && let Some(call) = calls.get_mut(at)
        {
            call.state = state;
        }
        self.calls_changed(step);
    }

    pub(super) fn call_at(&self, at: usize) -> Option<ToolCall> {
        match &self.phase {
            Phase::Tools { calls, .. } => calls.get(at).map(|call| call.call.clone()),
            _ => None,
        }
    }

    /// A tool has answered.
    pub(super) fn replied(
        &mut self,
        id: &CallId,
        reply: Reply,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        let at = self.waiting(id, |state| matches!(state, CallState::Running { .. }))?;
        let call = self.call_at(at).ok_or(NotTaken::NotExpected)?;
        let state = match reply {
            Reply::Done(outcome) => {
                let outcome = labelled(&call, outcome, step);
                self.done(&call, outcome, step)
            }
            Reply::Ask(ask) => {
                let kind = QuestionKind::Ask(ask.clone());
                step.event(Event::Asked(Question { call, kind }));
                CallState::Asking { ask }
            }
            Reply::Delegate(sub) => self.delegate(&call, sub, step),
        };
        self.set_call(at, state, step);
        self.collect(id, step);
        Ok(())
    }

    /// A person has decided on a call. What they saw is what is asked, and it
    /// runs under the rules of now.
    pub(super) fn decided(
        &mut self,
        id: &CallId,
        decision: Decision,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        let at = self.waiting(id, |state| matches!(state, CallState::Undecided { .. }))?;
        let mut call = self.call_at(at).ok_or(NotTaken::NotExpected)?;
        match decision {
            Decision::Approve { seen, arguments } => {
                if seen != fingerprint(&call.name, &call.arguments) {
                    return Err(NotTaken::OtherArguments);
                }
                if let Some(arguments) = arguments {
                    if let Some(why) = step.rules.tools.problem_with(&call.name, &arguments) {
                        return Err(NotTaken::BadArguments { why });
                    }
                    call.arguments = arguments;
                    self.rewrite(at, &call);
                }
                self.set_call(at, CallState::New { approved: true, begun: false }, step);
                self.decide_calls(step);
            }
            Decision::Reject { reason } => {
                let why = format!("A person said no to this: {reason}");
                let state = self.done(&call, Outcome::of(Status::Rejected, why), step);
                self.set_call(at, state, step);
            }
        }
        Ok(())
    }

    /// Writes the arguments that a person chose into the call and into what the
    /// model is said to have called, so that the record says what ran.
    pub(super) fn rewrite(&mut self, at: usize, call: &ToolCall) {
        if let Phase::Tools { calls, .. } = &mut self.phase
            && let Some(waiting) = calls.get_mut(at)
        {
            waiting.call = call.clone();
        }
        if let Some(Item::Assistant { calls, .. }) = Arc::make_mut(&mut self.history).last_mut()
            && let Some(said) = calls.iter_mut().find(|said| said.id == call.id)
        {
            *said = call.clone();
        }
    }

    /// A person has answered.
    pub(super) fn told(
        &mut self,
        id: &CallId,
        answer: Answer,
        step: &mut Step<'_, '_>,
    ) -> Result<(), NotTaken> {
        let at = self.waiting(id, |state| matches!(state, CallState::Asking { .. }))?;
        let call = self.call_at(at).ok_or(NotTaken::NotExpected)?;
        let state = self.done(&call, Outcome::ok(answer.text()), step);
        self.set_call(at, state, step);
        Ok(())
    }
}

/// What a call came to, within the tool's limits and as trustworthy as the tool.
pub(super) fn labelled(call: &ToolCall, outcome: Outcome, step: &Step<'_, '_>) -> Outcome {
    let Some(definition) = step.rules.tools.definition(&call.name) else { return outcome };
    let trust = outcome.trust.after_reading(definition.spec.output);
    Outcome { trust, ..outcome.capped(definition.max_output) }
}

impl Answer {
    /// What the model is told.
    fn text(self) -> String {
        match self {
            Self::Text { text } => text,
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
