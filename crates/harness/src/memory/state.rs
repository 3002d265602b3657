//! The state of a thread's memory in this process. Nothing here waits.

use std::collections::VecDeque;
use std::sync::Arc;

use ostler_domain::id::ThreadId;
use ostler_domain::memory::reflection::ReflectionChanges;
use ostler_domain::memory::window::{Activation, MemoryTask};
use ostler_domain::memory::{MemoryWindow, Observation, ObservationLog};
use ostler_domain::money::caps::TurnBudget;
use ostler_domain::time::Timestamp;
use ostler_domain::tool::Trust;
use ostler_engine::tokens;
use ostler_store::{
    MemoryCall, MemoryCommit, ObservationState, StoredObservation, StoredThreadMemory,
};

use super::event::{MemoryEvent, MemoryPart, OmStatus};
use super::prompt;
use super::thread::MemoryOptions;

/// Changes that are not stored yet.
#[derive(Debug, Clone, Default)]
pub(super) struct UnsavedChanges {
    pub(super) is_dirty: bool,
    activated_to: u64,
    superseded: Vec<(u64, u64)>,
    retired: Vec<u64>,
    pub(super) calls: Vec<MemoryCall>,
}

impl UnsavedChanges {
    /// Adds later changes.
    fn then(mut self, later: Self) -> Self {
        self.is_dirty |= later.is_dirty;
        self.activated_to = self.activated_to.max(later.activated_to);
        self.superseded.extend(later.superseded);
        self.retired.extend(later.retired);
        self.calls.extend(later.calls);
        self
    }
}

/// What a task has produced.
#[derive(Debug, Clone)]
pub(super) enum TaskOutput {
    Observed(Vec<StoredObservation>),
    Reflected(ReflectionChanges),
}

/// Work for the background.
pub(super) enum Work {
    Save,
    Task(MemoryTask),
}

/// The observations of the prompt after an activation.
#[derive(Debug, Clone)]
pub(super) struct Projection {
    log: Arc<ObservationLog>,
    head: Arc<str>,
    superseded: Vec<(u64, u64)>,
    retired: Vec<u64>,
}

/// The memory of a thread.
#[derive(Debug, Clone)]
pub(super) struct MemoryState {
    pub(super) window: MemoryWindow,
    pub(super) log: Arc<ObservationLog>,
    /// The head of the prompt with the observations of `log`.
    pub(super) head: Arc<str>,
    /// Whether `log` contains anything from outside.
    pub(super) trust: Trust,
    /// Observations that wait for activation.
    staged: Vec<StoredObservation>,
    /// What the prompt is after an activation of `staged`.
    prepared: Option<Projection>,
    pub(super) unsaved: UnsavedChanges,
    pub(super) revision: i64,
    pub(super) next_observation: u64,
    /// Whether the thread has settings of its own.
    pub(super) has_own_settings: bool,
    /// Calls that are not charged yet.
    pub(super) calls: Vec<MemoryCall>,
    pub(super) budget: TurnBudget,
    /// Events to publish, in order.
    pub(super) events: VecDeque<MemoryEvent>,
    pub(super) step: u64,
    pub(super) is_working: bool,
    /// Whether another process has changed the memory of the thread.
    pub(super) is_lost: bool,
}

impl MemoryState {
    pub(super) fn new(stored: StoredThreadMemory, options: &MemoryOptions) -> Self {
        let has_own_settings = stored.settings.is_some();
        let settings = stored.settings.unwrap_or_else(|| options.settings.clone());
        let is_active = |one: &StoredObservation| one.state == ObservationState::Active;
        let (active, staged): (Vec<_>, Vec<_>) =
            stored.observations.into_iter().partition(is_active);
        let mut log = ObservationLog::default();
        for one in active {
            log.add(one.observation, one.tokens);
        }
        let window = MemoryWindow::restore(settings, stored.progress, log.tokens(), stored.tail);
        Self {
            window,
            head: prompt::head(&log),
            trust: log.trust(),
            log: Arc::new(log),
            staged,
            prepared: None,
            unsaved: UnsavedChanges::default(),
            revision: stored.revision,
            next_observation: stored.next_observation,
            has_own_settings,
            calls: stored.uncharged,
            budget: options.budget,
            events: VecDeque::new(),
            step: 0,
            is_working: false,
            is_lost: false,
        }
    }

    /// Starts the next work for the background.
    pub(super) fn next_work(&mut self, now: Timestamp) -> Option<Work> {
        if self.unsaved.is_dirty {
            return Some(Work::Save);
        }
        self.window.start_task(now).map(Work::Task)
    }

    /// Puts finished observations into the prompt if it is time.
    pub(super) fn activate(&mut self) -> Option<Activation> {
        let activation = self.window.activate()?;
        self.apply_staged();
        Some(activation)
    }

