//! Aborting a command: all its processes end, also if the program that started it dies.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_workspace::sandbox::{CommandRequest, DiscardOutput};

use crate::support::{Marker, TestWorkspace};

/// Waits until this many processes run.
async fn wait_for(marker: &Marker, count: usize) {
    for _ in 0..1000 {
        if marker.processes() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} processes run, {count} are expected", marker.processes());
}

/// Returns a command of two processes, one in a session of its own.
fn command(marker: &Marker) -> String {
    format!("setsid {marker} & {marker}; true")
}

#[tokio::test]
async fn m36_dropping_the_future_kills_every_process() {
    for namespaces in [true, false] {
        let test = TestWorkspace::with(|options| options.sandbox.namespaces = namespaces);
        if !test.has_sandbox().await {
            return;
        }
        let marker = Marker::new("drop", namespaces);
        let request = CommandRequest::shell(command(&marker));
        {
            let running = test.workspace.run(&request, &DiscardOutput);
            tokio::pin!(running);
            tokio::select! {
                result = &mut running => panic!("it ended: {result:?}"),
                () = wait_for(&marker, 2) => {}
            }
        }
        wait_for(&marker, 0).await;
    }
}

/// M36: the helper notices that the program that started it was killed.
#[tokio::test]
async fn m36_a_killed_program_leaves_no_process_behind() {
    let test = TestWorkspace::new();
    if !test.has_sandbox().await {
        return;
    }
    let marker = Marker::new("kill", true);
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_ostler-sandbox"))
        .args([&test.root().display().to_string(), &command(&marker)])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a program");
    wait_for(&marker, 2).await;
    let pid = program.id();
    program.kill().expect("a kill");
    program.wait().expect("an end");
    wait_for(&marker, 0).await;
    // A later workspace removes what is left, once the last process has ended.
    for _ in 0..100 {
        assert!(TestWorkspace::new().has_sandbox().await);
        if leftovers(pid).is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{:?} are left", leftovers(pid));
}

/// Returns the directories and control groups of a program.
fn leftovers(pid: u32) -> Vec<PathBuf> {
    let prefix = format!("ostler-run-{pid}-");
    let mut places = control_groups();
    places.push(std::env::temp_dir());
    let entries = places.iter().flat_map(|place| std::fs::read_dir(place).into_iter().flatten());
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.to_string_lossy().contains(&prefix)).collect()
}

/// Returns the directories in which control groups of this process are made.
fn control_groups() -> Vec<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").expect("control groups");
    let paths = own.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controller, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
        Some(Path::new("/sys/fs/cgroup").join(controller).join(path))
    });
    paths.collect()
}
