//! One file per command.

mod bench;
mod contact;
mod demo;
mod doctor;
mod layer;
mod migrate;
mod prune;
mod tools;

use crate::cli::{Cli, Command, Tools};
use crate::world::World;

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Demo => demo::run(),
        Command::Layer(layer) => layer::run(&World::read(&layer.world.path)?, layer.output.json),
        Command::Bench(bench) => block_on(bench::run(&bench)),
        Command::Contact(contact) => block_on(contact::run(&contact)),
        Command::Doctor(doctor) => block_on(doctor::run(&doctor)),
        Command::Prune(prune) => block_on(prune::run(&prune)),
        Command::Migrate(migrate) => block_on(migrate::run(&migrate.database.url)),
        Command::Tools(Tools::Explain(explain)) => {
            tools::run(&World::read(&explain.world.path)?, &explain)
        }
    }
}

/// Runs a command that waits for something.
fn block_on(command: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(command)
}

/// Prints a value as JSON that people can read too.
fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    anstream::println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}
