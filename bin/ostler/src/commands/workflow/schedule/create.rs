//! `ostler workflow schedule create`.

use std::collections::BTreeMap;

use anyhow::Context as _;
use clap::Args;
use ostler_api::workflow_schedule::ScheduleTimes;
use ostler_domain::workflow::schedule::{
    CronExpression, MissedStarts, OverlapPolicy, WorkflowSchedule,
};
use serde_json::Value;

use crate::api_client::{Nothing, open_org};
use crate::commands::args::OrgArgs;
use crate::commands::operator::print_result;
use crate::commands::session::view::format_time;

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Name of the schedule
    #[arg(value_name = "NAME")]
    name: String,
    /// Workflow to start, one that the organization keeps
    #[arg(long, value_name = "WORKFLOW")]
    workflow: String,
    /// Minute, hour, day of the month, month and day of the week; or @hourly, @daily, @weekly,
    /// @monthly, @yearly
    #[arg(long, value_name = "CRON")]
    cron: CronExpression,
    /// Input of the workflow, as JSON
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    /// Time zone of the times, such as Europe/Berlin [default: that of the organization]
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// What happens with due times that passed while nothing ran
    #[arg(long, value_enum, default_value_t = MissedChoice::RunOnce)]
    missed: MissedChoice,
    /// What happens while the workflow of the due time before still runs
    #[arg(long, value_enum, default_value_t = OverlapChoice::Skip)]
    overlap: OverlapChoice,
    #[command(flatten)]
    target: OrgArgs,
}

/// A policy for missed due times, as it is typed.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum MissedChoice {
    /// The workflow starts once
    RunOnce,
    /// Nothing starts until the next due time
    Skip,
}

/// A policy for overlapping workflows, as it is typed.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum OverlapChoice {
    /// Nothing starts
    Skip,
    /// It starts when the one before has ended
    Queue,
    /// Both run
    Allow,
}

pub(super) async fn run(args: &CreateArgs) -> anyhow::Result<()> {
    let input: BTreeMap<String, Value> = serde_json::from_str(&args.input)
        .context("--input is not a JSON object, such as '{\"order\": \"1234\"}'")?;
    let schedule = WorkflowSchedule {
        name: args.name.clone(),
        workflow: args.workflow.clone(),
        input,
        cron: args.cron.clone(),
        time_zone: args.zone.clone(),
        missed: match args.missed {
            MissedChoice::RunOnce => MissedStarts::RunOnce,
            MissedChoice::Skip => MissedStarts::Skip,
        },
        overlap: match args.overlap {
            OverlapChoice::Skip => OverlapPolicy::Skip,
            OverlapChoice::Queue => OverlapPolicy::Queue,
            OverlapChoice::Allow => OverlapPolicy::Allow,
        },
        paused: false,
    };
    let org = open_org(&args.target).await?;
    org.post::<Nothing>(&["schedules"], &schedule).await?;
    let times: ScheduleTimes = org.get(&["schedules", &args.name, "times"]).await?;
    let next = times.next.first().map_or_else(|| "never".to_owned(), |at| format_time(*at));
    let text = format!("schedule {} created; {} starts next at {next}", args.name, args.workflow);
    print_result(&args.target.output, &serde_json::to_value(&times)?, &text)
}
