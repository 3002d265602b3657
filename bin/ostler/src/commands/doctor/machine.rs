//! Checks the machine: free disk space, and who can read the files of the installation.

use std::path::{Path, PathBuf};

use ostler_store::HealthCheck;

use super::{failed, join_problems, ok, warning};
use crate::installation::Installation;
use crate::private_files;

/// Less free space than this is a warning.
const LOW_MIB: u64 = 1024;
/// Less free space than this is a problem: the next writes may fail.
const CRITICAL_MIB: u64 = 100;

pub(super) fn check(installation: &Installation) -> Vec<HealthCheck> {
    let folder = match installation.database_file() {
        Some(file) => file.parent().map_or_else(PathBuf::new, Path::to_owned),
        None => installation.folder.clone(),
    };
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let disk = free_mib(&folder).map(|free| assess_disk(free, &folder));
    disk.into_iter().chain([check_files(installation)]).collect()
}

fn free_mib(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize) >> 20)
}

fn assess_disk(free: u64, folder: &Path) -> HealthCheck {
    let folder = folder.display();
    let message = |advice: &str| format!("{free} MiB are free in {folder}{advice}.");
    match free {
        0..CRITICAL_MIB => failed("disk", message("; make room at once, or writes will fail")),
        CRITICAL_MIB..LOW_MIB => {
            warning("disk", message("; make room, or set retention days and run `ostler prune`"))
        }
        _ => ok("disk", message("")),
    }
}

/// Checks that only the owner can read the configuration, the database and the secrets.
fn check_files(installation: &Installation) -> HealthCheck {
    let problems: Vec<String> = private_files::reachable_by_others(installation)
        .iter()
        .map(|path| format!("others can read {0}; run `chmod go= {0}`", path.display()))
        .collect();
    if problems.is_empty() {
        let message = "Only their owner can read the configuration, the database and the secrets.";
        return ok("files", message.into());
    }
    warning("files", join_problems(&problems))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::assess_disk;

    #[test]
    fn o20_little_free_space_is_a_problem() {
        for (free, status) in [(5, "failed"), (99, "failed"), (100, "warning"), (5000, "ok")] {
            assert_eq!(assess_disk(free, Path::new("/")).status.name(), status, "{free}");
        }
    }
}
