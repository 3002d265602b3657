//! The two stages of the helper, with the means of Linux.

mod confinement;
mod first_stage;
mod landlock_rules;
mod mounts;
mod privileges;
mod seccomp_filter;
mod second_stage;

use std::io::BufRead as _;

/// Reads what to do from the standard input, runs a stage and returns its exit code. Returns
/// `None` if it cannot be read.
pub(super) fn run_stage(is_second: bool) -> Option<i32> {
    let mut line = Vec::new();
    std::io::stdin().lock().read_until(b'\n', &mut line).ok()?;
    let spec = serde_json::from_slice(&line).ok()?;
    Some(if is_second { second_stage::run(&spec) } else { first_stage::run(spec) })
}
