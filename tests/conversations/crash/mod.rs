//! Killed processes: nothing is lost, and nothing is repeated unless its outcome is
//! unknown.
//!
//! | module | what is killed |
//! |---|---|
//! | `delivery` | a delivery worker, just before and just after a send |
//! | `process` | a whole process: it accepts, answers and sends |
//! | `approvals` | a process that makes approved calls |
//! | `campaign` | nothing: it kills processes and checks the result |

mod approvals;
mod campaign;
mod delivery;
mod process;

use std::process::Stdio;

use tokio::process::{Child, Command};

/// Returns the number of kills at each fault point.
fn rounds() -> usize {
    std::env::var("OSTLER_CRASH_TIMES").map_or(20, |times| times.parse().unwrap())
}

/// Starts a process that runs one test of this module with its orders in a variable,
/// optionally with a fault.
fn start_process(test: &str, orders: (&str, &str), fault: Option<&str>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(orders.0, orders.1)
        .envs(fault.map(|fault| ("OSTLER_FAULT", fault)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Waits until a process has died of its fault.
async fn wait_for_death(mut process: Child, fault: &str) {
    let status = process.wait().await.unwrap();
    assert!(!status.success(), "{fault} was not reached");
}
