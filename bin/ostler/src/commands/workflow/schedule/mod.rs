//! `ostler workflow schedule`: workflows that start at the times of a cron expression.

mod control;
mod create;
mod ls;
mod show;

use clap::{Args, Subcommand};

use crate::commands::args::OrgArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleCommand {
    /// List schedules with their next and last due time
    #[command(after_help = "\
Examples:
  ostler workflow schedule ls --org bella
  ostler workflow schedule ls --org bella --json")]
    Ls(OrgArgs),
    /// Show a schedule: its next due times, and what happened at the last ones
    #[command(after_help = "\
Examples:
  ostler workflow schedule show morning --org bella")]
    Show(ScheduleArgs),
    /// Start a workflow at the times of a cron expression
    #[command(after_help = "\
Examples:
  ostler workflow schedule create morning --workflow refund --org bella \\
      --cron '30 8 * * MON-FRI' --input '{\"order\": \"1234\"}'
  ostler workflow schedule create nightly --workflow report --cron @daily \\
      --zone Europe/Berlin --missed skip --overlap queue --org bella

The workflow is one that the organization keeps; `ostler workflow definition save`
stores it. docs/WORKFLOWS.md says what happens where clocks change.")]
    Create(create::CreateArgs),
    /// Start nothing until the schedule is resumed
    #[command(after_help = "\
Examples:
  ostler workflow schedule pause morning --org bella")]
    Pause(ScheduleArgs),
    /// Continue a paused schedule with its next due time
    #[command(after_help = "\
Examples:
  ostler workflow schedule resume morning --org bella")]
    Resume(ScheduleArgs),
    /// Start the workflow of a schedule now, besides its due times
    #[command(after_help = "\
Examples:
  ostler workflow schedule run morning --org bella")]
    Run(ScheduleArgs),
    /// Remove a schedule; workflows that it started go on
    #[command(after_help = "\
Examples:
  ostler workflow schedule rm morning --org bella")]
    Rm(ScheduleArgs),
}

/// The schedule that a command works on.
#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    /// Name of the schedule
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(command: &ScheduleCommand) -> anyhow::Result<()> {
    match command {
        ScheduleCommand::Ls(args) => ls::run(args).await,
        ScheduleCommand::Show(args) => show::run(args).await,
        ScheduleCommand::Create(args) => create::run(args).await,
        ScheduleCommand::Pause(args) => control::pause(args).await,
        ScheduleCommand::Resume(args) => control::resume(args).await,
        ScheduleCommand::Run(args) => control::run(args).await,
        ScheduleCommand::Rm(args) => control::remove(args).await,
    }
}
