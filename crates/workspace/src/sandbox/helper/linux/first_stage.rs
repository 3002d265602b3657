//! The first stage: control groups and namespaces, then it waits and kills.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, kill_process, pidfd_open, wait, waitpid,
};
use rustix::thread::UnshareFlags;

use crate::sandbox::helper::linux::{mounts, privileges};
use crate::sandbox::helper::{HELPER_ARGUMENT, REFUSED, SECOND_STAGE};
use crate::sandbox::spec::{HelperReport, HelperSpec, Isolation, Namespaces};

/// How long to try to kill what a command has left.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The exit code of a command that was killed from outside.
const KILLED: i32 = 137;

/// Runs the second stage and returns its exit code.
pub(super) fn run(mut spec: HelperSpec) -> i32 {
    match start(&mut spec) {
        Ok(child) => supervise(child),
        Err(error) => {
            let report = HelperReport::Refused(error.to_string());
            let _ = serde_json::to_vec(&report).map(|bytes| std::fs::write(&spec.report, bytes));
            REFUSED
        }
    }
}

fn start(spec: &mut HelperSpec) -> io::Result<Pid> {
    // Without a terminal, no input can be pushed into it.
    let _ = rustix::process::setsid();
    for group in &spec.cgroups {
        std::fs::write(group, "0")?;
    }
    adopt_orphans()?;
    let others = threads_outside(spec);
    let mut command = match &spec.isolation {
        Isolation::Bubblewrap { program } => {
            spec.namespaces =
                Namespaces { processes: true, mounts: true, network: !spec.network, ipc: true };
            let mut command = Command::new(program);
            command.args(mounts::bubblewrap_arguments(spec)).arg("--").arg(&spec.helper);
            command
        }
        Isolation::Landlock { namespaces: true } => {
            spec.namespaces = enter_namespaces(spec.network);
            Command::new(&spec.helper)
        }
        Isolation::Landlock { namespaces: false } | Isolation::Unsandboxed => {
            Command::new(&spec.helper)
        }
    };
    // A user namespace counts its own processes only.
    let is_counted_alone = spec.namespaces.processes && !rustix::process::geteuid().is_root();
    spec.other_threads = if is_counted_alone { 0 } else { others };
    let mut child = command.args([HELPER_ARGUMENT, SECOND_STAGE]).stdin(Stdio::piped()).spawn()?;
    let mut line = serde_json::to_vec(&spec)?;
    line.push(b'\n');
    if let Some(mut stdin) = child.stdin.take() {
        // If it has died already, its exit code tells.
        let _ = stdin.write_all(&line);
    }
    Pid::from_raw(child.id().cast_signed()).ok_or_else(|| io::Error::other("no process id"))
}

/// Counts the threads that the user of the command has already, if that matters.
fn threads_outside(spec: &HelperSpec) -> u64 {
    if spec.processes_by_cgroup {
        return 0;
    }
    let own = || rustix::process::getuid().as_raw();
    privileges::threads_of_user(spec.user.map_or_else(own, |user| user.uid))
}

/// Makes processes whose parents have died children of this one.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Enters namespaces of its own, all or none.
fn enter_namespaces(network: bool) -> Namespaces {
    let mut flags =
        UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    let entered = if rustix::process::geteuid().is_root() {
        unshare(flags)
    } else {
        enter_user_namespace(flags)
    };
    match entered {
        Ok(()) => Namespaces { processes: true, mounts: true, network: !network, ipc: true },
        Err(_) => Namespaces::default(),
    }
}

/// Enters a user namespace in which the user stays who they are, and keeps the right to mount
/// for the second stage.
fn enter_user_namespace(flags: UnshareFlags) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(flags | UnshareFlags::NEWUSER)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))?;
    privileges::pass_on_mounting()
}

#[expect(deprecated, reason = "the unsafe case, FILES, is not used")]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// Waits for the second stage, or for the end of the standard input, and kills what is left.
/// There is no thread, because a process cannot have one after entering a process namespace.
fn supervise(child: Pid) -> i32 {
    let code = wait_or_kill(child).unwrap_or(REFUSED);
    kill_descendants();
    code
}

fn wait_or_kill(child: Pid) -> io::Result<i32> {
    let (ended, stdin) = (pidfd_open(child, PidfdFlags::empty())?, io::stdin());
    loop {
        let readable = PollFlags::IN;
        let mut fds = [PollFd::new(&ended, readable), PollFd::new(&stdin, readable)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => continue,
            polled => polled?,
        };
        let (has_ended, has_input) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if has_ended {
            let status = waitpid(Some(child), WaitOptions::empty())?;
            return Ok(status.map_or(REFUSED, |(_, status)| exit_code(status)));
        }
        if has_input && rustix::io::read(&stdin, &mut [0; 64])? == 0 {
            kill_process(child, Signal::KILL)?;
            return Ok(KILLED);
        }
    }
}

pub(super) fn exit_code(status: WaitStatus) -> i32 {
    let signal = status.terminating_signal();
    signal.map_or_else(|| status.exit_status().unwrap_or(REFUSED), |signal| 128 + signal)
}

/// Kills processes that the command has left. In a process namespace there are none.
fn kill_descendants() {
    let deadline = Instant::now() + KILL_TIMEOUT;
    while Instant::now() < deadline {
        let descendants = descendants_of(rustix::process::getpid());
        for pid in &descendants {
            let _ = kill_process(*pid, Signal::KILL);
        }
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        if descendants.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns all processes below this one, the nearest first.
fn descendants_of(root: Pid) -> Vec<Pid> {
    let (mut found, mut at) = (vec![root], 0);
    while let Some(pid) = found.get(at).copied() {
        at += 1;
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let pids = text.split_whitespace().filter_map(|text| Pid::from_raw(text.parse().ok()?));
            found.extend(pids);
        }
    }
    found.remove(0);
    found
}
