//! What can be typed about workflows.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ostler_domain::id::EventId;
use ostler_domain::workflow::{EventName, Task};

use super::operate::In;

#[derive(Debug, Subcommand)]
pub(crate) enum Workflow {
    /// Start a workflow from a file and follow it until it is over or waits
    #[command(after_help = "\
Examples:
  ostler workflow run examples/workflows/refund.toml --org bella --input '{\"order\": \"1234\"}'
  ostler workflow run examples/workflows/refund.toml --org bella --input '{\"order\": \"1234\"}' --json

Exit codes: 0 it is done or waits for somebody, 1 it failed or was cancelled. What
it waits for is printed with the command that goes on. docs/WORKFLOWS.md describes
the file.")]
    Run(Run),
    /// Bring a workflow on here and follow it until it is over or waits
    #[command(after_help = "\
Examples:
  ostler workflow follow …7ybc --org bella")]
    Follow(On),
    /// List workflows, newest first
    #[command(after_help = "\
Examples:
  ostler workflow ls --org bella
  ostler workflow ls --org bella --json")]
    Ls(In),
    /// Show a workflow: each step, what came of it and what it waits for
    #[command(after_help = "\
Examples:
  ostler workflow show …7ybc --org bella
  ostler workflow show wfl_01jd0v4k9pf2ht6z3m8w5x7ybc --org bella --json")]
    Show(On),
    /// Say yes to the call or the plan that a step waits with
    #[command(after_help = "\
Examples:
  ostler workflow approve …7ybc pay --org bella
  ostler workflow approve …7ybc each/3 --org bella --with '{\"order\": \"1234\", \"amount\": \"5.00\", \"reason\": \"half\"}'")]
    Approve(Approve),
    /// Say no to what a step waits with, and why
    #[command(after_help = "\
Examples:
  ostler workflow reject …7ybc pay --org bella --reason \"it was eaten\"")]
    Reject(Reject),
    /// Answer what a step asks
    #[command(after_help = "\
Examples:
  ostler workflow answer …7ybc decide \"yes\" --org bella")]
    Answer(Answer),
    /// Say that something happened: the step that waits for it goes on
    #[command(after_help = "\
Examples:
  ostler workflow signal parcel-back --org bella
  ostler workflow signal parcel-back --org bella --payload '{\"parcel\": 7}'

What nobody waits for is kept for the first step that does.")]
    Signal(Signal),
    /// Stop a workflow; what was done is taken back as far as its steps say how
    #[command(after_help = "\
Examples:
  ostler workflow cancel …7ybc --org bella")]
    Cancel(On),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A TOML file that defines it
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What it is started with, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) input: String,
    #[command(flatten)]
    pub(crate) place: In,
}

/// A workflow that is looked at or acted on.
#[derive(Debug, Args)]
pub(crate) struct On {
    /// The workflow, or the end of its id
    #[arg(value_name = "WORKFLOW")]
    pub(crate) workflow: String,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The workflow, or the end of its id
    #[arg(value_name = "WORKFLOW")]
    pub(crate) workflow: String,
    /// The step, STEP/PART for one part of a list, STEP!undo for its undoing
    #[arg(value_name = "STEP")]
    pub(crate) task: Task,
    /// Run the call with these arguments instead, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) with: Option<String>,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct Reject {
    /// The workflow, or the end of its id
    #[arg(value_name = "WORKFLOW")]
    pub(crate) workflow: String,
    /// The step, STEP/PART for one part of a list, STEP!undo for its undoing
    #[arg(value_name = "STEP")]
    pub(crate) task: Task,
    /// Why not
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// The workflow, or the end of its id
    #[arg(value_name = "WORKFLOW")]
    pub(crate) workflow: String,
    /// The step, STEP/PART for one part of a list, STEP!undo for its undoing
    #[arg(value_name = "STEP")]
    pub(crate) task: Task,
    /// The answer
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) place: In,
}

#[derive(Debug, Args)]
pub(crate) struct Signal {
    /// What happened
    #[arg(value_name = "NAME")]
    pub(crate) name: EventName,
    /// What is to be known of it, as JSON; it is what the step comes to
    #[arg(long, value_name = "JSON")]
    pub(crate) payload: Option<String>,
    /// The event's own id: the same again is the same event
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<EventId>,
    #[command(flatten)]
    pub(crate) place: In,
}
