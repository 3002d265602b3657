//! An answer out of the events of Messages.

use std::collections::VecDeque;

use ostler_engine::model::{Chunk, StopReason, Usage};
use serde_json::Value;

use super::wire::{self, Content, Delta, Failure, Piece};
use crate::fault::Fault;

/// What is known of an answer while it comes in. Calls have the numbers of their
/// blocks.
#[derive(Debug, Default)]
pub(super) struct Answer {
    fresh: u64,
    cached: u64,
    written_to_cache: u64,
    output: u64,
    stop: Option<StopReason>,
}

impl Answer {
    /// Takes the data of an event; true if it is the last.
    pub(super) fn take(&mut self, data: &str, out: &mut VecDeque<Chunk>) -> Result<bool, Fault> {
        match serde_json::from_str(data).map_err(Fault::malformed)? {
            Piece::MessageStart { message } => self.count(message.usage, out),
            Piece::ContentBlockStart { index, content_block } => begin(index, content_block, out),
            Piece::ContentBlockDelta { index, delta } => go_on(index, delta, out),
            Piece::MessageDelta { delta, usage } => {
                self.count(usage, out);
                self.stop = delta.stop_reason.as_deref().map(stop_reason).or(self.stop);
            }
            Piece::MessageStop => {
                self.finish(out)?;
                return Ok(true);
            }
            Piece::Error { error } => return Err(failure(&error)),
            Piece::Other => {}
        }
        Ok(false)
    }

    /// The stream is over. An answer that has said why it ended is complete.
    pub(super) fn finish(&self, out: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        out.push_back(Chunk::Done(self.stop.ok_or_else(Fault::cut)?));
        Ok(())
    }

    /// Every count is a sum up to now; what is not said again has not changed.
    fn count(&mut self, usage: Option<wire::Usage>, out: &mut VecDeque<Chunk>) {
        let Some(usage) = usage else { return };
        self.fresh = usage.input_tokens.unwrap_or(self.fresh);
        self.cached = usage.cache_read_input_tokens.unwrap_or(self.cached);
        let written = usage.cache_creation_input_tokens;
        self.written_to_cache = written.unwrap_or(self.written_to_cache);
        self.output = usage.output_tokens.unwrap_or(self.output);
        let input = self.fresh.saturating_add(self.cached).saturating_add(self.written_to_cache);
        let Self { output, cached, written_to_cache: written, .. } = *self;
        out.push_back(Chunk::Usage(Usage { input, output, cached, written }));
    }
}

fn begin(index: u32, content: Content, out: &mut VecDeque<Chunk>) {
    match content {
        Content::Text { text } if !text.is_empty() => out.push_back(Chunk::Text(text)),
        Content::ToolUse { id, name, input } => {
            out.push_back(Chunk::Call { index, id, name });
            // It is empty here and comes in pieces, except where a server in
            // between has it whole.
            if let Some(Value::Object(input)) = input
                && !input.is_empty()
            {
                let json = Value::Object(input).to_string();
                out.push_back(Chunk::Arguments { index, json });
            }
        }
        Content::Text { .. } | Content::Other => {}
    }
}

fn go_on(index: u32, delta: Delta, out: &mut VecDeque<Chunk>) {
    match delta {
        Delta::Text { text } if !text.is_empty() => out.push_back(Chunk::Text(text)),
        Delta::Input { partial_json: json } if !json.is_empty() => {
            out.push_back(Chunk::Arguments { index, json });
        }
        Delta::Text { .. } | Delta::Input { .. } | Delta::Other => {}
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "tool_use" => StopReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        "refusal" => StopReason::Filtered,
        _ => StopReason::End,
    }
}

/// A failure in the middle, with the status it would have had at the start.
fn failure(error: &Failure) -> Fault {
    let status = match error.kind.as_str() {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    };
    Fault::said(status, &error.message)
}
