//! The files of an installation that hold secrets: only their owner may read them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::installation::{CONFIG_FILE, Installation};

/// The permissions of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Returns the files and folders of an installation that others can read or write. What is
/// in a closed folder is out of their reach.
pub(crate) fn reachable_by_others(installation: &Installation) -> Vec<PathBuf> {
    let secrets = installation.secrets_folder();
    let is_closed = !is_open(&secrets);
    let mut paths = open_to_others(installation);
    paths.retain(|path| !(is_closed && path.starts_with(&secrets)));
    paths
}

/// Returns the files and folders that have permissions for others.
fn open_to_others(installation: &Installation) -> Vec<PathBuf> {
    let mut paths = private_paths(installation);
    paths.retain(|path| is_open(path));
    paths
}

fn is_open(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & OTHERS != 0)
}

/// Takes the permissions of others away. What belongs to somebody else stays as it is, and
/// `ostler doctor` reports it.
pub(crate) fn make_private(installation: &Installation) {
    for path in open_to_others(installation) {
        let changed = fs::metadata(&path).and_then(|found| {
            let mode = found.permissions().mode() & !OTHERS;
            fs::set_permissions(&path, Permissions::from_mode(mode))
        });
        match changed {
            Ok(()) => tracing::info!(path = %path.display(), "file closed to others"),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "others can read this file");
            }
        }
    }
}

/// Returns the configuration, the files of the database, and the secrets with their folders.
fn private_paths(installation: &Installation) -> Vec<PathBuf> {
    let mut paths = vec![installation.folder.join(CONFIG_FILE)];
    if let Some(database) = installation.database_file() {
        for end in ["", "-wal", "-shm"] {
            let mut file = database.clone().into_os_string();
            file.push(end);
            paths.push(file.into());
        }
    }
    let mut folders = vec![installation.secrets_folder()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        for entry in entries {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => paths.push(entry.path()),
                // A link leads to what is somebody else's.
                _ => {}
            }
        }
        paths.push(folder);
    }
    paths
}
