//! Agents that work for another agent of the turn.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Step;
use super::call::CallState;
use super::node::{Node, Phase};
use super::protocol::{End, Event};
use super::take::labelled;
use crate::history::{CallId, Item, ToolCall};
use crate::outcome::{Outcome, Status};
use crate::tool::SubTurn;

const OPEN: &str = "<subagent-meta>";
const CLOSE: &str = "</subagent-meta>";

/// What is noted at the end of a subagent's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentMeta {
    /// Its model; none is the caller's own.
    pub model_id: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
    /// How many calls it made.
    pub tool_calls: u32,
}

/// A subagent's result apart from its note.
pub fn parse_subagent_meta(result: &str) -> (&str, Option<SubagentMeta>) {
    let parsed = result.rsplit_once(OPEN).and_then(|(text, rest)| {
        let (json, _) = rest.split_once(CLOSE)?;
        Some((text.trim_end(), serde_json::from_str(json).ok()?))
    });
    match parsed {
        Some((text, meta)) => (text, Some(meta)),
        None => (result, None),
    }
}

impl Node {
    /// Starts another agent on a call. It sees its task alone, or, forked, what
    /// its caller knows as well, and has no tool that its caller does not have.
    pub(super) fn delegate(
        &mut self,
        call: &ToolCall,
        sub: SubTurn,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        if step.path.len() >= step.limits.max_depth {
            let why = "Agents cannot call agents any deeper than this. Do it yourself.";
            return self.done(call, Outcome::of(Status::Denied, why), step);
        }
        let SubTurn { agent_type, model, system, task, forked, tools } = sub;
        let allowed = tools.into_iter().filter(|tool| self.may_use(tool.as_str())).collect();
        let (system, history) = if forked {
            (self.system.clone(), self.fork(&system, &task))
        } else {
            (system, vec![Item::user(task.clone())])
        };
        let mut agent = Self {
            kind: Some(agent_type.clone()),
            model: model.or_else(|| self.model.clone()),
            system,
            allowed: Some(allowed),
            history: Arc::new(history),
            phase: Phase::Ready,
            trust: self.trust,
            follow_ups: VecDeque::new(),
            corrected: false,
            repeats: Vec::new(),
            calls: 0,
            began: step.rules.now,
        };
        step.path.push(call.id.clone());
        step.event(Event::SubagentStarted { agent_type, task });
        agent.ask_model(step);
        step.path.pop();
        CallState::Delegated { agent: Box::new(agent) }
    }

    /// What an agent that is forked from this one begins with: all that came
    /// before the answer in which it was called.
    fn fork(&self, instructions: &str, task: &str) -> Vec<Item> {
        let mut history = Vec::clone(&self.history);
        let called =
            |item: &mut Item| matches!(item, Item::Assistant { calls, .. } if !calls.is_empty());
        history.pop_if(called);
        history.push(Item::user(format!("{instructions}\n\n{task}")));
        history
    }

    /// Takes the result of an agent that is done.
    pub(super) fn collect(&mut self, id: &CallId, step: &mut Step<'_, '_>) {
        let Ok(at) = self.waiting(
            id,
            |state| matches!(state, CallState::Delegated { agent } if agent.is_over()),
        ) else {
            return;
        };
        let (Some(call), Some(agent)) = (self.call_at(at), self.take_agent(at)) else { return };
        let outcome = self.result_of(&call, agent, step);
        let outcome = labelled(&call, outcome, step);
        let state = self.done(&call, outcome, step);
        self.set_call(at, state, step);
    }

    /// What an agent that is done brings home.
    pub(super) fn result_of(
        &self,
        call: &ToolCall,
        agent: Self,
        step: &mut Step<'_, '_>,
    ) -> Outcome {
        let duration = step.rules.now.since(agent.began);
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        step.path.push(call.id.clone());
        let agent_type = agent.agent_type().to_owned();
        step.event(Event::SubagentEnded { agent_type, duration_ms });
        step.path.pop();
        agent.result(duration_ms)
    }

    const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Done { .. })
    }

    fn take_agent(&mut self, at: usize) -> Option<Self> {
        let Phase::Tools { calls, .. } = &mut self.phase else { return None };
        let call = calls.get_mut(at)?;
        match std::mem::replace(&mut call.state, CallState::New { approved: false, begun: false }) {
            CallState::Delegated { agent } => Some(*agent),
            other => {
                call.state = other;
                None
            }
        }
    }

    /// What the caller is told. It is as trustworthy as what the agent has read.
    fn result(self, duration_ms: u64) -> Outcome {
        let meta = SubagentMeta { model_id: self.model, duration_ms, tool_calls: self.calls };
        let note = serde_json::to_string(&meta).unwrap_or_default();
        let with_note = |text: &str| format!("{text}\n\n{OPEN}{note}{CLOSE}");
        let outcome = match self.phase {
            Phase::Done { end: End::Answer { text, .. } } => Outcome::ok(with_note(&text)),
            Phase::Done { end: End::CreditsExhausted(_) } => Outcome::of(
                Status::InsufficientCredits,
                with_note("There was not enough credit left to finish this."),
            ),
            Phase::Done { end: End::ModelFailed(_) } => {
                Outcome::failed(with_note("The model of this agent did not answer."))
            }
            Phase::Done { end: End::StepLimit { .. } | End::Loop { .. } } => {
                Outcome::failed(with_note("This agent did not come to an end and was stopped."))
            }
            _ => Outcome::of(Status::Aborted, with_note("This was stopped before it was done.")),
        };
        Outcome { trust: self.trust, ..outcome }
    }
}
