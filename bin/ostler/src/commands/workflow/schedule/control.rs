//! `ostler workflow schedule pause`, `resume`, `run` and `rm`.

use ostler_api::workflow::StartedWorkflow;
use serde_json::json;

use super::ScheduleArgs;
use crate::api_client::{Nothing, open_org};
use crate::commands::operator::print_result;

pub(super) async fn pause(args: &ScheduleArgs) -> anyhow::Result<()> {
    set_paused(args, true, "paused; nothing starts until it is resumed").await
}

pub(super) async fn resume(args: &ScheduleArgs) -> anyhow::Result<()> {
    set_paused(args, false, "resumed with its next due time").await
}

async fn set_paused(args: &ScheduleArgs, paused: bool, text: &str) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    org.patch::<Nothing>(&["schedules", &args.name], &json!({"paused": paused})).await?;
    let json = json!({"schedule": args.name, "paused": paused});
    print_result(&args.target.output, &json, &format!("schedule {} {text}", args.name))
}

pub(super) async fn run(args: &ScheduleArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    let StartedWorkflow { id } = org.post(&["schedules", &args.name, "run"], &()).await?;
    let json = json!({"schedule": args.name, "workflow": id});
    print_result(&args.target.output, &json, &format!("{id} started"))?;
    if !args.target.output.json {
        super::super::print_resume(&org.org.slug, id);
    }
    Ok(())
}

pub(super) async fn remove(args: &ScheduleArgs) -> anyhow::Result<()> {
    let org = open_org(&args.target).await?;
    org.delete::<Nothing>(&["schedules", &args.name]).await?;
    let json = json!({"schedule": args.name, "change": "removed"});
    let text = format!("schedule {} removed; workflows that it started go on", args.name);
    print_result(&args.target.output, &json, &text)
}
