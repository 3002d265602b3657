//! One file per command.

mod demo;
mod layer;
mod tools;

use crate::cli::{Cli, Command, Tools};
use crate::world::World;

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Demo => demo::run(),
        Command::Layer(layer) => layer::run(&World::read(&layer.world.path)?, layer.output.json),
        Command::Tools(Tools::Explain(explain)) => {
            tools::run(&World::read(&explain.world.path)?, &explain)
        }
    }
}

/// Prints a value as JSON that people can read too.
fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    anstream::println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}
