//! `ostler workflow`: durable graphs of steps.

mod answer;
mod approve;
mod cancel;
mod control;
mod definition;
mod follow;
mod graph;
mod ls;
mod reject;
mod resume;
mod run;
mod schedule;
mod show;
mod signal;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use ostler_api::workflow::{StepChange, TaskAnswer, Workflow};
use ostler_domain::id::WorkflowId;
use ostler_domain::workflow::Task;
use serde_json::json;

use super::args::{OrgArgs, match_id};
use crate::api_client::{self, Nothing, OrgApi, not_here};
use crate::screen::{NextCommand, print_next};

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Start a workflow, from a file or by its name, and follow it until it ends or waits
    #[command(after_help = "\
Examples:
  ostler workflow run examples/workflows/refund.toml --org bella \\
      --input '{\"order\": \"1234\"}'
  ostler workflow run examples/workflows/refund.toml --org bella \\
      --input '{\"order\": \"1234\"}' --json

A name stands for a workflow that the organization keeps.

Exit codes: 0 it is done or waits for somebody, 1 it failed or was cancelled. When
it waits, the command that lets it continue is printed. docs/WORKFLOWS.md describes
the file.")]
    Run(run::WorkflowRunArgs),
    /// Continue a paused workflow and follow its progress
    ///
    /// On a local installation this process runs its steps; a server runs them itself.
    #[command(after_help = "\
Examples:
  ostler workflow resume …7ybc --org bella
  ostler workflow resume …7ybc --org bella --server https://ostler.example.com")]
    Resume(WorkflowArgs),
    /// List workflows, newest first
    #[command(after_help = "\
Examples:
  ostler workflow ls --org bella
  ostler workflow ls --org bella --json")]
    Ls(OrgArgs),
    /// Show a workflow: each step with its result and what it waits for
    #[command(after_help = "\
Examples:
  ostler workflow show …7ybc --org bella
  ostler workflow show wfl_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --json")]
    Show(WorkflowArgs),
    /// Approve the tool call or the plan that a step waits with
    #[command(after_help = "\
Examples:
  ostler workflow approve …7ybc pay --org bella
  ostler workflow approve …7ybc each/3 --org bella \\
      --with '{\"order\": \"1234\", \"amount\": \"5.00\", \"reason\": \"half\"}'")]
    Approve(approve::WorkflowApproveArgs),
    /// Reject the tool call or the plan that a step waits with
    #[command(after_help = "\
Examples:
  ostler workflow reject …7ybc pay --org bella --reason \"it was eaten\"")]
    Reject(reject::WorkflowRejectArgs),
    /// Answer the question of a step
    #[command(after_help = "\
Examples:
  ostler workflow answer …7ybc decide \"yes\" --org bella")]
    Answer(answer::WorkflowAnswerArgs),
    /// Publish an event; the step that waits for it continues
    #[command(after_help = "\
Examples:
  ostler workflow signal parcel-back --org bella
  ostler workflow signal parcel-back --org bella --payload '{\"parcel\": 7}'

If no step waits for the event, it is stored for the first step that will.")]
    Signal(signal::WorkflowSignalArgs),
    /// Cancel a workflow and undo its finished steps, where they define how
    #[command(after_help = "\
Examples:
  ostler workflow cancel …7ybc --org bella")]
    Cancel(WorkflowArgs),
    /// Skip a step that has not ended; the steps after it run without its result
    #[command(after_help = "\
Examples:
  ostler workflow skip …7ybc pay --org bella")]
    Skip(control::WorkflowControlArgs),
    /// Start nothing of a step until it is continued; what runs is finished
    #[command(after_help = "\
Examples:
  ostler workflow pause …7ybc pay --org bella")]
    Pause(control::WorkflowControlArgs),
    /// Continue a step that was paused
    #[command(after_help = "\
Examples:
  ostler workflow continue …7ybc pay --org bella")]
    Continue(control::WorkflowControlArgs),
    /// Run a failed workflow again, from the steps that failed, were stopped or undone
    #[command(after_help = "\
Examples:
  ostler workflow retry …7ybc --org bella")]
    Retry(WorkflowArgs),
    /// Print the graph of a workflow as Mermaid or SVG
    #[command(after_help = "\
