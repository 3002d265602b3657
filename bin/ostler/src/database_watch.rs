//! Notices that the database file of a running process was deleted or replaced. SQLite
//! keeps writing to the deleted file, so everything after that would be lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::installation::Installation;

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_secs(2);

/// The identity of a file; a new file at the same path has another one.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.exists().then_some((0, 0))
}

/// Waits until the file of an installation's database is no longer the one at the start,
/// and returns why the process has to stop. Waits forever for databases that are not
/// files.
pub(crate) async fn wait_until_replaced(installation: &Installation) -> anyhow::Error {
    let database = installation.database();
    let path = database.strip_prefix("sqlite:").filter(|path| !path.starts_with(':'));
    let Some(path) = path.map(PathBuf::from) else { return std::future::pending().await };
    let opened = identity(&path);
    loop {
        tokio::time::sleep(INTERVAL).await;
        if identity(&path) != opened {
            return anyhow::anyhow!(
                "the database {} was deleted or replaced while this process used it; it stops, \
                 because what it writes would be lost",
                path.display()
            );
        }
    }
}
