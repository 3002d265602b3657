//! The `ostler` command: reads what was typed, builds what it needs, prints.
//!
//! It decides nothing; every rule is in `ostler-domain`.

mod cli;
mod commands;
mod desk;
mod draft;
mod home;
mod kit;
mod log;
mod pdf;
mod random;
mod screen;
mod secrets;
mod toolbox;
mod world;

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Parser as _;

/// What a worker takes, the thread that writes often frees: the system's own
/// allocator makes them wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RED: Style = AnsiColor::Red.on_default().bold();

fn main() -> ExitCode {
    match commands::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            anstream::eprintln!("{RED}error{RED:#}: {error}");
            for cause in error.chain().skip(1) {
                anstream::eprintln!("  {cause}");
            }
            ExitCode::FAILURE
        }
    }
}
