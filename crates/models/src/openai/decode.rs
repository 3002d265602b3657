//! Decodes the events of a chat completions stream.

use std::collections::VecDeque;

use ostler_engine::model::{Chunk, StopReason, Usage};
use serde_json::Value;

use super::wire::{CallDelta, Choice, Delta, StreamEvent};
use crate::fault::Fault;

/// The state of an answer while it streams in.
#[derive(Debug, Default)]
pub(super) struct AnswerDecoder {
    calls: Vec<Call>,
    stop: Option<StopReason>,
}

/// A call: its index on the wire, and its id and name as far as received. Its
/// position in the list is its index in the answer.
#[derive(Debug)]
struct Call {
    wire: Option<u32>,
    id: String,
    name: String,
}

impl AnswerDecoder {
    /// Decodes the data of an event; returns true if it is the last.
    pub(super) fn decode_event(
        &mut self,
        data: &str,
        out: &mut VecDeque<Chunk>,
    ) -> Result<bool, Fault> {
        let data = data.trim();
        if data == "[DONE]" {
            self.complete(out)?;
            return Ok(true);
        }
        if data.is_empty() {
            return Ok(false);
        }
        let piece: StreamEvent = serde_json::from_str(data).map_err(Fault::malformed)?;
        if let Some(error) = piece.error.filter(|error| !error.is_null()) {
            return Err(stream_fault(&error));
        }
        if piece.object.as_deref() == Some("error") {
            return Err(stream_fault(&serde_json::from_str(data).unwrap_or_default()));
        }
        for choice in piece.choices.unwrap_or_default() {
            // Only one choice was requested.
            if choice.index.unwrap_or(0) == 0 {
                self.take_choice(choice, out)?;
            }
        }
        if let Some(usage) = piece.usage {
            let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
            out.push_back(Chunk::Usage(Usage {
                input: usage.prompt_tokens.unwrap_or(0),
                output: usage.completion_tokens.unwrap_or(0),
                cached: cached.unwrap_or(0),
                written: 0,
            }));
        }
        Ok(false)
    }

    /// Ends the answer. It is complete if a finish reason was received.
    pub(super) fn complete(&mut self, out: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        let stop = self.stop.ok_or_else(Fault::incomplete)?;
        // Some servers report `stop` whatever they wrote.
        let called = stop == StopReason::End && !self.calls.is_empty();
        out.push_back(Chunk::Done(if called { StopReason::ToolCalls } else { stop }));
        Ok(())
    }

    fn take_choice(&mut self, choice: Choice, out: &mut VecDeque<Chunk>) -> Result<(), Fault> {
        if let Some(error) = choice.error.filter(|error| !error.is_null()) {
            return Err(stream_fault(&error));
        }
        if let Some(delta) = choice.delta {
            self.take_delta(delta, out);
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.stop = Some(match reason.as_str() {
                "tool_calls" | "function_call" => StopReason::ToolCalls,
                "length" => StopReason::MaxTokens,
                "content_filter" => StopReason::Filtered,
                "error" => return Err(Fault::from_status(500, "the provider gave up")),
                _ => StopReason::End,
            });
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: Delta, out: &mut VecDeque<Chunk>) {
        let texts = [delta.content, delta.refusal].into_iter().flatten();
        out.extend(texts.filter(|text| !text.is_empty()).map(Chunk::Text));
        for call in delta.tool_calls.unwrap_or_default() {
            self.take_call(call, out);
        }
    }

    fn take_call(&mut self, delta: CallDelta, out: &mut VecDeque<Chunk>) {
        let id = delta.id.unwrap_or_default();
        let (name, arguments) = match delta.function {
            Some(function) => (function.name.unwrap_or_default(), function.arguments),
            None => (String::new(), None),
        };
        let at = self.place(delta.index, &id, &name);
        let Some(call) = self.calls.get_mut(at) else { return };
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        let news =
            (call.id.is_empty() && !id.is_empty()) || (call.name.is_empty() && !name.is_empty());
        if news || (call.id.is_empty() && call.name.is_empty()) {
            if call.id.is_empty() {
                call.id = id;
            }
            if call.name.is_empty() {
                call.name = name;
            }
            out.push_back(Chunk::Call { index, id: call.id.clone(), name: call.name.clone() });
        }
        let json = match arguments {
            Some(Value::String(json)) => json,
            None | Some(Value::Null) => String::new(),
            Some(value) => value.to_string(),
        };
        if !json.is_empty() {
            out.push_back(Chunk::Arguments { index, json });
        }
    }

    /// Returns the position of the call a delta belongs to, adding a new call if
    /// needed. The index decides if there is one; but another id under the same index
    /// is another call, because some servers number every call 0. Without an index, an
    /// id or a name begins a call, and a delta with neither belongs to the last call.
    fn place(&mut self, wire: Option<u32>, id: &str, name: &str) -> usize {
        let other = |call: &Call| !id.is_empty() && !call.id.is_empty() && call.id != id;
        let found = match wire {
            Some(_) => self.calls.iter().rposition(|call| call.wire == wire && !other(call)),
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        found.unwrap_or_else(|| {
            self.calls.push(Call { wire, id: String::new(), name: String::new() });
            self.calls.len() - 1
        })
    }
}

/// Returns a provider's error as a fault, in whatever form it comes.
fn stream_fault(error: &Value) -> Fault {
    let message = error.as_str().or_else(|| error.get("message")?.as_str()).unwrap_or_default();
    let numbers = ["code", "status"].into_iter().filter_map(|key| {
        let value = error.get(key)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    });
    let number = numbers.filter_map(|number| u16::try_from(number).ok());
    let status = number.into_iter().find(|number| (400..600).contains(number));
    let kinds = ["code", "type"].into_iter().filter_map(|key| error.get(key)?.as_str());
    Fault::from_status(
        status.or_else(|| kinds.into_iter().find_map(status_of)).unwrap_or(500),
        message,
    )
}

/// Returns the HTTP status an error type corresponds to.
fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" | "too_many_requests" => {
            429
        }
        "invalid_api_key" | "authentication_error" => 401,
        "permission_error" => 403,
        "model_not_found" | "not_found_error" => 404,
        "invalid_request_error" | "context_length_exceeded" | "BadRequestError" => 400,
        "overloaded_error" | "service_unavailable" => 503,
        _ => return None,
    })
}
