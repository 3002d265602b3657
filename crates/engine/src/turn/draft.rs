//! The draft: an answer while it streams in.

use serde::{Deserialize, Serialize};

use crate::history::{CallId, ToolCall, is_valid_identifier};
use crate::model::{StopReason, Usage};
use crate::tokens;

/// The size limit of an answer; no real answer is longer.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Counted for each chunk in addition to its bytes, so that endless empty chunks
/// reach the limit too.
const PIECE_OVERHEAD: usize = 16;
/// Further calls of an answer are ignored.
const MAX_CALLS: usize = 64;

/// An answer while it streams in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) usage: Usage,
    calls: Vec<DraftCall>,
    bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct DraftCall {
    index: u32,
    id: String,
    name: String,
    json: String,
}

/// A call of a complete answer.
pub(super) struct ParsedCall {
    pub(super) call: ToolCall,
    /// Whether the answer was cut off before the call was known to be complete.
    pub(super) truncated: bool,
}

impl Draft {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// Adds text; returns false if the answer is too long.
    pub(super) fn push_text(&mut self, text: &str) -> bool {
        self.text.push_str(text);
        self.count_piece(text.len())
    }

    /// Begins a call, or replaces the name of one that has begun.
    pub(super) fn begin_call(&mut self, index: u32, id: String, name: String) -> bool {
        let bytes = id.len() + name.len();
        let room = self.calls.len() < MAX_CALLS;
        match self.calls.iter_mut().find(|call| call.index == index) {
            Some(call) => (call.id, call.name) = (id, name),
            None if !room => {}
            None => self.calls.push(DraftCall { index, id, name, json: String::new() }),
        }
        self.count_piece(bytes)
    }

    /// Adds to the arguments of a call. Arguments of a call that never began are
    /// dropped.
    pub(super) fn push_arguments(&mut self, index: u32, json: &str) -> bool {
        if let Some(call) = self.calls.iter_mut().find(|call| call.index == index) {
            call.json.push_str(json);
        }
        self.count_piece(json.len())
    }

    /// Counts a chunk; returns false if the answer is too long.
    pub(super) fn count_piece(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes).saturating_add(PIECE_OVERHEAD);
        self.bytes <= MAX_BYTES
    }

    /// Starts the answer again. The size is kept, so that an answer cannot restart for
    /// ever.
    pub(super) fn restart(&mut self) {
        *self = Self { bytes: self.bytes, ..Self::default() };
    }

    /// Returns the reported usage, or an estimate if nothing was reported.
    pub(super) fn usage_or_estimate(&self, input: u64) -> Usage {
        if self.usage != Usage::default() || self.is_empty() {
            return self.usage;
        }
        let calls = self.calls.iter().map(|call| tokens::of_text(&call.json) + 1).sum::<u64>();
        Usage { input, output: tokens::of_text(&self.text) + calls, cached: 0, written: 0 }
    }

    /// Returns the calls of the complete answer, each with a unique id: missing ids and
    /// ids that are `taken` are replaced. `step` distinguishes such ids from those of
    /// other answers.
    pub(super) fn calls(
        &mut self,
        step: u32,
        stop: StopReason,
        is_taken: impl Fn(&str) -> bool,
    ) -> Vec<ParsedCall> {
        let calls = std::mem::take(&mut self.calls);
        let last = calls.len().saturating_sub(1);
        let mut seen: Vec<String> = Vec::with_capacity(calls.len());
        let called = calls.into_iter().enumerate().map(|(at, draft)| {
            let is_free = |id: &str| !seen.iter().any(|seen| seen == id) && !is_taken(id);
            let id = if is_valid_identifier(&draft.id) && is_free(&draft.id) {
                draft.id
            } else {
                let candidates = (0..).map(|n: u64| format!("call_{step}_{at}_{n}"));
                candidates.into_iter().find(|id| is_free(id)).unwrap_or_default()
            };
            seen.push(id.clone());
            let call = ToolCall::new(CallId::new(&id), &draft.name, &draft.json);
            let unfinished = draft.json.trim().is_empty() || call.unreadable.is_some();
            ParsedCall {
                call,
                truncated: stop == StopReason::MaxTokens && at == last && unfinished,
            }
        });
        called.collect()
    }
}
