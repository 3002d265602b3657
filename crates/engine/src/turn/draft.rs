//! An answer while it comes in.

use serde::{Deserialize, Serialize};

use crate::history::{CallId, ToolCall};
use crate::model::{StopReason, Usage};

/// The most bytes of an answer; no model writes more in good faith.
const MOST: usize = 8 * 1024 * 1024;

/// An answer while it comes in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) usage: Usage,
    calls: Vec<DraftCall>,
    bytes: usize,
}

/// A call while it comes in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DraftCall {
    index: u32,
    id: String,
    name: String,
    json: String,
}

/// A call of a complete answer.
pub(super) struct Called {
    pub(super) call: ToolCall,
    /// Whether the answer was cut before it could be known to be whole.
    pub(super) cut: bool,
}

impl Draft {
    /// Whether nothing has come yet.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// Takes words; false if there are too many.
    pub(super) fn say(&mut self, text: &str) -> bool {
        self.text.push_str(text);
        self.grow(text.len())
    }

    /// A call begins, or says its name a second time.
    pub(super) fn begin(&mut self, index: u32, id: String, name: String) -> bool {
        let bytes = id.len() + name.len();
        match self.calls.iter_mut().find(|call| call.index == index) {
            Some(call) => (call.id, call.name) = (id, name),
            None => self.calls.push(DraftCall { index, id, name, json: String::new() }),
        }
        self.grow(bytes)
    }

    /// A piece of a call's arguments. One of a call that never began is dropped.
    pub(super) fn argue(&mut self, index: u32, json: &str) -> bool {
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            call.json.push_str(json);
        }
        self.grow(json.len())
    }

    fn grow(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= MOST
    }

    /// The calls of the complete answer, each with an id of its own: providers
    /// that give none, or one that is `taken`, are helped. `step` makes such ids
    /// differ from those of other answers.
    pub(super) fn calls(
        &mut self,
        step: u32,
        stop: StopReason,
        taken: impl Fn(&str) -> bool,
    ) -> Vec<Called> {
        let calls = std::mem::take(&mut self.calls);
        let last = calls.len().saturating_sub(1);
        let mut seen: Vec<String> = Vec::with_capacity(calls.len());
        let called = calls.into_iter().enumerate().map(|(at, draft)| {
            let unfit = draft.id.is_empty() || seen.contains(&draft.id) || taken(&draft.id);
            let id = if unfit { format!("call_{step}_{at}") } else { draft.id };
            seen.push(id.clone());
            let call = ToolCall::new(CallId::new(&id), draft.name, &draft.json);
            let unfinished = draft.json.trim().is_empty() || call.unreadable.is_some();
            Called { call, cut: stop == StopReason::MaxTokens && at == last && unfinished }
        });
        called.collect()
    }
}
