//! Contents of files, stored under their SHA-256 hash.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::undo::SavedState;

/// Saved contents.
#[derive(Debug)]
pub(super) struct Objects {
    directory: PathBuf,
    total_bytes: u64,
}

impl Objects {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let mut total_bytes = 0;
        for entry in fs::read_dir(directory)? {
            total_bytes += entry?.metadata()?.len();
        }
        Ok(Self { directory: directory.to_owned(), total_bytes })
    }

    pub(super) const fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Saves a content and returns its name.
    pub(super) fn save(&mut self, bytes: &[u8]) -> io::Result<String> {
        let name = hash(bytes);
        let path = self.directory.join(&name);
        if !path.exists() {
            let temporary = self.directory.join(format!(".{name}.tmp"));
            fs::write(&temporary, bytes)?;
            fs::rename(&temporary, &path)?;
            self.total_bytes += bytes.len() as u64;
        }
        Ok(name)
    }

    /// Returns a saved content. Fails if it is damaged.
    pub(super) fn load(&self, name: &str) -> io::Result<Vec<u8>> {
        let bytes = fs::read(self.directory.join(name))?;
        if hash(&bytes) == name { Ok(bytes) } else { Err(io::Error::other("it is damaged")) }
    }

    /// Removes every content that no state refers to.
    pub(super) fn keep_only<'s>(&mut self, states: impl Iterator<Item = &'s SavedState>) {
        let kept: BTreeSet<&str> = states
            .filter_map(|state| match state {
                SavedState::File { object, .. } => Some(object.as_str()),
                _ => None,
            })
            .collect();
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let size = entry.metadata().map_or(0, |metadata| metadata.len());
            let is_kept = name.to_str().is_some_and(|name| kept.contains(name));
            if !is_kept && fs::remove_file(entry.path()).is_ok() {
                self.total_bytes = self.total_bytes.saturating_sub(size);
            }
        }
    }
}

pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
