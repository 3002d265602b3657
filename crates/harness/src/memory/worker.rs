//! The background of a thread's memory: one piece of work after the other, until there is
//! none.

use std::sync::Arc;
use std::time::Duration;

use ostler_domain::memory::window::{MemoryTask, TaskKind};
use ostler_domain::time::Timestamp;
use ostler_store::{MemoryCall, MemoryCommit, StoreError};

use super::event::{MemoryEvent, OmTask};
use super::state::{TaskOutput, Work};
use super::thread::Shared;
use super::{observe, reflect};

/// The waits before a commit is repeated.
const COMMIT_WAITS: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(3)];

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
            Err(StoreError::Conflict(_)) => {
                let thread = shared.options.thread;
                tracing::warn!(%thread, "another process has the memory of the thread");
                state.is_lost = true;
            }
            Err(error) => {
                let thread = shared.options.thread;
                tracing::warn!(%thread, %error, "memory of a thread not stored, will retry");
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
    shared.lock().events.push_back(start_event(task.kind, shared.task_event(task)));
    shared.publish();
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
    let stored = commit(shared, Some(FinishedTask { task, started, output })).await;
    if let Err(error) = &stored {
        fail(shared, task, &error.to_string(), None, Some(started));
    }
    stored
}

/// A task with its output.
struct FinishedTask<'t> {
    task: &'t MemoryTask,
    started: Timestamp,
    output: TaskOutput,
}

/// Stores everything that is not stored yet, together with the output of a task, and then
/// applies the output.
async fn commit(shared: &Shared, finished: Option<FinishedTask<'_>>) -> Result<(), StoreError> {
    let thread = shared.options.thread;
    let output = finished.as_ref().map(|finished| &finished.output);
    let (change, unsaved) = shared.lock().start_commit(thread, output);
    match store_change(shared, &change).await {
        Ok(revision) => {
            apply(shared, revision, finished);
            prepare(shared);
            Ok(())
        }
        Err(error) => {
            shared.lock().revert_commit(unsaved);
            Err(error)
        }
    }
}

/// Stores a change. While the database cannot be reached, the same commit is repeated a few
/// times: it may have been stored.
async fn store_change(shared: &Shared, change: &MemoryCommit) -> Result<i64, StoreError> {
    for wait in COMMIT_WAITS {
        match shared.org().commit_memory(change.clone()).await {
            Err(StoreError::Unavailable(_) | StoreError::Busy) => tokio::time::sleep(wait).await,
            result => return result,
        }
    }
    shared.org().commit_memory(change.clone()).await
}

/// Applies what was stored. The end of a task is published before anything that follows from
/// its output.
fn apply(shared: &Shared, revision: i64, finished: Option<FinishedTask<'_>>) {
    let mut state = shared.lock();
    let Some(FinishedTask { task, started, output }) = finished else {
        state.complete_commit(revision, None);
        return;
    };
    let tokens = match &output {
        TaskOutput::Observed(observations) => observations.iter().map(|one| one.tokens).sum(),
        TaskOutput::Reflected(changes) => reflect::tokens_after(&state.log, changes),
    };
    state.complete_commit(revision, Some(output));
    let duration_ms = Some(millis_since(shared, started));
    let ended = OmTask { observation_tokens: Some(tokens), duration_ms, ..shared.task_event(task) };
    state.events.push_back(end_event(task.kind, ended));
    state.push_status(shared.options.thread);
    drop(state);
    shared.publish();
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
    let duration_ms = started.map(|started| millis_since(shared, started));
    let error = Some(why.to_owned());
    let mut state = shared.lock();
    state.unsaved.is_dirty = true;
    let retry_at = state.window.fail(shared.now(), retry_after);
    let failed = OmTask { error, retry_at, duration_ms, ..shared.task_event(task) };
    state.events.push_back(failed_event(task.kind, failed));
    state.push_status(shared.options.thread);
    drop(state);
    shared.publish();
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