    fn apply_staged(&mut self) {
        let staged = std::mem::take(&mut self.staged);
        let prepared = self.prepared.take();
        let Projection { log, head, superseded, retired } =
            prepared.unwrap_or_else(|| self.project(&staged));
        self.trust = log.trust();
        self.log = log;
        self.head = head;
        self.window.set_observation_tokens(self.log.tokens());
        let activated_to = staged.last().map_or(0, |last| last.observation.id);
        let calls = Vec::new();
        let changes = UnsavedChanges { is_dirty: true, activated_to, superseded, retired, calls };
        self.unsaved = std::mem::take(&mut self.unsaved).then(changes);
    }

    fn project(&self, added: &[StoredObservation]) -> Projection {
        let (mut log, mut superseded) = (ObservationLog::clone(&self.log), Vec::new());
        for one in added {
            let replaced = log.add(one.observation.clone(), one.tokens);
            superseded.extend(replaced.into_iter().map(|old| (old, one.observation.id)));
        }
        let retired = log.enforce_limit(self.window.settings().observation_limit());
        Projection { head: prompt::head(&log), log: Arc::new(log), superseded, retired }
    }

    /// Returns the observations in the prompt and those that wait for it, oldest first.
    pub(super) fn observations(&self) -> impl DoubleEndedIterator<Item = &Observation> {
        self.log.iter().chain(self.staged.iter().map(|one| &one.observation))
    }

    /// Returns what the prompt will be after an activation of what is staged now.
    pub(super) fn projection(&self) -> Projection {
        self.project(&self.staged)
    }

    /// Returns how many observations wait for activation.
    pub(super) const fn staged_count(&self) -> usize {
        self.staged.len()
    }

    /// Sets the projection of this many staged observations, so that the turn that activates
    /// them does not have to compute it.
    pub(super) fn set_prepared(&mut self, projection: Projection, staged_count: usize) {
        self.prepared = (self.staged.len() == staged_count).then_some(projection);
    }

    /// Ends the running task.
    pub(super) fn finish(&mut self, output: TaskOutput) {
        self.prepared = None;
        match output {
            TaskOutput::Observed(observations) => {
                self.next_observation += observations.len() as u64;
                let tokens = observations.iter().map(|one| one.tokens).sum();
                self.staged.extend(observations);
                if self.window.finish_observation(tokens).is_some() {
                    self.apply_staged();
                }
            }
            TaskOutput::Reflected(changes) => {
                self.next_observation += changes.added.len() as u64;
                let log = Arc::make_mut(&mut self.log);
                log.remove(&changes.removed());
                for observation in changes.added {
                    let tokens = tokens::of_text(&observation.line());
                    log.add(observation, tokens);
                }
                self.head = prompt::head(&self.log);
                self.trust = self.log.trust();
                self.window.finish_reflection(self.log.tokens());
            }
        }
    }

    /// Takes the changes that are not stored yet, and returns the commit that stores them
    /// together with the output of a task.
    pub(super) fn start_commit(
        &mut self,
        thread: ThreadId,
        output: Option<&TaskOutput>,
    ) -> (MemoryCommit, UnsavedChanges) {
        let unsaved = std::mem::take(&mut self.unsaved);
        let mut next = self.clone();
        next.unsaved = unsaved.clone();
        let generation = self.window.progress().generation + 1;
        let (mut added, mut merged) = (Vec::new(), Vec::new());
        match output {
            Some(TaskOutput::Observed(observations)) => added.clone_from(observations),
            Some(TaskOutput::Reflected(changes)) => {
                merged.clone_from(&changes.superseded);
                added.extend(changes.added.iter().map(|observation| StoredObservation {
                    state: ObservationState::Active,
                    tokens: tokens::of_text(&observation.line()),
                    generation,
                    observation: observation.clone(),
                }));
            }
            None => {}
        }
        if let Some(output) = output {
            next.finish(output.clone());
        }
        let settings = next.has_own_settings.then(|| next.window.settings().clone());
        let UnsavedChanges { activated_to, superseded, retired, calls, .. } = next.unsaved.clone();
        let commit = MemoryCommit {
            thread,
            revision: self.revision,
            progress: next.window.progress().clone(),
            settings,
            status: status_json(&next.status(thread)),
            added,
            activated_to,
            superseded: [superseded, merged].concat(),
            retired,
            calls,
        };
        (commit, unsaved)
    }

    /// Applies the output of a task after its commit. Changes that were made meanwhile stay
    /// unsaved.
    pub(super) fn complete_commit(&mut self, revision: i64, output: Option<TaskOutput>) {
        self.revision = revision;
        let later = std::mem::take(&mut self.unsaved);
        if let Some(output) = output {
            self.finish(output);
        }
        self.unsaved = later;
    }

    /// Returns changes after a commit that failed.
    pub(super) fn revert_commit(&mut self, unsaved: UnsavedChanges) {
        self.unsaved = unsaved.then(std::mem::take(&mut self.unsaved));
    }

    pub(super) fn push_status(&mut self, thread: ThreadId) {
        let status = self.status(thread);
        self.events.push_back(MemoryEvent::Status(status));
    }

    pub(super) fn status(&self, thread: ThreadId) -> OmStatus {
        OmStatus::new(thread, self.step, &self.window.status())
    }
}

fn status_json(status: &OmStatus) -> String {
    serde_json::to_string(&MemoryPart::Status(status.clone())).unwrap_or_default()
}
