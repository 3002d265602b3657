//! The lock of an installation's folder: running processes share it, and a command that
//! deletes the folder's files needs it alone.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::Context as _;

use crate::installation::Installation;

const LOCK_FILE: &str = "ostler.lock";

/// A lock that lasts as long as this value and the process.
#[derive(Debug)]
pub(crate) struct HomeLock(#[allow(dead_code, reason = "dropping the file unlocks it")] File);

impl HomeLock {
    /// Marks the folder of an installation as in use, if its database is a file there.
    /// Fails while the files are being deleted.
    pub(crate) fn of_running(installation: &Installation) -> anyhow::Result<Option<Self>> {
        if !installation.database().starts_with("sqlite:") {
            return Ok(None);
        }
        let lock = Self::lock(&installation.folder, File::try_lock_shared)?;
        let busy = || anyhow::anyhow!("{} is being reset", installation.folder.display());
        lock.ok_or_else(busy).map(Some)
    }

    /// Locks the folder for deleting its files. Returns `None` if it is in use.
    pub(crate) fn exclusive(folder: &Path) -> anyhow::Result<Option<Self>> {
        Self::lock(folder, File::try_lock)
    }

    fn lock(
        folder: &Path,
        lock: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> anyhow::Result<Option<Self>> {
        let path = folder.join(LOCK_FILE);
        let open = File::options().create(true).truncate(false).write(true).open(&path);
        let file = open.with_context(|| format!("cannot open {}", path.display()))?;
        match lock(&file) {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }
}
