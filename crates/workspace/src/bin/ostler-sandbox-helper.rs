//! The sandbox helper as a program of its own, for embedders whose programs cannot be it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ostler_workspace::sandbox::run_helper_if_requested();
    eprintln!("This program is started by ostler-workspace and does nothing by itself.");
    ExitCode::FAILURE
}
