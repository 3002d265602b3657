//! Carries traces across the bus: an envelope holds the context of the span in which it was
//! sent, in the form of the header `traceparent` of the W3C, and the work on it continues that
//! trace, also in another process. Without an exporter of traces nothing is carried.

use std::sync::Arc;

use opentelemetry::Context;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use ostler_bus::Envelope;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Gives an envelope the context of the current span, unless it has one.
pub(crate) fn inject(envelope: &mut Envelope) {
    if envelope.context.traceparent.is_none() {
        let context = Span::current().context();
        envelope.context.traceparent = format(context.span().span_context());
    }
}

/// Makes a new span part of the trace that an envelope came with.
pub(crate) fn continue_trace(span: &Span, traceparent: Option<&Arc<str>>) {
    let parent = traceparent.filter(|_| !span.is_disabled()).and_then(|text| parse(text));
    if let Some(parent) = parent {
        // Fails only if the span is not exported.
        let _not_exported = span.set_parent(Context::new().with_remote_span_context(parent));
    }
}

/// Returns `None` for a span that is not part of a trace.
fn format(span: &SpanContext) -> Option<Arc<str>> {
    let (trace, id, flags) = (span.trace_id(), span.span_id(), span.trace_flags());
    span.is_valid().then(|| format!("00-{trace}-{id}-{flags:02x}").into())
}

/// Reads the versions that begin like version 0; `None` if the text is something else.
fn parse(text: &str) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if (version.len(), trace.len(), span.len(), flags.len()) != (2, 32, 16, 2) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    let parsed = SpanContext::new(trace, span, flags, true, TraceState::default());
    parsed.is_valid().then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::{format, parse};

    #[test]
    fn a_trace_context_is_written_as_it_was_read() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parsed = parse(text).expect("a context");
        assert_eq!(format(&parsed).as_deref(), Some(text));
    }

    #[test]
    fn what_is_no_trace_context_is_ignored() {
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-zz",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
