//! Undo: the state of changed files before each turn.
//!
//! Before a turn changes a file for the first time, its content is saved under its hash in a
//! directory outside the workspace, and a line in the journal of the turn says what was there.
//! What a command will change is not known before, so every file that no ignore file excludes
//! is saved before a command starts; files that were saved earlier and have not changed since
//! cost a look at their metadata. Files excluded by ignore files, and `.git`, are not saved
//! when commands change them.

mod journal;
mod objects;
mod restore;
mod snapshot;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::WorkspaceError;
use crate::files::Files;

pub use restore::RestoreReport;

use journal::Journal;
use objects::Objects;
use snapshot::Snapshot;

/// Limits of what is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoLimits {
    /// Larger files are not saved.
    pub file_bytes: u64,
    /// The most bytes of all saved files.
    pub total_bytes: u64,
    /// The most files that are looked at before a command.
    pub files: usize,
    /// Older turns are forgotten.
    pub turns: usize,
}

impl Default for UndoLimits {
    fn default() -> Self {
        Self { file_bytes: 8 << 20, total_bytes: 512 << 20, files: 50_000, turns: 50 }
    }
}

/// How often and how long to wait for commands to end.
const IDLE_ATTEMPTS: u32 = 100;
const IDLE_INTERVAL: Duration = Duration::from_millis(20);

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SavedState {
    Absent,
    Directory,
    /// A file with its permissions.
    File {
        object: String,
        mode: u32,
    },
    /// A symbolic link with its target.
    Link {
        target: PathBuf,
    },
    /// Something that could not be saved.
    NotSaved {
        reason: String,
    },
}

/// The saved states of a workspace.
#[derive(Debug)]
pub struct UndoStore {
    directory: PathBuf,
    limits: UndoLimits,
    state: Mutex<UndoState>,
}

#[derive(Debug)]
struct UndoState {
    objects: Objects,
    /// The journals of all turns, oldest first. The last one is the current turn.
    turns: Vec<Journal>,
    /// The last look at all files.
    snapshot: Option<Snapshot>,
    /// How many commands run at the moment; they share the snapshot.
    running: usize,
}

