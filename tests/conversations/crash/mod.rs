//! Processes that are killed: nothing is lost, and nothing is done or said twice
//! that is not said to be unknown.
//!
//! | module | what is killed |
//! |---|---|
//! | `courier` | a courier, just before and just after a send |
//! | `process` | a whole process: it accepts, answers and sends |
//! | `campaign` | not killed: kills a process again and again, and looks at what is left |

mod campaign;
mod delivery;
mod process;

use std::process::Stdio;

use tokio::process::{Child, Command};

/// How often each place is tried; the variable changes it.
fn times() -> usize {
    std::env::var("OSTLER_CRASH_TIMES").map_or(20, |times| times.parse().unwrap())
}

/// Starts a process that runs one test of this file, told by a variable, and ends
/// at a fault if one is named.
fn start(test: &str, told: (&str, &str), fault: Option<&str>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(told.0, told.1)
        .envs(fault.map(|fault| ("OSTLER_FAULT", fault)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Waits until a process that has a fault is dead of it.
async fn dies(mut process: Child, fault: &str) {
    let status = process.wait().await.unwrap();
    assert!(!status.success(), "{fault} was not reached");
}
