//! What a reader that joins late needs besides the stored events: questions that are open,
//! and the answer that is being written.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{AskEvent, EventKind, HarnessEvent, MessageEvent, TurnLifeEvent};

/// What is going on in a thread.
#[derive(Debug, Clone, Default)]
pub struct CurrentEvents {
    /// The number of the last durable event.
    pub last_id: i64,
    /// The events of the questions that wait for an answer.
    pub asks: Vec<Arc<HarnessEvent>>,
    /// The last event of the answer that is being written; it has the text so far.
    pub draft: Option<Arc<HarnessEvent>>,
}

/// Keeps what is going on up to date.
#[derive(Default)]
pub(super) struct Tracker {
    asks: BTreeMap<String, Arc<HarnessEvent>>,
    draft: Option<Arc<HarnessEvent>>,
}

impl Tracker {
    /// Takes note of an event that was published.
    pub(super) fn see(&mut self, event: &Arc<HarnessEvent>) {
        match &event.kind {
            EventKind::Ask(AskEvent::AskClosed { ask_id }) => {
                self.asks.remove(ask_id);
            }
            EventKind::Ask(
                AskEvent::ToolApprovalRequired { tool_call_id: id, .. }
                | AskEvent::AskQuestion { question_id: id, .. }
                | AskEvent::PlanApprovalRequired { plan_id: id, .. },
            ) => {
                self.asks.insert(id.clone(), event.clone());
            }
            EventKind::Message(
                MessageEvent::MessageStart { .. } | MessageEvent::MessageUpdate { .. },
            ) => self.draft = Some(event.clone()),
            EventKind::Message(MessageEvent::MessageEnd { .. })
            | EventKind::Turn(TurnLifeEvent::AgentEnd { .. }) => self.draft = None,
            _ => {}
        }
    }

    /// Returns what is going on.
    pub(super) fn current(&self, last_id: i64) -> CurrentEvents {
        let asks = self.asks.values().cloned().collect();
        CurrentEvents { last_id, asks, draft: self.draft.clone() }
    }
}
