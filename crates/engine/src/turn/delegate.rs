//! Subagents inside a turn: starting them and collecting their results.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::money::caps::{BudgetExceeded, BudgetLimit};
use serde::{Deserialize, Serialize};

use super::Step;
use super::call::CallState;
use super::input::normalize_outcome;
use super::node::{Node, Phase};
use super::protocol::{TurnEnd, TurnEvent};
use crate::history::{CallId, Item, ToolCall};
use crate::outcome::{OutcomeStatus, ToolOutcome};
use crate::tool::SubagentTask;

const OPEN: &str = "<subagent-meta>";
const CLOSE: &str = "</subagent-meta>";

/// The metadata at the end of a subagent's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentMeta {
    /// `None` means the caller's model.
    pub model_id: Option<String>,
    pub duration_ms: u64,
    pub tool_calls: u32,
}

/// Splits the result of a subagent into its text and its metadata.
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
    /// Starts a subagent on a call. It sees only its task or, if forked, the caller's
    /// conversation as well, and has no tool that its caller lacks.
    pub(super) fn delegate(
        &mut self,
        call: &ToolCall,
        sub: SubagentTask,
        step: &mut Step<'_, '_>,
    ) -> CallState {
        if step.path.len() >= step.limits.max_depth {
            let why = "Subagents cannot be nested any deeper. Do this work yourself.";
            return self.complete_call(call, ToolOutcome::new(OutcomeStatus::Denied, why), step);
        }
        let SubagentTask {
            agent_type,
            model,
            system,
            task,
            forked,
            tools,
            own_tools,
            max_steps,
            max_credits,
        } = sub;
        let shared = tools.into_iter().filter(|tool| self.may_use(tool.as_str()));
        let allowed = shared.chain(own_tools).collect();
        let (system, history) = if forked {
            (self.system.clone(), self.fork(&system, &task))
        } else {
            (system, vec![Item::user(task.clone())])
        };
        let mut agent = Self {
            agent_type: Some(agent_type.clone()),
            model: model.or_else(|| self.model.clone()),
            system,
            allowed: Some(allowed),
            inherited: history.len() - 1,
            history: Arc::new(history),
            phase: Phase::Ready,
            trust: self.trust,
            follow_ups: VecDeque::new(),
            tools_listed: false,
            repeats: Vec::new(),
            call_count: 0,
            max_steps,
            steps: 0,
            started_at: step.rules.now,
        };
        step.path.push(call.id.clone());
        if let Some(limit) = max_credits {
            step.account.limit_subagent(&step.path, limit);
        }
        step.event(TurnEvent::SubagentStarted { agent_type, task });
        agent.ask_model(step);
        step.path.pop();
        CallState::Delegated { agent: Box::new(agent) }
    }

    /// Returns the history of a forked subagent: everything before the answer that
    /// called it.
    fn fork(&self, instructions: &str, task: &str) -> Vec<Item> {
        let mut history = Vec::clone(&self.history);
        let called =
            |item: &mut Item| matches!(item, Item::Assistant { calls, .. } if !calls.is_empty());
        history.pop_if(called);
        history.push(Item::user(format!("{instructions}\n\n{task}")));
        history
    }

    /// Completes a call whose subagent has ended.
    pub(super) fn collect_subagent(&mut self, id: &CallId, step: &mut Step<'_, '_>) {
        let Ok(at) = self.find_call(
            id,
            |state| matches!(state, CallState::Delegated { agent } if agent.is_over()),
        ) else {
            return;
        };
        let (Some(call), Some(agent)) = (self.call_at(at), self.take_subagent(at)) else { return };
        let outcome = self.finish_subagent(&call, agent, step);
        let outcome = normalize_outcome(&call, outcome, step);
        let state = self.complete_call(&call, outcome, step);
        self.set_call(at, state, step);
    }

    /// Publishes the end of a subagent and returns its outcome.
    pub(super) fn finish_subagent(
        &self,
        call: &ToolCall,
        mut agent: Self,
        step: &mut Step<'_, '_>,
    ) -> ToolOutcome {
        let duration = step.rules.now.since(agent.started_at);
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        step.path.push(call.id.clone());
        let agent_type = agent.usage_key().to_owned();
        let mut history = Arc::unwrap_or_clone(std::mem::take(&mut agent.history));
        let messages = history.split_off(agent.inherited.min(history.len()));
        step.event(TurnEvent::SubagentEnded { agent_type, duration_ms, messages });
        step.account.subagent_ended(&step.path);
        step.path.pop();
        agent.subagent_outcome(duration_ms)
    }

    const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Done { .. })
    }

    fn take_subagent(&mut self, at: usize) -> Option<Self> {
        let Phase::Tools { calls, .. } = &mut self.phase else { return None };
        let call = calls.get_mut(at)?;
        match std::mem::replace(
            &mut call.state,
            CallState::New { approved: false, interrupted: false },
        ) {
            CallState::Delegated { agent } => Some(*agent),
            other => {
                call.state = other;
                None
            }
        }
    }

    /// Returns what the caller is told. Its trust is that of what the subagent has
    /// read.
    fn subagent_outcome(self, duration_ms: u64) -> ToolOutcome {
        let meta = SubagentMeta { model_id: self.model, duration_ms, tool_calls: self.call_count };
        let note = serde_json::to_string(&meta).unwrap_or_default();
        let with_note = |text: &str| format!("{text}\n\n{OPEN}{note}{CLOSE}");
        let outcome = match self.phase {
            Phase::Done { end: TurnEnd::Answer { text, .. } } => ToolOutcome::ok(with_note(&text)),
            Phase::Done {
                end: TurnEnd::CreditsExhausted(BudgetExceeded { limit: BudgetLimit::Subagent, .. }),
            } => ToolOutcome::new(
                OutcomeStatus::InsufficientCredits,
                with_note("This agent did not finish: it has spent what one task may cost."),
            ),
            Phase::Done { end: TurnEnd::CreditsExhausted(_) } => ToolOutcome::new(
                OutcomeStatus::InsufficientCredits,
                with_note("There was not enough credit left to finish this."),
            ),
            Phase::Done { end: TurnEnd::ModelFailed(_) } => {
                ToolOutcome::failed(with_note("The model of this agent did not answer."))
            }
            Phase::Done { end: TurnEnd::StepLimit { .. } | TurnEnd::Loop { .. } } => {
                ToolOutcome::failed(with_note("This agent did not finish and was stopped."))
            }
            _ => ToolOutcome::new(
                OutcomeStatus::Aborted,
                with_note("This was stopped before it was finished."),
            ),
        };
        ToolOutcome { trust: self.trust, ..outcome }
    }
}
