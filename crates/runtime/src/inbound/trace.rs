//! What was done in a run, and how long it took.

use std::time::Instant;

use crate::talk::run::StepRecord;

/// A step that is under way.
pub(super) struct Began(&'static str, &'static str, Instant);

/// The steps of a run, in the order in which they began.
pub(super) struct Trace {
    began: Instant,
    steps: Vec<StepRecord>,
}

impl Trace {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), steps: Vec::with_capacity(16) }
    }

    /// A step begins.
    pub(super) fn begin(number: &'static str, name: &'static str) -> Began {
        Began(number, name, Instant::now())
    }

    /// It is over.
    pub(super) fn end(&mut self, began: Began) {
        self.end_with(began, None);
    }

    /// It is over, and there is something to say about it.
    pub(super) fn end_with(&mut self, Began(number, name, began): Began, note: Option<String>) {
        let micros =
            |span: std::time::Duration| u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.steps.push(StepRecord {
            step: number.into(),
            name: name.into(),
            began_us: micros(began.duration_since(self.began)),
            took_us: micros(began.elapsed()),
            note,
        });
        tracing::trace!(step = number, name, "done");
    }

    /// All of them.
    pub(super) fn into_steps(self) -> Vec<StepRecord> {
        self.steps
    }
}
