//! A look at all files, and what has changed since.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use cap_std::fs::PermissionsExt as _;
use serde::{Deserialize, Serialize};

use crate::error::WorkspaceError;
use crate::files::walk::{EntryKind, FileStamp};
use crate::files::{FileEntry, Files};
use crate::undo::objects::{self, Objects};
use crate::undo::{SavedState, UndoLimits};

/// Changes this close to each other may have the same time stamp, in nanoseconds.
const TIME_GRANULARITY: i128 = 20_000_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    stamp: FileStamp,
    state: SavedState,
}

/// All files at one moment, with their saved contents.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Snapshot {
    entries: BTreeMap<String, Entry>,
    /// When it was taken, in nanoseconds.
    taken_at: i128,
}

impl Snapshot {
    /// Reads a stored snapshot; one that cannot be read is taken again.
    pub(super) fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    pub(super) fn store(&self, path: &Path) -> Result<(), WorkspaceError> {
        let failed = |error| WorkspaceError::from_io(path, error);
        let bytes = serde_json::to_vec(self)
            .map_err(|error| WorkspaceError::UndoData(error.to_string()))?;
        let temporary = path.with_extension("tmp");
        fs::write(&temporary, bytes).map_err(failed)?;
        fs::rename(&temporary, path).map_err(failed)
    }

    /// Looks at all files and saves those that are not saved in `earlier`.
    pub(super) fn take(
        files: &Files,
        earlier: Option<&Self>,
        objects: &mut Objects,
        limits: &UndoLimits,
    ) -> Result<Self, WorkspaceError> {
        let mut snapshot = Self { entries: BTreeMap::new(), taken_at: now() };
        walk(files, limits, &mut |entry| {
            let name = entry.path.display().to_string();
            let known = earlier.and_then(|earlier| earlier.unchanged(&name, entry));
            let state = match known {
                Some(state) => state.clone(),
                None => state_of(files, &entry.path, objects, limits)?,
            };
            snapshot.entries.insert(name, Entry { stamp: entry.stamp, state });
            Ok(())
        })?;
        Ok(snapshot)
    }

    /// Returns the saved state of a path.
    pub(super) fn state(&self, path: &str) -> Option<&SavedState> {
        self.entries.get(path).map(|entry| &entry.state)
    }

    pub(super) fn states(&self) -> impl Iterator<Item = &SavedState> {
        self.entries.values().map(|entry| &entry.state)
    }

    /// Returns the saved state of a file that certainly has not changed.
    fn unchanged(&self, name: &str, found: &FileEntry) -> Option<&SavedState> {
        let entry = self.entries.get(name).filter(|entry| entry.stamp == found.stamp)?;
        let is_settled = entry.stamp.changed + TIME_GRANULARITY < self.taken_at;
        let is_saved = !matches!(entry.state, SavedState::NotSaved { .. });
        (is_settled && is_saved).then_some(&entry.state)
    }

    /// Returns what has changed since, with the states before.
    pub(super) fn changes(
        &self,
        files: &Files,
        limits: &UndoLimits,
    ) -> Result<Vec<(String, SavedState)>, WorkspaceError> {
        let (mut changes, mut missing) = (Vec::new(), self.entries.clone());
        walk(files, limits, &mut |found| {
            let name = found.path.display().to_string();
            match missing.remove(&name) {
                None if found.stamp.changed + TIME_GRANULARITY >= self.taken_at => {
                    changes.push((name, SavedState::Absent));
                }
                // It was there, and an ignore file that has changed excluded it.
                None => {}
                Some(entry) if is_changed(files, &entry, found) => {
                    changes.push((name, entry.state));
                }
                Some(_) => {}
            }
            Ok(())
        })?;
        changes.extend(missing.into_iter().map(|(name, entry)| (name, entry.state)));
        Ok(changes)
    }
}

/// Returns whether an entry differs from what was saved.
fn is_changed(files: &Files, before: &Entry, found: &FileEntry) -> bool {
    match (&before.state, found.kind) {
        // The time stamps of a directory change with its content.
        (SavedState::Directory, EntryKind::Directory) => false,
        _ if before.stamp != found.stamp => true,
        (SavedState::File { object, .. }, EntryKind::File) => {
            let is_settled = found.stamp.changed + TIME_GRANULARITY < now();
            let content = || files.bytes_of(&found.path, found.size);
            !is_settled && content().is_ok_and(|bytes| objects::hash(&bytes) != *object)
        }
        _ => false,
    }
}

/// Visits the entries that are saved. Fails if there are too many.
fn walk(
    files: &Files,
    limits: &UndoLimits,
    visit: &mut dyn FnMut(&FileEntry) -> Result<(), WorkspaceError>,
) -> Result<(), WorkspaceError> {
    let (mut count, mut failure) = (0, None);
    files.walk(Path::new("."), &mut |entry| {
        count += 1;
        if count > limits.files {
            failure = Some(WorkspaceError::TooManyFiles { limit: limits.files });
            return ControlFlow::Break(());
        }
        match visit(&entry) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failure.map_or(Ok(()), Err)
}

/// Saves what is at a path.
pub(super) fn state_of(
    files: &Files,
    path: &Path,
    objects: &mut Objects,
    limits: &UndoLimits,
) -> Result<SavedState, WorkspaceError> {
    let failed = |error| WorkspaceError::from_io(path, error);
    let not_saved = |reason: String| Ok(SavedState::NotSaved { reason });
    let metadata = match files.dir().symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(SavedState::Absent);
        }
        Err(error) => return Err(failed(error)),
    };
    if metadata.is_dir() {
        return Ok(SavedState::Directory);
    }
    if metadata.is_symlink() {
        let target = files.dir().read_link_contents(path).map_err(failed)?;
        return Ok(SavedState::Link { target });
    }
    if !metadata.is_file() {
        return not_saved("it is not a regular file".to_owned());
    }
    if metadata.len() > limits.file_bytes {
        return not_saved(format!("it is larger than {} bytes", limits.file_bytes));
    }
    if objects.total_bytes() + metadata.len() > limits.total_bytes {
        return not_saved(format!("more than {} bytes are saved already", limits.total_bytes));
    }
    match files.bytes_of(path, limits.file_bytes) {
        Ok(bytes) => {
            let object = objects.save(&bytes).map_err(failed)?;
            Ok(SavedState::File { object, mode: metadata.permissions().mode() & 0o777 })
        }
        Err(error) => not_saved(error.to_string()),
    }
}

fn now() -> i128 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
}
