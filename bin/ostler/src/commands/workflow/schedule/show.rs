//! `ostler workflow schedule show`.

use ostler_api::workflow_schedule::{ScheduleStart, ScheduleTimes};
use ostler_domain::workflow::schedule::{MissedStarts, OverlapPolicy, WorkflowSchedule};

use super::ScheduleArgs;
use crate::api_client::open_org;
use crate::commands::session::view::format_time;
use crate::screen::{Cell, HEADER, print_fields};

pub(super) async fn run(args: &ScheduleArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let found: ScheduleTimes = org.get(&["schedules", &args.name, "times"]).await?;
    if args.target.output.json {
        return crate::commands::print_json(&found);
    }
    let WorkflowSchedule { name, workflow, input, cron, missed, overlap, paused, .. } =
        &found.schedule;
    let missed = match missed {
        MissedStarts::RunOnce => "starts once",
        MissedStarts::Skip => "starts nothing",
    };
    let overlap = match overlap {
        OverlapPolicy::Skip => "starts nothing while one runs",
        OverlapPolicy::Queue => "waits until the one before has ended",
        OverlapPolicy::Allow => "starts also while one runs",
    };
    let mut rows = vec![
        [Cell::from("schedule"), Cell::from(name.as_str())],
        ["workflow".into(), workflow.as_str().into()],
        ["input".into(), serde_json::to_string(input)?.into()],
        ["cron".into(), cron.as_str().into()],
        ["time zone".into(), found.time_zone.as_str().into()],
        ["after a downtime".into(), missed.into()],
        ["overlap".into(), overlap.into()],
        ["state".into(), if *paused { "paused" } else { "active" }.into()],
    ];
    rows.extend(found.next.iter().map(|at| ["next".into(), format_time(*at).into()]));
    print_fields(&rows);
    if !found.starts.is_empty() {
        anstream::println!("\n{HEADER}past due times{HEADER:#}");
    }
    for start in &found.starts {
        anstream::println!("{}", describe_start(start));
    }
    Ok(())
}

/// Describes what happened at a due time.
pub(super) fn describe_start(start: &ScheduleStart) -> String {
    let ScheduleStart { due_at, outcome, missed, workflow, reason } = start;
    let mut text = format!("{}  {outcome}", format_time(*due_at));
    if let Some(workflow) = workflow {
        text = format!("{text}  {workflow}");
    }
    if let Some(reason) = reason {
        text = format!("{text}: {reason}");
    }
    if *missed > 0 {
        text = format!("{text} ({missed} missed before)");
    }
    text
}
