//! The commands: one file or folder per command, with its arguments and its code.

pub(crate) mod acp;
pub(crate) mod agent;
mod appearance;
pub(crate) mod apply;
pub(crate) mod approval;
pub(crate) mod args;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod budget;
pub(crate) mod bus;
pub(crate) mod channel;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod contact;
pub(crate) mod context;
pub(crate) mod credit;
pub(crate) mod data;
pub(crate) mod dead_letter;
pub(crate) mod deep_link;
pub(crate) mod delegation;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod escalation;
mod exchange;
pub(crate) mod export;
pub(crate) mod harness;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod insight;
pub(crate) mod instruction;
pub(crate) mod integration;
pub(crate) mod issue;
mod json;
pub(crate) mod key;
pub(crate) mod knowledge;
pub(crate) mod link;
mod local_agent;
pub(crate) mod login;
pub(crate) mod mcp;
pub(crate) mod member;
pub(crate) mod migrate;
pub(crate) mod mock_model;
pub(crate) mod model;
pub(crate) mod notice;
pub(crate) mod operator;
pub(crate) mod org;
pub(crate) mod org_delegation;
pub(crate) mod password_link;
pub(crate) mod pdf_text;
pub(crate) mod permission;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod prune;
pub(crate) mod refund;
mod reply;
mod resource;
pub(crate) mod restore;
pub(crate) mod rule_view;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod send;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod soul;
pub(crate) mod team;
pub(crate) mod tools;
pub(crate) mod unknown_outcome;
pub(crate) mod user;
pub(crate) mod webhook;
pub(crate) mod worker;
pub(crate) mod workflow;
pub(crate) mod worklist;

use std::pin::Pin;
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use ostler_domain::org::{Org, OrgPlace};
use ostler_store::Store;

use self::json::{print_json, rfc3339};
use crate::cli::{Cli, Command};

/// Runs a command and returns its exit code.
pub(crate) fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::Acp(args) => block_on(acp::run(args)),
        Command::Chat(args) => block_on(chat::run(args)),
        Command::Run(args) => return block_on(run::run(&args)),
        Command::Workflow(command) => return block_on(workflow::run(&command)),
        Command::Doctor(args) => return block_on(doctor::run(&args)),
        Command::Model(command) => return block_on(model::run(&command)),
        Command::Permission(command) => return block_on(permission::run(&command)),
        Command::PdfText(args) => return pdf_text::run(&args),
        Command::Org(command) => block_on(org::run(&command)),
        Command::Context(command) => context::run(&command),
        Command::Login(args) => block_on(login::log_in(&args)),
        Command::Logout(args) => block_on(login::log_out(&args)),
        Command::Completions(command) => completions::run(&command),
        Command::Config(args) => config::run(&args),
        Command::Agent(command) => block_on(agent::run(&command)),
        Command::Apply(args) => block_on(apply::run(&args)),
        Command::Approval(command) => block_on(approval::run(&command)),
        Command::Audit(command) => block_on(audit::run(&command)),
        Command::Backup(args) => block_on(backup::run(&args)),
        Command::Bench(args) => block_on(bench::run(&args)),
        Command::Budget(command) => block_on(budget::run(&command)),
        Command::Bus(command) => block_on(bus::run(&command)),
        Command::Channel(command) => block_on(channel::run(&command)),
        Command::Contact(command) => block_on(contact::run(&command)),
        Command::Credit(command) => block_on(credit::run(&command)),
        Command::Data(command) => block_on(data::run(&command)),
        Command::DeadLetter(command) => block_on(dead_letter::run(&command)),
        Command::DeepLink(command) => block_on(deep_link::run(&command)),
        Command::Delegation(command) => block_on(delegation::run(&command)),
        Command::Demo(args) => block_on(demo::run(&args)),
        Command::Escalation(command) => block_on(escalation::run(&command)),
        Command::Export(args) => block_on(export::run(&args)),
        Command::Harness(command) => block_on(harness::run(&command)),
        Command::Inbox(args) => block_on(inbox::run(args)),
        Command::Init(args) => block_on(init::run(&args)),
        Command::Integration(command) => block_on(integration::run(&command)),
        Command::Key(command) => block_on(key::run(&command)),
        Command::Knowledge(command) => block_on(knowledge::run(&command)),
        Command::Link(command) => block_on(link::run(&command)),
        Command::Member(command) => block_on(member::run(&command)),
        Command::Mcp(command) => block_on(mcp::run(&command)),
        Command::Migrate(args) => block_on(migrate::run(&args)),
        Command::MockModel(args) => block_on(mock_model::run(&args)),
        Command::Notice(command) => block_on(notice::run(&command)),
        Command::Issue(command) => block_on(issue::run(&command)),
        Command::OrgDelegation(command) => block_on(org_delegation::run(&command)),
        Command::Insight(command) => block_on(insight::run(&command)),
        Command::Instruction(command) => block_on(instruction::run(&command)),
        Command::Plan(command) => block_on(plan::run(&command)),
        Command::Policy(command) => block_on(policy::run(&command)),
        Command::Prune(args) => block_on(prune::run(&args)),
        Command::Refund(command) => block_on(refund::run(&command)),
        Command::Restore(args) => block_on(restore::run(&args)),
        Command::Schema(args) => schema::run(&args),
        Command::Send(args) => block_on(send::run(&args)),
        Command::Serve(args) => block_on(serve::run(&args)),
        Command::Session(command) => block_on(session::run(&command)),
        Command::Settings(command) => block_on(settings::run(&command)),
        Command::Soul(command) => block_on(soul::run(&command)),
        Command::Team(command) => block_on(team::run(&command)),
        Command::Tools(command) => block_on(tools::run(&command)),
        Command::UnknownOutcome(command) => block_on(unknown_outcome::run(&command)),
        Command::Webhook(command) => block_on(webhook::run(&command)),
        Command::Worklist(command) => block_on(worklist::run(&command)),
        Command::User(command) => block_on(user::run(&command)),
        Command::Worker(args) => block_on(worker::run(&args)),
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Runs an asynchronous command.
pub(crate) fn block_on<'c, T: 'c>(
    command: impl Future<Output = anyhow::Result<T>> + 'c,
) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Boxed, because the runtime would compile the whole command three times otherwise.
    let command: Pin<Box<dyn Future<Output = anyhow::Result<T>> + 'c>> = Box::pin(command);
    let result = runtime.block_on(command);
    // A blocking read from the terminal must not keep the program alive.
    runtime.shutdown_background();
    result
}

/// Finds an org by its slug or id; without a name, the only one beside the platform. The
/// error lists the slugs.
pub(crate) async fn find_org(store: &Store, name: &str) -> anyhow::Result<Org> {
    let orgs = store.orgs().await?;
    if name.is_empty() {
        let active = orgs.iter().filter(|org| org.place != OrgPlace::Platform && !org.archived);
        let active: Vec<&Org> = active.collect();
        return match active[..] {
            [only] => Ok(only.clone()),
            _ => {
                let slugs: Vec<&str> = orgs.iter().map(|org| org.slug.as_str()).collect();
                bail!("name an org with --org or OSTLER_ORG; there are: {}", slugs.join(", "))
            }
        };
    }
    let found = orgs.iter().find(|org| org.slug == name || org.id.to_string() == name);
    found.cloned().ok_or_else(|| {
        let slugs: Vec<&str> = orgs.iter().map(|org| org.slug.as_str()).collect();
        anyhow!("no org `{name}`; there are: {}", slugs.join(", "))
    })
}
