//! The helper process that starts a command with few rights.
//!
//! The program is started again with [`HELPER_ARGUMENT`]. The first stage joins control groups,
//! makes namespaces, and kills every process of the command when its standard input is closed,
//! which also happens when the program that started it dies. The second stage mounts, drops
//! rights, filters system calls, and runs the command as its child. Each stage is a process of
//! its own, so that nothing is done between fork and exec.

#[cfg(target_os = "linux")]
mod linux;

use std::path::PathBuf;

/// The first argument of the helper process.
pub const HELPER_ARGUMENT: &str = "sandbox-helper";
const SECOND_STAGE: &str = "second-stage";
/// Set for helper processes, so that a program that does not know it is one can find out.
pub(crate) const HELPER_VARIABLE: &str = "OSTLER_SANDBOX_HELPER";
/// The exit code of a helper that could not start the command.
pub(crate) const REFUSED: i32 = 125;

/// How the helper process is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperProgram {
    pub path: PathBuf,
}

impl HelperProgram {
    /// Uses the running program, which must call [`run_helper_if_requested`] at the start of
    /// `main`.
    pub fn this_program() -> std::io::Result<Self> {
        Ok(Self { path: std::env::current_exe()? })
    }
}

/// Returns whether this process was started as a helper.
pub(crate) fn is_helper_process() -> bool {
    std::env::var_os(HELPER_VARIABLE).is_some()
}

/// Becomes the helper if this process was started as one, and does not return then. It must be
/// called at the start of `main`, before any thread is started.
pub fn run_helper_if_requested() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == HELPER_ARGUMENT) && is_helper_process() {
        let is_second = arguments.next().is_some_and(|argument| argument == SECOND_STAGE);
        #[cfg(target_os = "linux")]
        let code = linux::run_stage(is_second);
        // There is no sandbox on other systems, so nothing is started.
        #[cfg(not(target_os = "linux"))]
        let code = (!is_second).then_some(REFUSED);
        std::process::exit(code.unwrap_or(REFUSED));
    }
}
