//! `ostler workflow reject`.

use clap::Args;
use ostler_api::workflow::TaskAnswer;

use super::{StepArgs, send_answer};
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
    let (task, reason) = (args.step.task.to_string(), args.reason.clone());
    send_answer(&args.target, &args.step, &TaskAnswer::Reject { task, reason }, "rejected").await
}
