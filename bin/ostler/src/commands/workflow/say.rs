//! What is said to a workflow: answers, events, that it is to stop. Whoever works
//! here hears it and brings the workflow on.

use anyhow::Context as _;
use ostler_domain::id::WorkflowId;
use ostler_domain::org::Org;
use ostler_domain::workflow::Task;
use ostler_store::Published;
use serde_json::{Value, json};

use super::{find, open};
use crate::cli::operate::In;
use crate::cli::workflow::{Answer, Approve, On, Reject, Signal};
use crate::screen::QUIET;

pub(super) async fn approve(command: &Approve) -> anyhow::Result<()> {
    let (desk, org) = open(&command.place).await?;
    let id = find(&desk, &org, &command.workflow).await?;
    let with = command.with.as_deref().map(serde_json::from_str).transpose();
    let with: Option<Value> = with.context("--with is not JSON")?;
    desk.office(&org).approve_task(id, &command.task, with).await?;
    said(&command.place, &org, id, &command.task, "approved")
}

pub(super) async fn reject(command: &Reject) -> anyhow::Result<()> {
    let (desk, org) = open(&command.place).await?;
    let id = find(&desk, &org, &command.workflow).await?;
    desk.office(&org).reject_task(id, &command.task, &command.reason).await?;
    said(&command.place, &org, id, &command.task, "rejected")
}

pub(super) async fn reply(command: &Answer) -> anyhow::Result<()> {
    let (desk, org) = open(&command.place).await?;
    let id = find(&desk, &org, &command.workflow).await?;
    desk.office(&org).answer_task(id, &command.task, &command.text).await?;
    said(&command.place, &org, id, &command.task, "answered")
}

fn said(place: &In, org: &Org, id: WorkflowId, task: &Task, what: &str) -> anyhow::Result<()> {
    if place.output.json {
        return crate::commands::print_json(&json!({"workflow": id, "task": task, "said": what}));
    }
    anstream::println!("{task}  {what}; a running `ostler serve` or `ostler worker` goes on");
    anstream::println!("{QUIET}next{QUIET:#}  ostler workflow follow {id} --org {}", org.slug);
    Ok(())
}

pub(super) async fn cancel(on: &On) -> anyhow::Result<()> {
    let (desk, org) = open(&on.place).await?;
    let id = find(&desk, &org, &on.workflow).await?;
    desk.office(&org).cancel_workflow(id).await?;
    if on.place.output.json {
        return crate::commands::print_json(&json!({"workflow": id, "said": "cancelled"}));
    }
    anstream::println!("cancelled; whoever works here takes back what was done");
    anstream::println!("{QUIET}next{QUIET:#}  ostler workflow follow {id} --org {}", org.slug);
    Ok(())
}

pub(super) async fn signal(command: &Signal) -> anyhow::Result<()> {
    let payload = command.payload.as_deref().map(serde_json::from_str).transpose();
    let payload: Value = payload.context("--payload is not JSON")?.unwrap_or_default();
    let (desk, org) = open(&command.place).await?;
    let office = desk.office(&org);
    let published = office.publish_event(command.id, command.name.clone(), &payload).await?;
    let (json, words) = match &published {
        Published::Reached { workflow, task } => (
            json!({"published": "reached", "workflow": workflow, "task": task}),
            format!("{task} of {workflow} goes on with it"),
        ),
        Published::Kept => {
            (json!({"published": "kept"}), "nobody waits for it yet; it is kept".to_owned())
        }
        Published::Repeat => (json!({"published": "repeat"}), "it was published before".to_owned()),
    };
    if command.place.output.json {
        return crate::commands::print_json(&json);
    }
    anstream::println!("{words}");
    Ok(())
}
