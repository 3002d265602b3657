//! `ostler workflow`: durable graphs of steps.

mod follow;
mod ls;
mod say;
mod show;
mod start;

use std::process::ExitCode;

use anyhow::bail;
use ostler_domain::id::WorkflowId;
use ostler_domain::org::Org;

use super::operate::{Desk, open};
use crate::cli::operate::named;
use crate::cli::workflow::Workflow;

pub(crate) async fn run(command: &Workflow) -> anyhow::Result<ExitCode> {
    match command {
        Workflow::Run(run) => return start::run(run).await,
        Workflow::Follow(on) => return follow::run(on).await,
        Workflow::Ls(place) => ls::run(place).await,
        Workflow::Show(on) => show::run(on).await,
        Workflow::Approve(approve) => say::approve(approve).await,
        Workflow::Reject(reject) => say::reject(reject).await,
        Workflow::Answer(answer) => say::reply(answer).await,
        Workflow::Signal(signal) => say::signal(signal).await,
        Workflow::Cancel(on) => say::cancel(on).await,
    }?;
    Ok(ExitCode::SUCCESS)
}

/// How many are listed.
const LISTED: u32 = 100;

/// The workflow that is meant; if there is none, those that there are are said.
async fn find(desk: &Desk, org: &Org, text: &str) -> anyhow::Result<WorkflowId> {
    let all = desk.office(org).workflows(None, LISTED).await?;
    let known: Vec<WorkflowId> = all.iter().map(|one| one.id).collect();
    if let Some(id) = named(text, &known) {
        return Ok(id);
    }
    if all.is_empty() {
        bail!("no workflow {text} in {}, and none was started there", org.name);
    }
    let each = all.iter().take(10);
    let each: Vec<String> =
        each.map(|one| format!("\n  {}  {}  {}", one.id, one.name, one.status)).collect();
    bail!("no workflow {text} in {}; there are:{}", org.name, each.concat())
}