Examples:
  ostler workflow graph examples/workflows/refund.toml
  ostler workflow graph …7ybc --org bella --svg > refund.svg")]
    Graph(graph::WorkflowGraphArgs),
    /// Start workflows at the times of cron expressions
    #[command(subcommand)]
    Schedule(schedule::ScheduleCommand),
    /// Keep workflows under their names
    #[command(subcommand)]
    Definition(definition::DefinitionCommand),
}

/// The workflow that a command works on.
#[derive(Debug, Args)]
pub(crate) struct WorkflowArgs {
    /// Workflow, by id or the end of its id
    #[arg(value_name = "WORKFLOW")]
    workflow: String,
    #[command(flatten)]
    target: OrgArgs,
}

/// The step of a workflow that a command works on.
#[derive(Debug, Args)]
pub(crate) struct StepArgs {
    /// Workflow, by id or the end of its id
    #[arg(value_name = "WORKFLOW")]
    workflow: String,
    /// Step; STEP/PART for one part of a list, STEP!undo for the undoing of a step
    #[arg(value_name = "STEP")]
    task: Task,
}

/// The most workflows that are listed.
const LIST_LIMIT: usize = 100;

pub(crate) async fn run(command: &WorkflowCommand) -> anyhow::Result<ExitCode> {
    match command {
        WorkflowCommand::Run(args) => return run::run(args).await,
        WorkflowCommand::Resume(args) => return resume::run(args).await,
        WorkflowCommand::Ls(args) => ls::run(args).await,
        WorkflowCommand::Show(args) => show::run(args).await,
        WorkflowCommand::Approve(args) => approve::run(args).await,
        WorkflowCommand::Reject(args) => reject::run(args).await,
        WorkflowCommand::Answer(args) => answer::run(args).await,
        WorkflowCommand::Signal(args) => signal::run(args).await,
        WorkflowCommand::Cancel(args) => cancel::run(args).await,
        WorkflowCommand::Skip(args) => control::run(args, StepChange::Skip).await,
        WorkflowCommand::Pause(args) => control::run(args, StepChange::Pause).await,
        WorkflowCommand::Continue(args) => control::run(args, StepChange::Continue).await,
        WorkflowCommand::Retry(args) => control::retry(args).await,
        WorkflowCommand::Graph(args) => graph::run(args).await,
        WorkflowCommand::Schedule(command) => schedule::run(command).await,
        WorkflowCommand::Definition(command) => definition::run(command).await,
    }?;
    Ok(ExitCode::SUCCESS)
}

/// Finds a workflow by its id or the end of it; the error lists the newest workflows.
async fn find(org: &OrgApi, text: &str) -> anyhow::Result<WorkflowId> {
    let all: Vec<Workflow> = org.list(&["workflows"], &[], LIST_LIMIT).await?;
    let known: Vec<WorkflowId> = all.iter().map(|workflow| workflow.id).collect();
    if let Some(id) = match_id(text, &known)? {
        return Ok(id);
    }
    let name = &org.org.name;
    if all.is_empty() {
        return Err(not_here(format!("no workflow {text} in {name}; none was started there")));
    }
    let each = all.iter().take(10);
    let each: Vec<String> = each
        .map(|workflow| format!("\n  {}  {}  {}", workflow.id, workflow.name, workflow.status))
        .collect();
    Err(not_here(format!("no workflow {text} in {name}; there are:{}", each.concat())))
}

/// Sends an answer, an approval or a rejection to a step that waits, and prints that.
async fn send_answer(
    target: &OrgArgs,
    step: &StepArgs,
    answer: &TaskAnswer,
    text: &str,
) -> anyhow::Result<()> {
    let org = api_client::open_org(target).await?;
    let id = find(&org, &step.workflow).await?;
    org.post::<Nothing>(&["workflows", &id.to_string(), "answers"], answer).await?;
    print_step(target, &org.org.slug, id, &step.task, text)
}

/// Prints that a step got a decision or an answer.
fn print_step(
    target: &OrgArgs,
    slug: &str,
    id: WorkflowId,
    task: &Task,
    text: &str,
) -> anyhow::Result<()> {
    if target.output.json {
        return super::print_json(&json!({"workflow": id, "task": task, "said": text}));
    }
    anstream::println!("{task}  {text}; a running `ostler serve` or `ostler worker` continues it");
    print_resume(slug, id);
    Ok(())
}

/// Prints the command that follows a workflow.
fn print_resume(slug: &str, id: WorkflowId) {
    print_next([NextCommand::new(format!("ostler workflow resume {id} --org {slug}"), "")]);
}
