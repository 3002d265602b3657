//! One file per command.

mod agent;
mod bench;
mod bus;
mod contact;
mod delegation;
mod demo;
mod doctor;
mod harness;
mod layer;
mod migrate;
mod mock_model;
mod operate;
mod prune;
mod run;
mod send;
mod serve;
mod session;
mod team;
mod tools;
mod workflow;

use std::process::ExitCode;

use anyhow::anyhow;
use ostler_domain::org::Org;
use ostler_store::Store;

use crate::cli::{Cli, Command};
use crate::world::World;

/// Runs what was typed.
pub(crate) fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Run(run) => return block_on(run::run(&run)),
        Command::Workflow(workflow) => return block_on(workflow::run(&workflow)),
        Command::PdfText(pdf) => return crate::pdf::print(&pdf.file),
        Command::Demo(demo) => block_on(demo::run(&demo)),
        Command::Serve(serve) => block_on(serve::serve(&serve)),
        Command::Worker(work) => block_on(serve::work(&work)),
        Command::Send(send) => block_on(send::run(&send)),
        Command::Session(session) => block_on(session::run(&session)),
        Command::Approval(approval) => block_on(operate::approval::run(&approval)),
        Command::Escalation(escalation) => block_on(operate::escalation::run(&escalation)),
        Command::Credit(credit) => block_on(operate::credit::run(&credit)),
        Command::Deadletter(letter) => block_on(operate::deadletter::run(&letter)),
        Command::Outcome(outcome) => block_on(operate::outcome::run(&outcome)),
        Command::Notice(notice) => block_on(operate::notice::run(&notice)),
        Command::Integration(service) => block_on(operate::integration::run(&service)),
        Command::Channel(channel) => block_on(operate::channel::run(&channel)),
        Command::Key(key) => block_on(operate::key::run(&key)),
        Command::Knowledge(knowledge) => block_on(operate::knowledge::run(&knowledge)),
        Command::Harness(harness) => block_on(harness::run(&harness)),
        Command::Agent(agent) => block_on(agent::run(&agent)),
        Command::Team(team) => block_on(team::run(&team)),
        Command::Delegation(delegation) => block_on(delegation::run(&delegation)),
        Command::Bus(bus) => block_on(bus::run(&bus)),
        Command::Layer(layer) => layer::run(&World::read(&layer.world.path)?, layer.output.json),
        Command::Bench(bench) => block_on(bench::run(&bench)),
        Command::Contact(contact) => block_on(contact::run(&contact)),
        Command::Doctor(doctor) => block_on(doctor::run(&doctor)),
        Command::Prune(prune) => block_on(prune::run(&prune)),
        Command::MockModel(mock) => block_on(mock_model::run(&mock)),
        Command::Migrate(migrate) => block_on(migrate::run(&migrate)),
        Command::Tools(tools) => block_on(tools::run(&tools)),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a command that waits for something.
fn block_on<T>(command: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(command);
    // A question that nobody answers must not keep the program.
    runtime.shutdown_background();
    result
}

/// Prints a value as JSON that people can read too.
fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    anstream::println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// The org that was named, by its slug or its id.
pub(crate) async fn find_org(store: &Store, name: &str) -> anyhow::Result<Org> {
    let orgs = store.orgs().await?;
    let named = orgs.iter().find(|org| org.slug == name || org.id.to_string() == name);
    named.cloned().ok_or_else(|| {
        let slugs: Vec<&str> = orgs.iter().map(|org| org.slug.as_str()).collect();
        anyhow!("no org `{name}`; there are: {}", slugs.join(", "))
    })
}
