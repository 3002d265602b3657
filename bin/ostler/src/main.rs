//! The `ostler` command: parses the command line, builds and connects the parts, prints.
//!
//! It decides nothing; every rule is in `ostler-domain`.

mod agent_client;
mod agent_models;
mod api_client;
mod app;
mod bus_check;
mod cli;
mod commands;
mod config;
mod database_watch;
mod event_reference;
mod home_lock;
mod installation;
mod log;
mod model_catalogue;
mod model_uses;
mod pdf;
mod private_files;
mod queue_api;
mod random;
mod refused_command;
mod screen;
mod secrets;
mod server_threads;
mod stop_signals;
mod stream_preview;
mod telemetry;
mod thread_modes;
mod tool_check;
mod tool_set;
mod world;

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::{CommandFactory as _, FromArgMatches as _};

/// Memory that a worker allocates is often freed by the thread that writes; the system
/// allocator makes them wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RED: Style = AnsiColor::Red.on_default().bold();

fn main() -> ExitCode {
    // The program starts itself again to run commands with few rights.
    ostler_workspace::sandbox::run_helper_if_requested();
    let matches = match cli::Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) if cli::is_server_option(&error) => {
            return fail(&anyhow::anyhow!(installation::ONLY_ON_THE_MACHINE));
        }
        Err(error) => error.exit(),
    };
    let cli = cli::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let line = refused_command::CommandLine::read(&matches);
    match commands::run(cli) {
        Ok(code) => code,
        Err(error) => {
            refused_command::record(&line, &error);
            fail(&error)
        }
    }
}

/// Prints an error and what caused it.
fn fail(error: &anyhow::Error) -> ExitCode {
    anstream::eprintln!("{RED}error{RED:#}: {error}");
    for cause in error.chain().skip(1) {
        anstream::eprintln!("  {cause}");
    }
    ExitCode::FAILURE
}
