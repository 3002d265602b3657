//! Decodes the events of a Messages stream.

use std::collections::VecDeque;

use ostler_engine::model::{Chunk, StopReason, Usage};
use serde_json::Value;

use super::wire::{self, Content, Delta, ErrorBody, StreamEvent};
use crate::fault::Fault;

/// The state of an answer while it streams in. Calls are numbered by their content
/// block.
#[derive(Debug, Default)]
pub(super) struct AnswerDecoder {
    fresh: u64,
    cached: u64,
    written_to_cache: u64,
    output: u64,
    stop: Option<StopReason>,
}

impl AnswerDecoder {
    /// Decodes the data of an event; returns true if it is the last.
    pub(super) fn decode_event(
        &mut self,
        data: &str,
        out: &mut VecDeque<Chunk>,
    ) -> Result<bool, Fault> {
        match serde_json::from_str(data).map_err(Fault::malformed)? {
            StreamEvent::MessageStart { message } => self.count(message.usage, out),
            StreamEvent::ContentBlockStart { index, content_block } => {
                begin_block(index, content_block, out);
            }
            StreamEvent::ContentBlockDelta { index, delta } => push_delta(index, delta, out),
            StreamEvent::MessageDelta { delta, usage } => {
                self.count(usage, out);
                self.stop = delta.stop_reason.as_deref().map(stop_reason).or(self.stop);
            }
            StreamEvent::MessageStop => {
                self.complete(out)?;
                return Ok(true);
            }
            StreamEvent::Error { error } => return Err(stream_fault(&error)),
            StreamEvent::Other => {}
        }
        Ok(false)
    }

    /// Ends the answer. It is complete if a stop reason was received.
    pub(super) fn complete(&self, out: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        out.push_back(Chunk::Done(self.stop.ok_or_else(Fault::incomplete)?));
        Ok(())
    }

    /// Updates the token counts. Each reported count is a running total; missing ones
    /// are unchanged.
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

fn begin_block(index: u32, content: Content, out: &mut VecDeque<Chunk>) {
    match content {
        Content::Text { text } if !text.is_empty() => out.push_back(Chunk::Text(text)),
        Content::ToolUse { id, name, input } => {
            out.push_back(Chunk::Call { index, id, name });
            // Usually empty here and sent in parts, but some proxies send it whole.
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

fn push_delta(index: u32, delta: Delta, out: &mut VecDeque<Chunk>) {
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

/// Returns an error event as a fault, with the HTTP status it corresponds to.
fn stream_fault(error: &ErrorBody) -> Fault {
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
    Fault::from_status(status, &error.message)
}
