//! What exists while one command runs: its temporary directory and its control groups.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::sandbox::cgroup::ControlGroups;
use crate::sandbox::limits::ResourceLimits;
use crate::sandbox::spec::HelperReport;
use crate::sandbox::status::Enforcement;

/// How often and how long to wait for the last processes before the directory is removed.
const REMOVAL_ATTEMPTS: u32 = 20;
const REMOVAL_INTERVAL: Duration = Duration::from_millis(100);

/// The start of the names of directories, followed by the id of the process.
const PREFIX: &str = "ostler-run-";

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The temporary directory and the control groups of a command, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct RunScope {
    directory: PathBuf,
    groups: ControlGroups,
}

impl RunScope {
    /// Creates them; the temporary directory belongs to `user`, and there are control groups
    /// only with limits for them.
    pub(crate) fn create(
        user: Option<(u32, u32)>,
        limits: Option<&ResourceLimits>,
    ) -> io::Result<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let random = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |now| now.subsec_nanos());
        let name = format!("{PREFIX}{}-{number}-{random:x}", std::process::id());
        // Others may pass through it, but they cannot list it.
        let directory = std::env::temp_dir().canonicalize()?.join(&name);
        fs::DirBuilder::new().mode(0o711).create(&directory)?;
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o711))?;
        let create = |limits| ControlGroups::create(&name, limits);
        let scope = Self { directory, groups: limits.map(create).unwrap_or_default() };
        let temporary = scope.temporary();
        fs::DirBuilder::new().mode(0o700).create(&temporary)?;
        if let Some((uid, gid)) = user {
            std::os::unix::fs::chown(&temporary, Some(uid), Some(gid))?;
        }
        Ok(scope)
    }

    pub(crate) const fn groups(&self) -> &ControlGroups {
        &self.groups
    }

    /// Returns the temporary directory of the command.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    /// Returns the file for the report of the helper.
    pub(crate) fn report(&self) -> PathBuf {
        self.directory.join("report.json")
    }

    /// Returns what the helper has enforced, or why it did not start the command.
    pub(crate) fn read_report(&self) -> Result<Enforcement, String> {
        let report = fs::read(self.report()).ok();
        match report.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            Some(HelperReport::Started(enforcement)) => Ok(enforcement),
            Some(HelperReport::Refused(why)) => Err(why),
            None => Err("the helper ended without a report".to_owned()),
        }
    }
}

impl RunScope {
    /// Removes everything after the command has ended.
    pub(crate) async fn close(mut self) {
        let parts = self.take();
        let _ = tokio::task::spawn_blocking(move || remove(parts)).await;
    }

    /// Takes what is to be removed; nothing is left for a second time.
    fn take(&mut self) -> (PathBuf, ControlGroups) {
        (std::mem::take(&mut self.directory), std::mem::take(&mut self.groups))
    }
}

impl Drop for RunScope {
    fn drop(&mut self) {
        let parts = self.take();
        if !parts.0.as_os_str().is_empty() {
            // In a thread of its own: after an abort, the processes are still ending.
            std::thread::spawn(move || remove(parts));
        }
    }
}

/// Removes what processes that were killed have left.
pub(crate) fn remove_abandoned() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let pid = pid.and_then(|pid| pid.parse::<u32>().ok());
        let is_abandoned = pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        if is_abandoned && ControlGroups::remove(name) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn remove((directory, groups): (PathBuf, ControlGroups)) {
    // The directory goes last: it is what a later process looks for.
    drop(groups);
    for _ in 0..REMOVAL_ATTEMPTS {
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                std::thread::sleep(REMOVAL_INTERVAL);
            }
            _ => return,
        }
    }
    tracing::warn!(directory = %directory.display(), "temporary directory not removed");
}