impl UndoStore {
    /// Opens the states in `directory`, which must be outside the workspace, and creates it.
    pub fn open(directory: &Path, limits: UndoLimits) -> Result<Self, WorkspaceError> {
        let failed = |error| WorkspaceError::from_io(directory, error);
        let turns_directory = directory.join("turns");
        fs::create_dir_all(&turns_directory).map_err(failed)?;
        let objects = Objects::open(&directory.join("objects")).map_err(failed)?;
        let turns = Journal::read_all(&turns_directory)?;
        let snapshot = Snapshot::load(&directory.join("snapshot.json"));
        let state = UndoState { objects, turns, snapshot, running: 0 };
        Ok(Self { directory: directory.to_owned(), limits, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, UndoState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no command runs; one that was aborted needs a moment to end.
    fn lock_when_idle(&self) -> Result<MutexGuard<'_, UndoState>, WorkspaceError> {
        for _ in 0..IDLE_ATTEMPTS {
            let state = self.lock();
            if state.running == 0 {
                return Ok(state);
            }
            drop(state);
            std::thread::sleep(IDLE_INTERVAL);
        }
        Err(WorkspaceError::CommandRunning)
    }

    /// Starts a turn: what changes from now on can be undone with [`UndoStore::restore`].
    /// Continues the turn if it is the current one.
    pub fn begin_turn(&self, files: &Files, id: &str) -> Result<(), WorkspaceError> {
        let mut state = self.lock();
        self.record_interrupted(&mut state, files)?;
        self.begin(&mut state, id)?;
        self.forget_old_turns(&mut state);
        Ok(())
    }

    fn begin(&self, state: &mut UndoState, id: &str) -> Result<(), WorkspaceError> {
        if state.turns.last().is_some_and(|turn| turn.id() == id) {
            return Ok(());
        }
        let number = state.turns.last().map_or(1, |turn| turn.number() + 1);
        state.turns.push(Journal::create(&self.directory.join("turns"), number, id)?);
        Ok(())
    }

    /// Returns the turns that can be restored, oldest first.
    pub fn turns(&self) -> Vec<String> {
        self.lock().turns.iter().map(|turn| turn.id().to_owned()).collect()
    }

    /// Returns what a turn has changed, with the state before.
    pub fn changes(&self, id: &str) -> Result<BTreeMap<String, SavedState>, WorkspaceError> {
        let state = self.lock();
        let turn = state.turns.iter().find(|turn| turn.id() == id);
        let turn = turn.ok_or_else(|| WorkspaceError::UnknownTurn(id.to_owned()))?;
        Ok(turn.changes().clone())
    }

    /// Saves the state of a path, and of missing directories above it, before a change.
    pub(crate) fn before_change(&self, files: &Files, path: &Path) -> Result<(), WorkspaceError> {
        self.save(&mut self.lock(), files, path)
    }

    fn save(
        &self,
        state: &mut UndoState,
        files: &Files,
        path: &Path,
    ) -> Result<(), WorkspaceError> {
        let UndoState { objects, turns, snapshot, running } = state;
        let Some(turn) = turns.last_mut() else { return Ok(()) };
        for ancestor in path.ancestors().filter(|ancestor| !ancestor.as_os_str().is_empty()) {
            let name = ancestor.display().to_string();
            if turn.changes().contains_key(&name) {
                continue;
            }
            let earlier = snapshot.as_ref().filter(|_| *running > 0);
            let saved = match earlier.and_then(|snapshot| snapshot.state(&name)) {
                Some(saved) => saved.clone(),
                None => snapshot::state_of(files, ancestor, objects, &self.limits)?,
            };
            if ancestor == path || saved == SavedState::Absent {
                turn.record(&name, saved)?;
            }
        }
        Ok(())
    }

    /// Saves every file before a command. Fails if there is no turn.
    pub(crate) fn before_command(&self, files: &Files) -> Result<(), WorkspaceError> {
        let mut state = self.lock();
        let UndoState { objects, turns, snapshot, running } = &mut *state;
        let turn = turns.last_mut().ok_or(WorkspaceError::NoTurn)?;
        if *running == 0 {
            let taken = Snapshot::take(files, snapshot.as_ref(), objects, &self.limits)?;
            taken.store(&self.directory.join("snapshot.json"))?;
            *snapshot = Some(taken);
        }
        turn.command_started()?;
        *running += 1;
        Ok(())
    }

    /// Records what has changed since the command started.
    pub(crate) fn after_command(&self, files: &Files) -> Result<(), WorkspaceError> {
        let mut state = self.lock();
        if state.running == 0 {
            return Ok(());
        }
        state.running -= 1;
        self.record_changes(&mut state, files)
    }

    /// Records what a command has changed during which the process was killed.
    fn record_interrupted(
        &self,
        state: &mut UndoState,
        files: &Files,
    ) -> Result<(), WorkspaceError> {
        let is_open = state.turns.last().is_some_and(Journal::has_open_command);
        if is_open && state.running == 0 { self.record_changes(state, files) } else { Ok(()) }
    }

    fn record_changes(&self, state: &mut UndoState, files: &Files) -> Result<(), WorkspaceError> {
        let UndoState { turns, snapshot, .. } = state;
        let (Some(turn), Some(snapshot)) = (turns.last_mut(), snapshot) else { return Ok(()) };
        for (path, before) in snapshot.changes(files, &self.limits)? {
            if !turn.changes().contains_key(&path) {
                turn.record(&path, before)?;
            }
        }
        turn.command_ended()
    }

    /// Removes the oldest turns beyond the limit, and contents that nothing refers to.
    fn forget_old_turns(&self, state: &mut UndoState) {
        if state.turns.len() <= self.limits.turns {
            return;
        }
        for turn in state.turns.drain(..state.turns.len() - self.limits.turns) {
            turn.remove();
        }
        let of_turns = state.turns.iter().flat_map(|turn| turn.changes().values());
        let of_snapshot = state.snapshot.iter().flat_map(Snapshot::states);
        state.objects.keep_only(of_turns.chain(of_snapshot));
    }
}
