//! Aborting a command: all its processes end, also if the program that started it dies.

use std::path::Path;
use std::time::Duration;

use ostler_workspace::sandbox::{CommandRequest, DiscardOutput};

use crate::support::TestWorkspace;

/// Waits until a file exists.
async fn wait_for(path: &Path) {
    for _ in 0..500 {
        if path.exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} was not written", path.display());
}

/// A command that writes to a file every 20 ms, from a process in a session of its own.
const TICKER: &str = "setsid sh -c 'while :; do echo x >> ticks; sleep 0.02; done' & wait";

#[tokio::test]
async fn m36_dropping_the_future_kills_every_process() {
    for namespaces in [true, false] {
        let test = TestWorkspace::with(|options| options.sandbox.namespaces = namespaces);
        if !test.has_sandbox().await {
            return;
        }
        let ticks = test.root().join("ticks");
        let request = CommandRequest::shell(TICKER);
        {
            let running = test.workspace.run(&request, &DiscardOutput);
            tokio::pin!(running);
            tokio::select! {
                result = &mut running => panic!("it ended: {result:?}"),
                () = wait_for(&ticks) => {}
            }
        }
        assert_ticking_stops(&ticks).await;
    }
}

/// M36: the helper notices that the program that started it was killed.
#[tokio::test]
async fn m36_a_killed_program_leaves_no_process_behind() {
    let test = TestWorkspace::new();
    if !test.has_sandbox().await {
        return;
    }
    let ticks = test.root().join("ticks");
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_ostler-sandbox"))
        .args([&test.root().display().to_string(), TICKER])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a program");
    wait_for(&ticks).await;
    program.kill().expect("a kill");
    program.wait().expect("an end");
    assert_ticking_stops(&ticks).await;
}

async fn assert_ticking_stops(ticks: &Path) {
    let size = || std::fs::metadata(ticks).expect("a file").len();
    for _ in 0..100 {
        let before = size();
        tokio::time::sleep(Duration::from_millis(100)).await;
        if size() == before {
            return;
        }
    }
    panic!("the command still runs");
}
