//! The journal of a turn: one line of JSON for each path, written before the change.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::WorkspaceError;
use crate::undo::SavedState;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Turn { id: String },
    Change { path: String, before: SavedState },
    CommandStarted,
    CommandEnded,
}

/// The journal of one turn.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    number: u64,
    id: String,
    changes: BTreeMap<String, SavedState>,
    /// Commands that have started and not ended.
    open_commands: usize,
}

impl Journal {
    pub(super) fn create(directory: &Path, number: u64, id: &str) -> Result<Self, WorkspaceError> {
        let path = directory.join(format!("{number:012}.jsonl"));
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|error| WorkspaceError::from_io(&path, error))?;
        let (id, changes) = (id.to_owned(), BTreeMap::new());
        let mut journal = Self { path, file, number, id, changes, open_commands: 0 };
        journal.append(&Line::Turn { id: journal.id.clone() })?;
        Ok(journal)
    }

    /// Reads the journals of a directory, oldest first. A line that was not written completely
    /// belongs to a change that was not made.
    pub(super) fn read_all(directory: &Path) -> Result<Vec<Self>, WorkspaceError> {
        let failed = |error| WorkspaceError::from_io(directory, error);
        let mut paths = Vec::new();
        for entry in fs::read_dir(directory).map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
        paths.sort();
        Ok(paths.into_iter().filter_map(Self::read).collect())
    }

    fn read(path: PathBuf) -> Option<Self> {
        let number = path.file_stem()?.to_str()?.parse().ok()?;
        let text = fs::read_to_string(&path).ok()?;
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let Some(Line::Turn { id }) = lines.next() else { return None };
        let file = OpenOptions::new().append(true).open(&path).ok()?;
        let changes = BTreeMap::new();
        let mut journal = Self { path, file, number, id, changes, open_commands: 0 };
        for line in lines {
            match line {
                Line::Turn { .. } => {}
                Line::Change { path, before } => {
                    journal.changes.entry(path).or_insert(before);
                }
                Line::CommandStarted => journal.open_commands += 1,
                Line::CommandEnded => {
                    journal.open_commands = journal.open_commands.saturating_sub(1);
                }
            }
        }
        // The next line must not continue one that was cut off.
        if !text.ends_with('\n') {
            journal.file.write_all(b"\n").ok()?;
        }
        Some(journal)
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    pub(super) const fn changes(&self) -> &BTreeMap<String, SavedState> {
        &self.changes
    }

    /// Returns whether the process ended while a command was running.
    pub(super) const fn has_open_command(&self) -> bool {
        self.open_commands > 0
    }

    pub(super) fn record(&mut self, path: &str, before: SavedState) -> Result<(), WorkspaceError> {
        self.append(&Line::Change { path: path.to_owned(), before: before.clone() })?;
        self.changes.insert(path.to_owned(), before);
        Ok(())
    }

    pub(super) fn command_started(&mut self) -> Result<(), WorkspaceError> {
        self.open_commands += 1;
        self.append(&Line::CommandStarted)
    }

    pub(super) fn command_ended(&mut self) -> Result<(), WorkspaceError> {
        self.open_commands = self.open_commands.saturating_sub(1);
        self.append(&Line::CommandEnded)
    }

    fn append(&mut self, line: &Line) -> Result<(), WorkspaceError> {
        let mut bytes = serde_json::to_vec(line)
            .map_err(|error| WorkspaceError::UndoData(error.to_string()))?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(|error| WorkspaceError::from_io(&self.path, error))
    }

    /// Removes the journal.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}
