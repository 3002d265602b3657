//! An answer while it comes in.

use serde::{Deserialize, Serialize};

use crate::history::{CallId, ToolCall, is_plain};
use crate::model::{StopReason, Usage};
use crate::tokens;

/// The most bytes of an answer; no model writes more in good faith.
const MOST: usize = 8 * 1024 * 1024;
/// What every piece counts besides its bytes, so that empty ones end too.
const PIECE: usize = 16;
/// The most calls of an answer; further ones are not taken.
const MOST_CALLS: usize = 64;

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
        let room = self.calls.len() < MOST_CALLS;
        match self.calls.iter_mut().find(|call| call.index == index) {
            Some(call) => (call.id, call.name) = (id, name),
            None if !room => {}
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

    /// Counts a piece; false if it is all too much.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes).saturating_add(PIECE);
        self.bytes <= MOST
    }

    /// The answer begins anew. What came before still counts, so that an answer
    /// does not begin anew for ever.
    pub(super) fn restart(&mut self) {
        *self = Self { bytes: self.bytes, ..Self::default() };
    }

    /// What it has used: what the provider says, or about what has come, if
    /// anything has.
    pub(super) fn used(&self, input: u64) -> Usage {
        if self.usage != Usage::default() || self.is_empty() {
            return self.usage;
        }
        let calls = self.calls.iter().map(|call| tokens::of_text(&call.json) + 1).sum::<u64>();
        Usage { input, output: tokens::of_text(&self.text) + calls, cached: 0, written: 0 }
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
            let is_free = |id: &str| !seen.iter().any(|seen| seen == id) && !taken(id);
            let id = if is_plain(&draft.id) && is_free(&draft.id) {
                draft.id
            } else {
                let own = (0..).map(|n: u64| format!("call_{step}_{at}_{n}"));
                own.into_iter().find(|id| is_free(id)).unwrap_or_default()
            };
            seen.push(id.clone());
            let call = ToolCall::new(CallId::new(&id), &draft.name, &draft.json);
            let unfinished = draft.json.trim().is_empty() || call.unreadable.is_some();
            Called { call, cut: stop == StopReason::MaxTokens && at == last && unfinished }
        });
        called.collect()
    }
}
