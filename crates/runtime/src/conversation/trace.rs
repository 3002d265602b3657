//! Times the steps of a run, for its record and for traces.

use std::time::{Duration, Instant};

use ostler_engine::driver::TRACE_TARGET;
use tracing::{Span, field};

use super::run_context::RunContext;
use crate::records::entry::{InboxEntry, IncomingMessage};
use crate::records::run::StepRecord;
use crate::records::run_step::RunStep;
use crate::trace_context::continue_trace;

/// A step that is running.
pub(crate) struct StepTimer {
    step: RunStep,
    started: Instant,
    span: Span,
}

impl StepTimer {
    /// Returns the span of the step, for what is done in it.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }
}

/// The steps of a run, in the order in which they ran.
pub(crate) struct Trace {
    started: Instant,
    steps: Vec<StepRecord>,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), steps: Vec::with_capacity(16) }
    }

    pub(crate) fn start(step: RunStep) -> StepTimer {
        let span = tracing::info_span!(
            target: TRACE_TARGET,
            "step",
            otel.name = step.name(),
            ostler.step = step.number(),
            ostler.note = field::Empty,
        );
        StepTimer { step, started: Instant::now(), span }
    }

    pub(crate) fn finish(&mut self, timer: StepTimer) {
        self.finish_with(timer, None);
    }

    /// Ends a step with a note for the record.
    pub(crate) fn finish_with(&mut self, timer: StepTimer, note: Option<String>) {
        let StepTimer { step, started, span } = timer;
        if let Some(note) = &note {
            span.record("ostler.note", note.as_str());
        }
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.steps.push(StepRecord {
            step: step.number().into(),
            name: step.name().into(),
            began_us: micros(started.duration_since(self.started)),
            took_us: micros(started.elapsed()),
            note,
        });
    }

    /// Returns when the run began.
    pub(crate) const fn started(&self) -> Instant {
        self.started
    }

    pub(crate) fn into_steps(self) -> Vec<StepRecord> {
        self.steps
    }
}

/// Returns the span of a run: the root of a trace, or a part of the trace that a request from
/// the bus came with.
pub(crate) fn run_span(context: &RunContext<'_>, entry: Option<&InboxEntry>) -> Span {
    let span = tracing::info_span!(
        target: TRACE_TARGET,
        "run",
        ostler.org.id = %context.org(),
        ostler.run.id = %context.run_id,
        ostler.attempt = context.attempt,
        ostler.outcome = field::Empty,
        gen_ai.conversation.id = field::Empty,
    );
    if let Some(InboxEntry::Message(IncomingMessage { bus_request: Some(request), .. })) = entry {
        continue_trace(&span, request.context.traceparent.as_ref());
    }
    span
}
