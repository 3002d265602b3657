//! The background of a thread's memory: one piece of work after the other, until there is
//! none.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::memory::window::{MemoryTask, TaskKind};
use ostler_domain::time::Timestamp;
use ostler_store::{MemoryCall, StoreError};

use super::event::{MemoryEvent, OmTask};
use super::state::{TaskOutput, Work};
use super::thread::Shared;
use super::{observe, reflect};

/// The reason why a task failed.
pub(super) struct TaskError {
    pub(super) why: String,
    /// The wait requested by the provider.
    pub(super) retry_after: Option<Duration>,
}

impl TaskError {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), retry_after: None }
    }
}

impl<E: std::error::Error> From<E> for TaskError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// The result of a task, and the model call that it made.
pub(super) struct TaskResult {
    pub(super) output: Result<TaskOutput, TaskError>,
    pub(super) call: Option<MemoryCall>,
}

impl From<TaskError> for TaskResult {
    fn from(error: TaskError) -> Self {
        Self { output: Err(error), call: None }
    }
}

/// Does this work and all that follows.
pub(super) async fn run(shared: Arc<Shared>, first: Work) {
    let mut cleanup = Cleanup { shared: shared.clone(), is_done: false };
    let mut next = Some(first);
    while let Some(work) = next.take() {
        let saved = match work {
            Work::Save => commit(&shared, None).await,
            Work::Task(task) => run_task(&shared, &task).await,
        };
        let mut state = shared.lock();
        match saved {
            Ok(()) => next = state.next_work(shared.now()),
            Err(error) => {
                let thread = shared.options.thread;
                tracing::warn!(%thread, %error, "memory of a thread not stored, will retry");
                state.is_lost = matches!(error, StoreError::Conflict(_));
            }
        }
        state.is_working = next.is_some();
        cleanup.is_done = next.is_none();
    }
    shared.idle.notify_waiters();
}

/// Lets the memory continue if the background panics.
struct Cleanup {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let running = self.shared.lock().window.running().cloned();
        if let Some(task) = running {
            fail(&self.shared, &task, "the task was cancelled", None, None);
        }
        self.shared.lock().is_working = false;
        self.shared.idle.notify_waiters();
    }
}

/// Runs a task. Fails only if its result cannot be stored.
async fn run_task(shared: &Arc<Shared>, task: &MemoryTask) -> Result<(), StoreError> {
    let started = shared.now();
    shared.emit(start_event(task.kind, shared.task_event(task)));
    // The start is stored first, so that attempts are counted across restarts.
    if let Err(error) = commit(shared, None).await {
        fail(shared, task, &error.to_string(), None, Some(started));
        return Err(error);
    }
    let TaskResult { output, call } = match task.kind {
        TaskKind::Buffering | TaskKind::Observation => observe::run(shared, task).await,
        TaskKind::Reflection => reflect::run(shared, task).await,
    };
    if let Some(call) = call {
        let mut state = shared.lock();
        state.calls.push(call.clone());
        state.unsaved.calls.push(call);
        state.unsaved.is_dirty = true;
    }
    let output = match output {
        Ok(output) => output,
        Err(TaskError { why, retry_after }) => {
            fail(shared, task, &why, retry_after, Some(started));
            return Ok(());
        }
    };
    let tokens = output_tokens(shared, &output);
    if let Err(error) = commit(shared, Some(output)).await {
        fail(shared, task, &error.to_string(), None, Some(started));
        return Err(error);
    }
    let duration_ms = Some(millis_since(shared, started));
    let ended = OmTask { observation_tokens: Some(tokens), duration_ms, ..shared.task_event(task) };
    shared.emit(end_event(task.kind, ended));
    emit_status(shared);
    Ok(())
}

/// Returns the tokens that a task leaves.
fn output_tokens(shared: &Shared, output: &TaskOutput) -> u64 {
    match output {
        TaskOutput::Observed(observations) => observations.iter().map(|one| one.tokens).sum(),
        TaskOutput::Reflected(changes) => reflect::tokens_after(&shared.lock().log, changes),
    }
}

/// Stores everything that is not stored yet, together with the output of a task, and then
/// applies the output.
async fn commit(shared: &Shared, output: Option<TaskOutput>) -> Result<(), StoreError> {
    let thread = shared.options.thread;
    let (change, unsaved) = shared.lock().start_commit(thread, output.as_ref());
    match shared.org().commit_memory(change).await {
        Ok(revision) => {
            shared.lock().complete_commit(revision, output);
            prepare(shared);
            Ok(())
        }
        Err(error) => {
            shared.lock().revert_commit(unsaved);
            Err(error)
        }
    }
}

/// Renders the prompt that the next activation will have, without holding the lock.
fn prepare(shared: &Shared) {
    let state = shared.lock().clone();
    if state.staged_count() > 0 {
        let projection = state.projection();
        shared.lock().set_prepared(projection, state.staged_count());
    }
}

/// Records that a task failed, and publishes it.
pub(super) fn fail(
    shared: &Shared,
    task: &MemoryTask,
    why: &str,
    retry_after: Option<Duration>,
    started: Option<Timestamp>,
) {
    let retry_at = {
        let mut state = shared.lock();
        state.unsaved.is_dirty = true;
        state.window.fail(shared.now(), retry_after)
    };
    let duration_ms = started.map(|started| millis_since(shared, started));
    let error = Some(why.to_owned());
    let failed = OmTask { error, retry_at, duration_ms, ..shared.task_event(task) };
    shared.emit(failed_event(task.kind, failed));
    emit_status(shared);
}

fn emit_status(shared: &Shared) {
    let status = shared.lock().status(shared.options.thread);
    shared.emit(MemoryEvent::Status(status));
}

fn millis_since(shared: &Shared, started: Timestamp) -> u64 {
    u64::try_from(shared.now().since(started).as_millis()).unwrap_or(u64::MAX)
}

const fn start_event(kind: TaskKind, ext: OmTask) -> MemoryEvent {
    match kind {
        TaskKind::Buffering => MemoryEvent::BufferingStart { ext },
        TaskKind::Observation => MemoryEvent::ObservationStart { ext },
        TaskKind::Reflection => MemoryEvent::ReflectionStart { ext },
    }
}

const fn end_event(kind: TaskKind, ext: OmTask) -> MemoryEvent {
    match kind {
        TaskKind::Buffering => MemoryEvent::BufferingEnd { ext },
        TaskKind::Observation => MemoryEvent::ObservationEnd { ext },
        TaskKind::Reflection => MemoryEvent::ReflectionEnd { ext },
    }
}

const fn failed_event(kind: TaskKind, ext: OmTask) -> MemoryEvent {
    match kind {
        TaskKind::Buffering => MemoryEvent::BufferingFailed { ext },
        TaskKind::Observation => MemoryEvent::ObservationFailed { ext },
        TaskKind::Reflection => MemoryEvent::ReflectionFailed { ext },
    }
}
