//! `ostler workflow reject`.

use clap::Args;

use super::{StepArgs, open_workflow, print_step};
use crate::commands::args::OrgArgs;

#[derive(Debug, Args)]
pub(crate) struct WorkflowRejectArgs {
    #[command(flatten)]
    step: StepArgs,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    target: OrgArgs,
}

pub(super) async fn run(args: &WorkflowRejectArgs) -> anyhow::Result<()> {
    let StepArgs { workflow, task } = &args.step;
    let (operator, org, id) = open_workflow(&args.target, workflow).await?;
    operator.org(&org).reject_task(id, task, &args.reason).await?;
    print_step(&args.target, &org, id, task, "rejected")
}
