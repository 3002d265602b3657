//! Times the steps of a run.

use std::time::{Duration, Instant};

use crate::records::run::StepRecord;

/// A step that is running.
#[derive(Clone, Copy)]
pub(crate) struct StepTimer {
    number: &'static str,
    name: &'static str,
    started: Instant,
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

    pub(crate) fn start(number: &'static str, name: &'static str) -> StepTimer {
        StepTimer { number, name, started: Instant::now() }
    }

    pub(crate) fn finish(&mut self, timer: StepTimer) {
        self.finish_with(timer, None);
    }

    /// Ends a step with a note for the record.
    pub(crate) fn finish_with(&mut self, timer: StepTimer, note: Option<String>) {
        let StepTimer { number, name, started } = timer;
        let micros = |span: Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.steps.push(StepRecord {
            step: number.into(),
            name: name.into(),
            began_us: micros(started.duration_since(self.started)),
            took_us: micros(started.elapsed()),
            note,
        });
        tracing::trace!(step = number, name, "step finished");
    }

    pub(crate) fn into_steps(self) -> Vec<StepRecord> {
        self.steps
    }
}
