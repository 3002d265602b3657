//! Going back to the state before a turn.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cap_std::fs::{Permissions, PermissionsExt as _};

use crate::error::WorkspaceError;
use crate::files::{Files, WriteAccess};
use crate::undo::journal::Journal;
use crate::undo::{SavedState, UndoState, UndoStore};

/// What a restore has done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoreReport {
    /// Files that have their earlier content again.
    pub restored: Vec<String>,
    /// Files and directories that did not exist before.
    pub removed: Vec<String>,
    /// What could not be restored, with the reason.
    pub not_restored: Vec<(String, String)>,
    /// The turn that undoes this restore.
    pub turn: String,
}

impl UndoStore {
    /// Brings the workspace back to the state before `id`, which undoes later turns as well.
    /// The restore is a turn itself, so that it can be undone.
    pub fn restore(&self, files: &Files, id: &str) -> Result<RestoreReport, WorkspaceError> {
        let mut state = self.lock_when_idle()?;
        let position = state.turns.iter().position(|turn| turn.id() == id);
        let position = position.ok_or_else(|| WorkspaceError::UnknownTurn(id.to_owned()))?;
        self.record_interrupted(&mut state, files)?;
        let mut targets: BTreeMap<String, SavedState> = BTreeMap::new();
        for turn in &state.turns[position..] {
            for (path, before) in turn.changes() {
                targets.entry(path.clone()).or_insert_with(|| before.clone());
            }
        }
        let turn = format!("restore:{id}:{}", state.turns[position].number());
        self.begin(&mut state, &turn)?;
        for path in targets.keys() {
            self.save(&mut state, files, Path::new(path))?;
        }
        let report = apply(&state, files, &targets, turn);
        let last = state.turns.len() - 1;
        state.turns.drain(position..last).for_each(Journal::remove);
        Ok(report)
    }
}

fn apply(
    state: &UndoState,
    files: &Files,
    targets: &BTreeMap<String, SavedState>,
    turn: String,
) -> RestoreReport {
    let mut report = RestoreReport { turn, ..RestoreReport::default() };
    // Deeper paths come later in the order, so they are removed first.
    for (path, _) in targets.iter().rev().filter(|(_, state)| **state == SavedState::Absent) {
        match remove(files, Path::new(path)) {
            Ok(true) => report.removed.push(path.clone()),
            Ok(false) => {}
            Err(error) => report.not_restored.push((path.clone(), error.to_string())),
        }
    }
    for (path, saved) in targets {
        let restored = match saved {
            SavedState::Absent => continue,
            SavedState::NotSaved { reason } => Err(reason.clone()),
            SavedState::Directory => create_directory(files, Path::new(path)),
            SavedState::Link { target } => link(files, Path::new(path), target),
            SavedState::File { object, mode } => state
                .objects
                .load(object)
                .map_err(|error| format!("its saved content cannot be read: {error}"))
                .and_then(|bytes| write(files, Path::new(path), &bytes, *mode)),
        };
        match restored {
            Ok(()) => report.restored.push(path.clone()),
            Err(reason) => report.not_restored.push((path.clone(), reason)),
        }
    }
    report.restored.retain(|path| targets[path] != SavedState::Directory);
    report
}

/// Removes a file, a link or an empty directory. Returns whether there was one.
fn remove(files: &Files, path: &Path) -> io::Result<bool> {
    let removed = match files.dir().symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => files.dir().remove_dir(path),
        Ok(_) => files.dir().remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Ok(()) => Ok(true),
        // Nothing was there, or a directory that has files of somebody else now.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn create_directory(files: &Files, path: &Path) -> Result<(), String> {
    if files.dir().symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    let _ = remove(files, path);
    files.dir().create_dir_all(path).map_err(|error| error.to_string())
}

fn link(files: &Files, path: &Path, target: &Path) -> Result<(), String> {
    let _ = remove(files, path);
    files.dir().symlink_contents(target, path).map_err(|error| error.to_string())
}

fn write(files: &Files, path: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    let is_file = files.dir().symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        remove(files, path).map_err(|error| error.to_string())?;
    }
    files.replace(path, bytes, WriteAccess::Restore).map_err(|error| error.to_string())?;
    let permissions = Permissions::from_mode(mode);
    files.dir().set_permissions(path, permissions).map_err(|error| error.to_string())
}
