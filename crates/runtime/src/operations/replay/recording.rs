//! The recorded results of a turn, and the tools that answer with them. They do nothing else.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_domain::gate::GateDecision;
use ostler_domain::gate::approval::ArgumentsHash;
use ostler_engine::gate::{Authorized, fingerprint};
use ostler_engine::history::{Item, ToolCall};
use ostler_engine::outcome::{OutcomeStatus, ToolOutcome};
use ostler_engine::tool::{Tool, ToolContext, ToolDefinition, ToolReply, ToolSet};
use ostler_engine::turn::GateRecord;

/// What the model is told of a call that was not made in the recorded turn.
const NOT_RECORDED: &str = "not recorded: this call was not made when the turn was recorded, so \
     its result is not known here.";

/// The results of the calls that were made, in the order of the calls. A call that was made
/// twice has two results.
#[derive(Default)]
pub(super) struct Recording {
    outcomes: Mutex<HashMap<ArgumentsHash, VecDeque<ToolOutcome>>>,
}

impl Recording {
    /// Collects the results in what a turn added to the conversation. A call that was not
    /// allowed was not made and has none.
    pub(super) fn of(items: &[Item], decisions: &[GateRecord]) -> Self {
        let mut outcomes: HashMap<ArgumentsHash, VecDeque<ToolOutcome>> = HashMap::new();
        for (call, outcome) in calls(items) {
            let allowed = decisions
                .iter()
                .any(|one| one.call == call.id && matches!(one.verdict, GateDecision::Allow(_)));
            if let (true, Some(outcome)) = (allowed, outcome) {
                let outcome = ToolOutcome { effects: Vec::new(), ..outcome.clone() };
                outcomes.entry(key(call)).or_default().push_back(outcome);
            }
        }
        Self { outcomes: Mutex::new(outcomes) }
    }

    /// Returns the next result of a call, or that there is none.
    fn take(&self, call: &ToolCall) -> ToolOutcome {
        let mut outcomes = self.outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        let recorded = outcomes.get_mut(&key(call)).and_then(VecDeque::pop_front);
        recorded.unwrap_or_else(|| ToolOutcome::new(OutcomeStatus::NotFound, NOT_RECORDED))
    }
}

/// Returns the calls in items, each with its result.
pub(super) fn calls(items: &[Item]) -> Vec<(&ToolCall, Option<&ToolOutcome>)> {
    let results: Vec<_> = items
        .iter()
        .flat_map(|item| match item {
            Item::Results { results } => results.as_slice(),
            _ => &[],
        })
        .collect();
    let made = items.iter().flat_map(|item| match item {
        Item::Assistant { calls, .. } => calls.as_slice(),
        _ => &[],
    });
    let outcome = |call: &ToolCall| results.iter().find(|one| one.call == call.id);
    made.map(|call| (call, outcome(call).map(|one| &one.outcome))).collect()
}

/// Returns whether the model was told that a call is not recorded.
pub(super) fn is_not_recorded(outcome: &ToolOutcome) -> bool {
    outcome.content == NOT_RECORDED
}

fn key(call: &ToolCall) -> ArgumentsHash {
    fingerprint(&call.name, &call.arguments)
}

/// A tool that answers with recorded results.
struct RecordedTool {
    definition: ToolDefinition,
    recording: Arc<Recording>,
}

impl Tool for RecordedTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn call<'a>(&'a self, call: &'a Authorized, _: &'a ToolContext) -> BoxFuture<'a, ToolReply> {
        std::future::ready(ToolReply::Done(self.recording.take(call.call()))).boxed()
    }
}

/// Returns tools with the definitions of these, that answer with recorded results.
pub(super) fn recorded_tools(tools: &ToolSet, recording: &Arc<Recording>) -> Arc<ToolSet> {
    let mut recorded = ToolSet::default();
    for spec in tools.specs() {
        let Some(definition) = tools.definition(spec.name.as_str()).cloned() else { continue };
        let name = definition.spec.name.clone();
        let tool = RecordedTool { definition, recording: recording.clone() };
        // The names and schemas come from such a set.
        if let Err(error) = recorded.add(Arc::new(tool)) {
            tracing::warn!(tool = %name, %error, "tool left out of a replay");
        }
    }
    Arc::new(recorded)
}
