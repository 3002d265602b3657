//! Spans of a turn for traces, named by the OpenTelemetry conventions for generative AI:
//! `chat` for a call of a model, `execute_tool` for a call of a tool. They hold names, counts
//! and errors, never what was said. Without a subscriber that wants them they cost nothing.

use std::borrow::Cow;

use futures_util::StreamExt as _;
use tracing::{Span, field};

use super::work::ChunkStream;
use crate::history::ToolCall;
use crate::model::{Chunk, ModelError, ModelErrorKind, StopReason};
use crate::outcome::OutcomeStatus;
use crate::tool::ToolReply;
use crate::turn::AgentPath;

/// The target of all spans that traces are made of.
pub const TRACE_TARGET: &str = "ostler::trace";

/// Returns the span of a call of a model.
pub(super) fn chat(model: Option<&str>, path: &AgentPath) -> Span {
    let span = tracing::info_span!(
        target: TRACE_TARGET,
        "chat",
        otel.name = field::Empty,
        otel.kind = "client",
        otel.status_code = field::Empty,
        gen_ai.operation.name = "chat",
        gen_ai.request.model = model,
        gen_ai.response.model = field::Empty,
        gen_ai.response.finish_reasons = field::Empty,
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        ostler.subagent.depth = path.len(),
        ostler.restarts = field::Empty,
        "error.type" = field::Empty,
    );
    match model {
        Some(model) => span.record("otel.name", format_args!("chat {model}")),
        None => span.record("otel.name", "chat"),
    };
    span
}

/// Records what arrives of an answer in its span, which ends with the stream.
pub(super) fn observe(stream: ChunkStream, span: Span) -> ChunkStream {
    if span.is_disabled() {
        return stream;
    }
    let mut restarts = 0_u64;
    stream.inspect(move |item| record(&span, item, &mut restarts)).boxed()
}

fn record(span: &Span, item: &Result<Chunk, ModelError>, restarts: &mut u64) {
    match item {
        Ok(Chunk::Usage(usage)) => {
            span.record("gen_ai.usage.input_tokens", usage.input);
            span.record("gen_ai.usage.output_tokens", usage.output);
        }
        Ok(Chunk::Restart(restart)) => {
            *restarts += 1;
            span.record("ostler.restarts", *restarts);
            span.record("gen_ai.response.model", restart.model.as_str());
        }
        Ok(Chunk::Done(reason)) => {
            span.record("gen_ai.response.finish_reasons", finish_reason(*reason));
        }
        Ok(_) => {}
        Err(error) => {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", error_type(error.kind).as_ref());
        }
    }
}

fn error_type(kind: ModelErrorKind) -> Cow<'static, str> {
    match kind {
        ModelErrorKind::Status(status) => status.to_string().into(),
        ModelErrorKind::Network => "network".into(),
        ModelErrorKind::Incomplete => "incomplete".into(),
        ModelErrorKind::TimedOut => "timeout".into(),
        ModelErrorKind::Malformed => "malformed".into(),
        ModelErrorKind::NoKey => "no_key".into(),
        ModelErrorKind::UnknownModel => "unknown_model".into(),
    }
}

const fn finish_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::End => "stop",
        StopReason::ToolCalls => "tool_call",
        StopReason::MaxTokens => "length",
        StopReason::Filtered => "content_filter",
    }
}

/// Returns the span of a call of a tool.
pub(super) fn execute_tool(call: &ToolCall, path: &AgentPath) -> Span {
    let span = tracing::info_span!(
        target: TRACE_TARGET,
        "execute_tool",
        otel.name = field::Empty,
        otel.status_code = field::Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = call.name.as_str(),
        gen_ai.tool.call.id = &*call.id.0,
        ostler.subagent.depth = path.len(),
        ostler.outcome = field::Empty,
        "error.type" = field::Empty,
    );
    span.record("otel.name", format_args!("execute_tool {}", call.name));
    span
}

/// Records how a call of a tool ended. What a tool refused or did not find is no error.
pub(super) fn record_reply(span: &Span, reply: &ToolReply) {
    let ToolReply::Done(outcome) = reply else { return };
    span.record("ostler.outcome", outcome.status.name());
    if matches!(
        outcome.status,
        OutcomeStatus::Failed | OutcomeStatus::TimedOut | OutcomeStatus::OutcomeUnknown
    ) {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", outcome.status.name());
    }
}
