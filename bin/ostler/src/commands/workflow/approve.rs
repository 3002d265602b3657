//! `ostler workflow approve`.

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;

use super::{StepArgs, open_workflow, print_step};
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct WorkflowApproveArgs {
    #[command(flatten)]
    step: StepArgs,
    /// Run the call with these arguments instead, as JSON
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WorkflowApproveArgs) -> anyhow::Result<()> {
    let StepArgs { workflow, task } = &args.step;
    let (operator, org, id) = open_workflow(&args.target, workflow).await?;
    let with = args.with.as_deref().map(serde_json::from_str).transpose();
    let with: Option<Value> = with.context("--with is not JSON")?;
    operator.org(&org).approve_task(id, task, with).await?;
    print_step(&args.target, &org, id, task, "approved")
}
