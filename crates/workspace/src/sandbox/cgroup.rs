//! Control groups: limits for all processes of a command together.
//!
//! A group is made beside or below the one of this process, in version 1 or 2 of the
//! interface. Without the right to make one, resource limits are used instead.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::limits::ResourceLimits;

const MOUNT: &str = "/sys/fs/cgroup";

/// The control groups of one command. They are removed when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct ControlGroups {
    memory: Option<Group>,
    processes: Option<Group>,
}

impl ControlGroups {
    /// Creates groups named `name` with these limits, as far as the system permits.
    pub(crate) fn create(name: &str, limits: &ResourceLimits) -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let memory = |group: &Group, files: [&str; 2]| {
            // Without this limit, memory would move to the swap space.
            let _ = group.write(files[1], "0");
            group.write(files[0], &limits.memory_bytes.to_string())
        };
        let processes = |group: &Group| {
            group.write("pids.max", &(limits.processes + HELPER_PROCESSES).to_string())
        };
        if let Some(path) = unified(&own, Path::new(MOUNT)) {
            let group = Group::create(&path, name).filter(|group| {
                memory(group, ["memory.max", "memory.swap.max"]) && processes(group)
            });
            if let Some(group) = group {
                return Self { memory: Some(group), processes: None };
            }
        }
        let version_1 = |controller| {
            let parent = Path::new(MOUNT).join(controller).join(version_1_path(&own, controller)?);
            Group::create(&parent, name)
        };
        let memory_files = ["memory.limit_in_bytes", "memory.swappiness"];
        Self {
            memory: version_1("memory").filter(|group| memory(group, memory_files)),
            processes: version_1("pids").filter(processes),
        }
    }

    /// Removes the groups of a command whose program was killed. Returns whether none is left.
    pub(crate) fn remove(name: &str) -> bool {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let version_1 = ["memory", "pids"].into_iter().filter_map(|controller| {
            Some(Path::new(MOUNT).join(controller).join(version_1_path(&own, controller)?))
        });
        let mut groups = version_1.chain(unified(&own, Path::new(MOUNT)));
        groups.all(|parent| {
            let group = parent.join(name);
            !group.exists() || fs::remove_dir(group).is_ok()
        })
    }

    /// Returns the files that a process writes its id to in order to join.
    pub(crate) fn joins(&self) -> Vec<PathBuf> {
        let groups = self.memory.iter().chain(&self.processes);
        groups.map(|group| group.path.join("cgroup.procs")).collect()
    }

    pub(crate) const fn limits_memory(&self) -> bool {
        self.memory.is_some()
    }

    pub(crate) fn limits_processes(&self) -> bool {
        self.processes.is_some() || self.memory.as_ref().is_some_and(Group::is_unified)
    }

    /// Returns whether a process was killed because the memory was used up.
    pub(crate) fn was_out_of_memory(&self) -> bool {
        let count = |file| self.memory.as_ref().and_then(|group| group.counter(file, "oom_kill "));
        count("memory.events").or_else(|| count("memory.oom_control")).is_some_and(|n| n > 0)
    }

    /// Returns whether a process could not be started because there were too many.
    pub(crate) fn was_out_of_processes(&self) -> bool {
        let group = self.processes.as_ref().or(self.memory.as_ref());
        group.and_then(|group| group.counter("pids.events", "max ")).is_some_and(|n| n > 0)
    }
}

/// The two stages of the helper count as well.
const HELPER_PROCESSES: u32 = 2;

#[derive(Debug)]
struct Group {
    path: PathBuf,
}

impl Group {
    fn create(parent: &Path, name: &str) -> Option<Self> {
        let path = parent.join(name);
        fs::create_dir(&path).ok().map(|()| Self { path })
    }

    fn write(&self, file: &str, value: &str) -> bool {
        fs::write(self.path.join(file), value).is_ok()
    }

    fn is_unified(&self) -> bool {
        self.path.join("cgroup.events").exists()
    }

    fn counter(&self, file: &str, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The processes have ended; the kernel may need a moment to notice.
        for _ in 0..50 {
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        tracing::warn!(path = %self.path.display(), "control group not removed");
    }
}

/// Returns the directory in which a group of version 2 with both controllers can be made: that
/// of this process, or the one above.
fn unified(own: &str, mount: &Path) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let own = mount.join(path);
    let candidates = [Some(own.as_path()), own.parent().filter(|parent| parent.starts_with(mount))];
    candidates.into_iter().flatten().map(Path::to_owned).find(|path| {
        let controllers = fs::read_to_string(path.join("cgroup.subtree_control"));
        controllers.is_ok_and(|text| {
            ["memory", "pids"]
                .iter()
                .all(|name| text.split_whitespace().any(|found| found == *name))
        })
    })
}

/// Returns the path of this process in a hierarchy of version 1.
fn version_1_path(own: &str, controller: &str) -> Option<String> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?.trim_start_matches('/');
        controllers.split(',').any(|name| name == controller).then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::version_1_path;

    #[test]
    fn the_group_of_a_controller_is_found() {
        let own = "9:name=systemd:/\n4:cpu,cpuacct:/x\n3:memory:/a/b\n0::/user.slice\n";
        for (controller, path) in [("memory", Some("a/b")), ("cpuacct", Some("x")), ("pids", None)]
        {
            assert_eq!(version_1_path(own, controller).as_deref(), path, "{controller}");
        }
    }
}
